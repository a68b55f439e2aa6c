#!/usr/bin/env python3
"""Replays tuning policies against recorded measurements, without a GPU.

usage: replay.py RECORD.jsonl [--transcript NAME=FILE]... [--csv OUT] [--svg OUT]

RECORD.jsonl is what agent-record wrote: for each case (a weight and an N) a pool
of candidates with status and time, and the time of the dense library. A policy
is an order in which it asks for the candidates of a case. Its regret after k
candidates is

    best time so far / best time of the pool - 1

where the dense library, which costs no candidate, counts as a time so far. The
table gives the mean regret over the cases, in percent.

Policies:
  heuristic   what the families name, by predicted time: the default of the
              tools; then the rest of the pool, by predicted time
  random      uniform without repetition, the exact mean over all orders
  exhaustive  the order of declaration
  tree        a regression tree on case and knobs, fitted on the cases of the
              other weights (leave one weight out)
  NAME        the proposals of a transcript, in order; what it proposes and the
              pool does not hold is skipped and counted

Standard library only.
"""
import argparse
import csv
import json
import math
import sys
from collections import defaultdict

STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 36)


def load(path):
    cases, candidates = {}, defaultdict(list)
    with open(path) as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
                key = (row["weight"], row["n"])
                if row["kind"] == "case":
                    cases[key] = row
                else:
                    candidates[key].append(row)
            except (ValueError, KeyError, TypeError) as error:
                sys.exit(f"replay.py: {path}:{number}: not a record ({error})")
    cases = {key: case for key, case in cases.items()
             if case["dense_us"] > 0 and candidates[key]}
    if not cases:
        sys.exit(f"replay.py: {path}: no case with a time of the dense library")
    return cases, candidates


def time_of(row):
    return row["us"] if row["status"] == "verified" else math.inf


# --- The tree -----------------------------------------------------------------


def features(case, row):
    """Numbers only; a knob that the family lacks is -1."""
    values = {
        "log_n": math.log2(case["n"]), "log_m": math.log2(case["m"]),
        "log_k": math.log2(case["k"]), "density": case["density"],
        "log_predicted": math.log(row["predicted_us"]),
    }
    for pattern in ("nm", "block", "channel", "unstructured", "dense", "hybrid",
                    "banded"):
        values["pattern_" + pattern] = float(case["pattern"].startswith(pattern))
    values["family_" + row["family"]] = 1.0
    for knob, value in row["knobs"].items():
        values[f"{row['family']}.{knob}"] = float(value)
    return values


class Tree:
    """A regression tree by least squares on log(time / dense)."""

    def __init__(self, rows, targets, depth=9, leaf=4):
        self.value = sum(targets) / len(targets)
        self.feature = None
        if depth == 0 or len(rows) < 2 * leaf:
            return
        best = None
        for name in sorted({name for row in rows for name in row}):
            order = sorted(range(len(rows)),
                           key=lambda i: rows[i].get(name, -1.0))
            total, total2 = sum(targets), sum(t * t for t in targets)
            left = left2 = 0.0
            for place, i in enumerate(order[:-1], 1):
                left += targets[i]
                left2 += targets[i] ** 2
                here = rows[i].get(name, -1.0)
                there = rows[order[place]].get(name, -1.0)
                right_count = len(rows) - place
                if here == there or place < leaf or right_count < leaf:
                    continue
                error = (left2 - left * left / place + total2 - left2
                         - (total - left) ** 2 / right_count)
                if best is None or error < best[0] - 1e-12:
                    best = (error, name, (here + there) / 2)
        if best is None:
            return
        _, self.feature, self.threshold = best
        sides = ([], [])
        for row, target in zip(rows, targets):
            sides[row.get(self.feature, -1.0) > self.threshold].append(
                (row, target))
        self.children = [Tree([r for r, _ in side], [t for _, t in side],
                              depth - 1, leaf) for side in sides]

    def predict(self, row):
        tree = self
        while tree.feature is not None:
            tree = tree.children[row.get(tree.feature, -1.0) > tree.threshold]
        return tree.value


REFUSED = math.log(4.0)  # A candidate that fails counts as four times dense.


def tree_orders(cases, candidates):
    orders = {}
    for left_out in sorted({weight for weight, _ in cases}):
        rows, targets = [], []
        for key, case in cases.items():
            if key[0] == left_out:
                continue
            for row in candidates[key]:
                time = time_of(row)
                rows.append(features(case, row))
                targets.append(REFUSED if time == math.inf else
                               min(REFUSED, math.log(time / case["dense_us"])))
        if not rows:
            continue
        tree = Tree(rows, targets)
        for key, case in cases.items():
            if key[0] == left_out:
                orders[key] = sorted(
                    candidates[key],
                    key=lambda row: tree.predict(features(case, row)))
    return orders


# --- Regret -------------------------------------------------------------------


def best_of(case, rows):
    return min([case["dense_us"]] + [time_of(row) for row in rows])


def regrets(case, pool, order):
    """After each of STEPS candidates of an order."""
    best = best_of(case, pool)
    return [best_of(case, order[:k]) / best - 1 for k in STEPS]


def random_regrets(case, pool):
    """The exact mean: the best of k drawn from all without repetition."""
    times = sorted(min(time_of(row), case["dense_us"]) for row in pool)
    best, count = best_of(case, pool), len(pool)
    result = []
    for k in STEPS:
        k = min(k, count)
        # The i-th smallest is the least of the k with the probability that the
        # other k - 1 lie behind it.
        mean = sum(time * math.comb(count - 1 - i, k - 1)
                   for i, time in enumerate(times)) / math.comb(count, k)
        result.append(mean / best - 1)
    return result


def transcript_orders(path, cases, candidates):
    """Proposed strategies, by weight and N, in the order of evaluation."""
    proposed, names = defaultdict(list), {}
    with open(path) as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
            except ValueError:
                sys.exit(f"replay.py: {path}:{number}: not JSON")
            if row.get("event") == "product":
                names[row.get("product")] = row.get("name")
            # Round 0 is the heuristic's plan, which the loop starts from.
            if row.get("event") == "candidate" and row.get("round", 0) > 0:
                product = row.get("product")
                proposed[(names.get(product, product), row.get("n"))].append(
                    row.get("strategy"))
    orders, missing = {}, 0
    for key, strategies in proposed.items():
        if key not in cases:
            continue
        pool = {row["strategy"]: row for row in candidates[key]}
        orders[key] = [pool[s] for s in strategies if s in pool]
        missing += sum(s not in pool for s in strategies)
    return orders, missing


def svg(path, means):
    width, height, left, bottom = 640, 400, 60, 40
    top = max(max(values) for values in means.values()) * 100 or 1.0
    colours = ("#1b6ca8", "#c1440e", "#4a7c2f", "#7b4fa3", "#a08000", "#555555")

    def x(k):
        return left + (width - left - 130) * math.log2(k) / math.log2(STEPS[-1])

    def y(percent):
        return height - bottom - (height - bottom - 20) * percent / top

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
             f'height="{height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for k in STEPS:
        parts.append(f'<text x="{x(k):.1f}" y="{height - bottom + 16}" '
                     f'text-anchor="middle">{k}</text>')
    for i in range(5):
        percent = top * i / 4
        parts.append(f'<line x1="{left}" x2="{width - 130}" y1="{y(percent):.1f}" '
                     f'y2="{y(percent):.1f}" stroke="#ddd"/>'
                     f'<text x="{left - 6}" y="{y(percent) + 4:.1f}" '
                     f'text-anchor="end">{percent:.0f} %</text>')
    parts.append(f'<text x="{(left + width - 130) / 2}" y="{height - 6}" '
                 'text-anchor="middle">candidates measured</text>'
                 f'<text x="{left}" y="14">mean regret</text>')
    for colour, (policy, values) in zip(colours, means.items()):
        points = " ".join(f"{x(k):.1f},{y(v * 100):.1f}"
                          for k, v in zip(STEPS, values))
        parts.append(f'<polyline points="{points}" fill="none" '
                     f'stroke="{colour}" stroke-width="2"/>')
    for i, (colour, policy) in enumerate(zip(colours, means)):
        parts.append(f'<text x="{width - 122}" y="{30 + 18 * i}" '
                     f'fill="{colour}">{policy}</text>')
    parts.append("</svg>\n")
    with open(path, "w") as file:
        file.write("\n".join(parts))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record")
    parser.add_argument("--transcript", action="append", default=[],
                        metavar="NAME=FILE")
    parser.add_argument("--csv")
    parser.add_argument("--svg")
    args = parser.parse_args()
    cases, candidates = load(args.record)

    curves = defaultdict(dict)  # policy -> case -> regrets
    trees = tree_orders(cases, candidates)
    for key, case in cases.items():
        pool = candidates[key]
        curves["heuristic"][key] = regrets(
            case, pool, sorted(pool, key=lambda row: (row["origin"] != "family",
                                                      row["predicted_us"])))
        curves["random"][key] = random_regrets(case, pool)
        curves["exhaustive"][key] = regrets(
            case, pool, sorted(pool, key=lambda row: row["exhaustive_number"]))
        if key in trees:
            curves["tree"][key] = regrets(case, pool, trees[key])
    notes = []
    for argument in args.transcript:
        name, _, path = argument.partition("=")
        if not path:
            sys.exit(f"replay.py: --transcript expects NAME=FILE, got '{argument}'")
        orders, missing = transcript_orders(path, cases, candidates)
        for key, order in orders.items():
            curves[name][key] = regrets(cases[key], candidates[key], order)
        notes.append(f"{name}: {len(orders)} cases; {missing} proposals that "
                     "the pool does not hold were skipped")

    print(f"{len(cases)} cases, {sum(len(candidates[k]) for k in cases)} candidates")
    print("mean regret in percent after k candidates")
    print(f"{'policy':12} {'cases':>5} " + " ".join(f"{k:>6}" for k in STEPS))
    means = {}
    for policy, by_case in curves.items():
        if not by_case:
            continue
        means[policy] = [sum(c[i] for c in by_case.values()) / len(by_case)
                         for i in range(len(STEPS))]
        print(f"{policy:12} {len(by_case):5} "
              + " ".join(f"{100 * v:6.1f}" for v in means[policy]))
    for note in notes:
        print(note)
    if args.csv:
        with open(args.csv, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["policy", "weight", "n"] + [f"k{k}" for k in STEPS])
            for policy, by_case in curves.items():
                for (weight, n), values in sorted(by_case.items()):
                    writer.writerow([policy, weight, n]
                                    + [f"{v:.4f}" for v in values])
    if args.svg:
        svg(args.svg, means)


if __name__ == "__main__":
    main()

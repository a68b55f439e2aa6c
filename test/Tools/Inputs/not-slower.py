#!/usr/bin/env python3
"""not-slower.py BEFORE.json AFTER.json: fails if a choice of AFTER, as printed by
`sd-tune tune --json`, is predicted slower than that of BEFORE for the same N."""
import json
import sys


def times(path):
    result = {}
    for row in json.load(open(path))["choices"]:
        for n in (1, 16):
            if row["n_min"] <= n and (row["n_max"] is None or n <= row["n_max"]):
                result[row["tensor"], row["chip"], n] = row["predicted_us"]
    return result


before, after = times(sys.argv[1]), times(sys.argv[2])
assert before and before.keys() == after.keys(), (before.keys(), after.keys())
slower = [key for key in before if after[key] > before[key] * 1.0001]
assert not slower, [(key, before[key], after[key]) for key in slower]
print(len(before), "choices, none slower")

"""A scripted language model that rewrites the one kernel of a package.

    rewriting-model.py PACKAGE CALLS < REQUEST
    rewriting-model.py --config FILE PACKAGE CALLS

The second form writes the configuration that names the first. The file CALLS counts
how often it was asked: first come good rewrites and two wrong ones, then bad ones,
then nothing more.
"""

import json
import os
import shlex
import sys

if sys.argv[1] == "--config":
    words = [sys.executable, __file__] + sys.argv[3:]
    endpoint = "command:" + " ".join(shlex.quote(word) for word in words)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump({"version": 1, "providers": {"llm": {"endpoint": endpoint}}}, file)
    sys.exit(0)
package, calls = sys.argv[1:]
request = json.load(sys.stdin)
schema = request["response"]["schema"]["properties"]["proposals"]["items"]
if "edits" not in schema["properties"]:
    sys.exit("the prompt does not offer edits")
with open(os.path.join(package, "manifest.json"), encoding="utf-8") as file:
    (kernel,) = json.load(file)["layers"][0]["kernels"]
with open(os.path.join(package, kernel["mlir"]), encoding="utf-8") as file:
    lines = file.read().splitlines()


def line(part):
    """The first line with this in it."""
    return next(line for line in lines if part in line)


def change(part, before, after):
    old = line(part)
    return [{"before": old, "after": old.replace(before, after)}]


def append(part, *more):
    old = line(part)
    return [{"before": old, "after": "\n".join((old,) + more)}]


load = "{alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>"
first = "%0 = "
answers = [
    {
        "pins a load": change(load, "llvm.load", "llvm.load volatile"),
        "a dead value": append(first, "%dead = arith.addi %arg4, %arg5 : i32"),
        # Each thread writes what is there: right on any device, and a race.
        "a race": append(
            "gpu.barrier",
            "%kept = llvm.load volatile %6 {alignment = 2 : i64} : !llvm.ptr<3> -> f16",
            "llvm.store volatile %kept, %6 {alignment = 2 : i64} : f16, !llvm.ptr<3>",
        ),
        "starts at one": change(
            "%cst = arith.constant 0.000000e+00 : f32", "0.0", "1.0"
        ),
    },
    {
        "no barrier": change("gpu.barrier", "gpu.barrier", ""),
        "reads far": append(
            first,
            "%far = llvm.getelementptr %arg0[268435456] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8",
            "%there = llvm.load volatile %far {alignment = 4 : i64} : !llvm.ptr<1> -> i32",
        ),
        "prints": append(first, 'gpu.printf "hello"'),
        "no operation": append(first, "%x = arith.nonsense %0 : i32"),
    },
]
done = os.path.getsize(calls) if os.path.exists(calls) else 0
with open(calls, "a", encoding="utf-8") as file:
    file.write("x")
strategy = kernel["strategy"]
knobs = {
    knob["name"]: knob["value"]
    for knob in strategy["knobs"]
    # Those that are words stay at their defaults.
    if schema["properties"]["knobs"]["properties"][knob["name"]]["type"] == "integer"
}
json.dump(
    {
        "analysis": "scripted",
        "proposals": [
            {
                "family": strategy["family"],
                "knobs": knobs,
                "reason": reason,
                "edits": edits,
            }
            for reason, edits in (answers[done] if done < len(answers) else {}).items()
        ],
    },
    sys.stdout,
)

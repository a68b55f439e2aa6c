#!/usr/bin/env python3
"""Adds up test results: summary.py FILE...

A .json file is what `lit -o` writes; in any other file the lines that begin
with PASS: or FAIL: count. Prints the failed tests, then the line
`N passed, N failed, N skipped`; exits with 1 if a test failed or none ran.
"""

import json
import sys

PASSED = {"PASS", "XFAIL", "FLAKYPASS"}
SKIPPED = {"UNSUPPORTED", "SKIPPED", "EXCLUDED"}


def results(path):
    """Yields (code, name) for each test that the file reports."""
    with open(path, encoding="utf-8") as file:
        if path.endswith(".json"):
            for test in json.load(file)["tests"]:
                yield test["code"], test["name"]
        else:
            for line in file:
                code, colon, name = line.strip().partition(": ")
                if colon and code in ("PASS", "FAIL"):
                    yield code, name


def main(paths):
    passed = skipped = 0
    failed = []
    for path in paths:
        for code, name in results(path):
            if code in PASSED:
                passed += 1
            elif code in SKIPPED:
                skipped += 1
            else:
                failed.append(f"{code}: {name}")
    for line in failed:
        print(line)
    print(f"{passed} passed, {len(failed)} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

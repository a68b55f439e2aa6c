#!/usr/bin/env python3
"""Adds up test results: summary.py FILE...

An .xml file is what `lit --xunit-xml-output` writes; in any other file the lines
that begin with PASS: or FAIL: count. A test that one run skips and another runs
counts as run. Prints the failed tests, then the line `N passed, N failed,
N skipped`; exits with 1 if a test failed or none ran.
"""

import sys
import xml.etree.ElementTree


def results(path):
    """Yields (status, name) for each test that the file reports."""
    if path.endswith(".xml"):
        for test in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
            status = "passed"
            if test.find("failure") is not None:
                status = "failed"
            elif test.find("skipped") is not None:
                status = "skipped"
            yield status, test.get("classname") + "/" + test.get("name")
        return
    with open(path, encoding="utf-8") as file:
        for line in file:
            code, colon, name = line.strip().partition(": ")
            if colon and code in ("PASS", "FAIL"):
                yield "passed" if code == "PASS" else "failed", name


def main(paths):
    order = ["skipped", "passed", "failed"]
    tests = {}
    for path in paths:
        for status, name in results(path):
            tests[name] = max(status, tests.get(name, "skipped"), key=order.index)
    count = {status: list(tests.values()).count(status) for status in order}
    for name, status in tests.items():
        if status == "failed":
            print(f"FAIL: {name}")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

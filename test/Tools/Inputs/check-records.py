"""Checks a package's records against their schema and its kernels against them.

    check-records.py PACKAGE SCHEMA
"""

import importlib.util
import json
import os
import sys

package, schema_path = sys.argv[1:3]
spec = importlib.util.spec_from_file_location(
    "check_report", os.path.join(os.path.dirname(__file__), "check-report.py")
)
check_report = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_report)

with open(schema_path, encoding="utf-8") as file:
    schema = json.load(file)
with open(os.path.join(package, "records.jsonl"), encoding="utf-8") as file:
    records = [json.loads(line) for line in file]
with open(os.path.join(package, "manifest.json"), encoding="utf-8") as file:
    manifest = json.load(file)

errors = []
for number, record in enumerate(records):
    errors += check_report.check(record, schema, schema, f"record {number}")
by_id = {}
for record in records:
    if by_id.setdefault(record["id"], record) is not record:
        errors.append(f"id {record['id']} twice")
kernels = [kernel for layer in manifest["layers"] for kernel in layer["kernels"]]
for kernel in kernels:
    record = by_id.get(kernel["record_id"])
    if not record:
        errors.append(f"kernel {kernel['symbol']}: no record {kernel['record_id']}")
    elif record["status"] != "compiled" or record["chip"] != kernel["chip"]:
        errors.append(f"kernel {kernel['symbol']}: record {record}")
if not records or not kernels:
    errors.append("nothing to check")
for error in errors:
    print(error)
sys.exit(1 if errors else 0)

"""Checks every line of a transcript against its schema.

    check-transcript.py SCHEMA TRANSCRIPT [EVENT...]

Fails too if one of the named events does not occur.
"""

import importlib.util
import json
import os
import sys

schema_path, path, *wanted = sys.argv[1:]
spec = importlib.util.spec_from_file_location(
    "check_report", os.path.join(os.path.dirname(__file__), "check-report.py")
)
check_report = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_report)

with open(schema_path, encoding="utf-8") as file:
    schema = json.load(file)
with open(path, encoding="utf-8") as file:
    events = [json.loads(line) for line in file]

errors = []
for number, event in enumerate(events, 1):
    name = event.get("event")
    if name not in schema["$defs"]:
        errors.append(f"line {number}: unknown event {name!r}")
        continue
    errors += check_report.check(event, schema["$defs"][name], schema, f"line {number}")
if not events or events[0].get("event") != "header":
    errors.append("no header")
seen = {event.get("event") for event in events}
errors += [f"no event {name}" for name in wanted if name not in seen]
for error in errors:
    print(error)
sys.exit(1 if errors else 0)

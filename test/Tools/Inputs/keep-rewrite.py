"""Rewrites a transcript so that it decides for the first verified rewritten kernel,
as a run that measured it would have.

    keep-rewrite.py IN OUT
"""

import json
import sys

source, target = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    events = [json.loads(line) for line in file]
winner = next(
    event
    for event in events
    if event["event"] == "candidate"
    and "rewrite" in event
    and event["status"] == "verified"
)
for event in events:
    if event["event"] == "decision":
        event["choice"] = "custom"
        event["strategy"] = winner["rewrite"]["base"]
        event["rewrite"] = winner["rewrite"]
        event["reason"] = winner["reason"] + "; measured 1.00 us, dense 2.00 us"
        event["us"], event["measured_dense_us"] = 1.0, 2.0
        event["status"] = "verified"
with open(target, "w", encoding="utf-8") as file:
    for event in events:
        file.write(json.dumps(event) + "\n")

#!/usr/bin/env python3
"""A language model behind `command:` that says the same thing whatever it is
asked: fake-llm.py REPLY [REPLY...]. The N-th call of a conversation (counted by
the answers that the request holds) gets the N-th reply, later ones the last.
With --config FILE before them it writes the configuration that names it."""
import json
import shlex
import sys

replies = sys.argv[1:]
if replies[0] == "--config":
    words = [sys.executable, __file__] + replies[2:]
    endpoint = "command:" + " ".join(shlex.quote(word) for word in words)
    with open(replies[1], "w") as out:
        json.dump({"version": 1, "providers": {"llm": {"endpoint": endpoint}}}, out)
    sys.exit(0)
request = json.load(sys.stdin)
said = sum(message["role"] == "assistant" for message in request["messages"])
text = replies[min(said, len(replies) - 1)]
print(json.dumps({"text": text, "usage": {"input": 1000, "output": 100}}))

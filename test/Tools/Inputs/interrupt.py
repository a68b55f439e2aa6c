#!/usr/bin/env python3
"""interrupt.py COMMAND...: runs the command, sends it one SIGINT at the first line
that it writes to stderr, copies its stdout and exits with its status."""
import signal
import subprocess
import sys

process = subprocess.Popen(
    sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
)
first = process.stderr.readline()
process.send_signal(signal.SIGINT)
out, _ = process.communicate()
print(first, end="")
print(out, end="")
sys.exit(process.returncode)

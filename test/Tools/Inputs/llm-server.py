#!/usr/bin/env python3
"""llm-server.py STATUS BODY CONFIG COMMAND...: a chat server on a free port that
answers every request with STATUS and BODY, while COMMAND runs. Writes a
configuration for it to CONFIG, with a key in the variable SD_TEST_KEY."""
import http.server
import json
import os
import subprocess
import sys
import threading

status, body, config, command = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(int(status))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(config, "w") as out:
    json.dump({"version": 1, "providers": {"llm": {
        "endpoint": "http://127.0.0.1:%d/v1" % server.server_port,
        "model": "no-such-model", "api_key_env": "SD_TEST_KEY"}}}, out)
os.environ["SD_TEST_KEY"] = "sk-secret-of-the-test"
sys.exit(subprocess.run(command).returncode)

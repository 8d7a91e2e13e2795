#!/usr/bin/env python3
"""A stand-in for slipway-engine that behaves badly on request: FAKE_ENGINE says how."""

import http.server
import os
import sys
import time

arguments = sys.argv[1:]
port = int(arguments[arguments.index("--port") + 1])
behaviour = os.environ.get("FAKE_ENGINE", "ready")
print("fake engine,", behaviour, "port", port, flush=True)

if behaviour == "dies":
    print("[error] model.gguf: the tensor blk.0.attn_q.weight ends behind the end of the file", flush=True)
    sys.exit(3)
if behaviour == "port-taken":
    print(f"[error] cannot listen on 127.0.0.1:{port}: Address already in use", flush=True)
    sys.exit(4)
if behaviour == "port-taken-once":
    mark = os.environ["FAKE_ENGINE_MARK"]
    if not os.path.exists(mark):
        open(mark, "w").close()
        print(f"[error] cannot listen on 127.0.0.1:{port}: Address already in use", flush=True)
        sys.exit(4)
if behaviour == "never-ready":
    while True:
        time.sleep(60)
if behaviour == "crashes":
    os.abort()


class Handler(http.server.BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self):
        Handler.asked += 1
        # "slow": it answers, but not ready for the first questions, as an engine that loads does
        self.send_response(503 if behaviour == "slow" and Handler.asked < 5 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()

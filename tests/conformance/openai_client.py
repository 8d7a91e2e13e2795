#!/usr/bin/env python3
"""Starts our engine and runs openai_smoke.py against it with the official openai client.

The client lives in a Python of its own: the one that SLIPWAY_OPENAI_PYTHON names. Without it: skipped (77).
"""

import argparse
import os
import subprocess
import sys
import tempfile

from vllm_replay import Server


def has_client(python):
    if not python or not os.path.exists(python):
        return False
    return subprocess.run([python, "-c", "import openai, httpx"], stderr=subprocess.DEVNULL).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dialect", required=True, choices=["newest", "0.8"])
    parser.add_argument("--program", required=True)
    parser.add_argument("--model", required=True)
    args = parser.parse_args()
    python = os.environ.get("SLIPWAY_OPENAI_PYTHON", "")
    if not has_client(python):
        print(f"skipped: no openai client in '{python}' (set SLIPWAY_OPENAI_PYTHON)")
        return 77
    if not os.path.exists(args.model):
        print(f"skipped: no model at {args.model}")
        return 77
    flags = ["--served-model-name", "smollm2", "--max-model-len", "512", "--max-num-seqs", "8", "--api-key", "secret",
             "--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    if args.dialect == "0.8":
        flags += ["--api-dialect", "0.8"]
    smoke = os.path.join(os.path.dirname(os.path.abspath(__file__)), "openai_smoke.py")
    with tempfile.TemporaryDirectory() as logs:
        server = Server(args.program, args.model, flags, logs)
        try:
            server.wait(120)
            return subprocess.run([python, smoke, f"http://127.0.0.1:{server.port}/v1", "--api-key", "secret",
                                   "--max-model-len", "512"]).returncode
        finally:
            server.stop()


if __name__ == "__main__":
    sys.exit(main())

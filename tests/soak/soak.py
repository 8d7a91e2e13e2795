#!/usr/bin/env python3
"""Sixteen clients that come, ask, and often leave in the middle; then: is anything lost, leaked or reported?

usage: soak.py ENGINE MODEL [--seconds 120] [--clients 16] [--seed 1] [--frames 30]
By hand for an hour: soak.py build/asan/bin/slipway-engine MODEL.gguf --seconds 3600 --frames 1

Holds the engine (front and runner process) to:
  - every request that its client saw through ends well: 200, a finish reason, usage, [DONE];
  - after the last client nothing runs, waits or holds KV cache: no lost slot;
  - resident memory of all its processes is within 5 % between the settled start and the end;
  - it ends by SIGTERM with status 0, and no sanitizer wrote a report.
Exit status 0 if all hold, 1 with a line for each that does not, 77 where the engine or the model is missing.
"""

import argparse
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

SHARED = "You help operators size and run large models. Give numbers with units, and say what you assumed. "
TOPICS = ("slices", "hosts", "chips", "node pools", "replicas", "prefill", "decoding", "KV cache", "queues", "tokens")


class Faults:
    """What went wrong, from any thread; the first few of a kind are enough."""

    def __init__(self):
        self.lock = threading.Lock()
        self.lines = []

    def add(self, line):
        with self.lock:
            if len(self.lines) < 20:
                self.lines.append(line)


class Engine:
    def __init__(self, program, model, frames):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = tempfile.NamedTemporaryFile(prefix="soak-", suffix=".log", delete=False)
        environment = {
            **os.environ,
            # A small quarantine: freed memory that ASan keeps for later checks is not a leak of ours.
            # Each new call stack of an allocation is kept for ever too: a megabyte a minute, at 30 frames.
            "ASAN_OPTIONS": "quarantine_size_mb=4:detect_leaks=1:exitcode=23:abort_on_error=0:"
            + f"malloc_context_size={frames}",
            "TSAN_OPTIONS": "exitcode=24:halt_on_error=0:suppressions="
            + os.path.join(os.path.dirname(os.path.abspath(__file__)), "tsan.supp"),
            "MALLOC_ARENA_MAX": "2",
        }
        self.process = subprocess.Popen(
            [program, "serve", model, "--host", "127.0.0.1", "--port", str(self.port), "--served-model-name", "soak",
             "--max-model-len", "512", "--max-num-seqs", "8", "--kv-cache-tokens", "2048", "--threads", "1"],
            stdout=self.log, stderr=subprocess.STDOUT, env=environment)

    def wait_ready(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=2).status == 200:
                    return True
            except OSError:
                time.sleep(0.2)
        return False

    def gauge(self, name):
        page = urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10).read().decode()
        values = [float(line.split()[-1]) for line in page.splitlines() if line.startswith(name + "{")]
        if not values:
            raise RuntimeError(f"{name} is not on the metrics page")
        return sum(values)

    def resident_kib(self):
        return sum(resident_kib(pid) for pid in [self.process.pid, *children(self.process.pid)])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def resident_kib(pid):
    try:
        with open(f"/proc/{pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
    except (OSError, StopIteration):
        return 0


def body_of_request(dice):
    question = f"{SHARED if dice.random() < 0.5 else ''}Tell me about {dice.choice(TOPICS)}, number {dice.randrange(10**6)}."
    common = {"model": "soak", "max_tokens": dice.choice((1, 4, 16, 48)), "temperature": dice.choice((0, 0.8)),
              "ignore_eos": dice.random() < 0.3, "stream": dice.random() < 0.7}
    if common["stream"]:
        common["stream_options"] = {"include_usage": True}
    if dice.random() < 0.2:
        common["stop"] = ["the", "\n\n"]
    if dice.random() < 0.5:
        return "/v1/completions", {**common, "prompt": question}
    return "/v1/chat/completions", {**common, "messages": [{"role": "user", "content": question}]}


def one_request(port, dice, faults, counts):
    path, body = body_of_request(dice)
    leaves_after = dice.choice((0, 1, 300, 900)) if dice.random() < 0.4 else None
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=240)
    try:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        if leaves_after == 0:
            counts["left"] += 1
            return
        reply = connection.getresponse()
        if leaves_after is not None:
            reply.read1(leaves_after)
            counts["left"] += 1
            return
        text = reply.read().decode()
        problem = judge(reply.status, text, body["stream"])
        counts["seen through"] += 1
        if problem:
            faults.add(f"{path} {json.dumps(body)[:200]}: {problem}")
    except (OSError, http.client.HTTPException) as error:
        faults.add(f"{path}: {type(error).__name__}: {error}")
    finally:
        connection.close()


def judge(status, text, stream):
    if status != 200:
        return f"status {status}: {text[:200]}"
    if not stream:
        reply = json.loads(text)
        return None if reply["choices"][0]["finish_reason"] and reply["usage"] else f"unfinished: {text[:200]}"
    events = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
    if not events or events[-1] != "[DONE]":
        return f"no [DONE]: ...{text[-200:]}"
    chunks = [json.loads(event) for event in events[:-1]]
    if any("error" in chunk for chunk in chunks):
        return f"error in the stream: {text[-300:]}"
    if not any(choice.get("finish_reason") for chunk in chunks for choice in chunk["choices"]):
        return f"no finish reason: ...{text[-200:]}"
    return None if any(chunk.get("usage") for chunk in chunks) else "no usage"


def client(number, seed, engine, until, faults, counts):
    dice = random.Random(seed * 1000 + number)
    while time.monotonic() < until and engine.process.poll() is None:
        one_request(engine.port, dice, faults, counts)
        time.sleep(dice.random() * 0.2)


def run(options, engine, faults):
    counts = {"left": 0, "seen through": 0}
    start = time.monotonic()
    threads = [threading.Thread(target=client, args=(i, options.seed, engine, start + options.seconds, faults, counts))
               for i in range(options.clients)]
    for thread in threads:
        thread.start()
    settled, last = None, None
    while any(thread.is_alive() for thread in threads):
        time.sleep(1)
        resident = engine.resident_kib()
        if settled is None and time.monotonic() - start > options.seconds * 0.4:
            settled = resident
        if time.monotonic() - start < options.seconds:
            last = resident
    for thread in threads:
        thread.join()
    return counts, settled, last


def check_idle(engine, faults):
    deadline = time.monotonic() + 60
    names = ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")
    while True:
        values = {name: engine.gauge(name) for name in names}
        if not any(values.values()):
            return
        if time.monotonic() > deadline:
            faults.add(f"a slot is lost: a minute after the last client {values}")
            return
        time.sleep(0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frames", type=int, default=30, help="of the stacks of allocations that ASan reports")
    options = parser.parse_args()
    for needed in (options.engine, options.model):
        if not os.path.exists(needed):
            print(f"skipped: {needed} is not there")
            return 77
    faults = Faults()
    engine = Engine(options.engine, options.model, options.frames)
    try:
        if not engine.wait_ready(180):
            faults.add("the engine was not ready within three minutes")
        else:
            counts, settled, last = run(options, engine, faults)
            check_idle(engine, faults)
            print(f"{counts['seen through']} requests seen through, {counts['left']} left in the middle; "
                  f"resident {settled} KiB when settled, {last} KiB at the end")
            if counts["seen through"] < options.clients:
                faults.add(f"only {counts['seen through']} requests were seen through")
            if last > settled * 1.05:
                faults.add(f"resident memory grew by {100 * last / settled - 100:.1f} %: {settled} -> {last} KiB")
    finally:
        status = engine.stop()
    with open(engine.log.name, errors="replace") as log:
        text = log.read()
    if status != 0:
        faults.add(f"the engine ended with status {status}")
    if "Sanitizer" in text:
        faults.add("a sanitizer reports: " + text[text.index("Sanitizer") - 40:][:1500])
    for line in faults.lines:
        print("FAULT", line)
    if faults.lines:
        print(f"the engine's log: {engine.log.name}")
        return 1
    os.unlink(engine.log.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""An engine in a test: started on a free port, asked in plain sockets, looked at through /proc."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time


class Engine:
    """`slipway-engine serve` on a port of its own. Its log is `log()`; leaving the with-block ends it."""

    def __init__(self, program, model, flags=(), environment=None, stderr=None, host="127.0.0.1"):
        self.host = host
        self.file = tempfile.NamedTemporaryFile(prefix="hostile-", suffix=".log")
        self.process = subprocess.Popen(
            [program, "serve", model, "--host", host, "--port", "0", "--threads", "1", "--served-model-name", "m",
             "--max-model-len", "512", "--max-num-seqs", "8", "--kv-cache-tokens", "2048", *flags],
            stdout=subprocess.DEVNULL, stderr=stderr or self.file, env={**os.environ, **(environment or {})})
        self.port = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def log(self):
        with open(self.file.name, errors="replace") as file:
            return file.read()

    def wait_ready(self, seconds=120):
        found = wait_for(lambda: re.search(r"Listening on http://\S+:(\d+)", self.log()) or self.process.poll() is not None,
                         seconds, "the engine listens")
        assert self.process.poll() is None, self.log()
        self.port = int(found[1])
        return self

    def runner(self):
        pids = children(self.process.pid)
        return pids[0] if pids else None

    def stop(self, seconds=60):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def connect(self, timeout=60):
        return socket.create_connection((self.host, self.port), timeout=timeout)

    def ask(self, path, body=None, timeout=120, headers=None):
        """Status and text of one exchange on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            if body is None:
                connection.request("GET", path, headers=headers or {})
            else:
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                connection.request("POST", path, data, {"Content-Type": "application/json", **(headers or {})})
            reply = connection.getresponse()
            return reply.status, reply.read().decode("utf-8", "strict")
        finally:
            connection.close()

    def complete(self, timeout=120, **fields):
        return self.ask("/v1/completions", {"model": "m", "prompt": "Once upon a time", "max_tokens": 4, **fields}, timeout)

    def chat(self, text="Hello", timeout=120, **fields):
        return self.ask("/v1/chat/completions",
                        {"messages": [{"role": "user", "content": text}], "max_tokens": 4, **fields}, timeout)

    def gauge(self, name):
        lines = [line for line in self.ask("/metrics")[1].splitlines() if line.startswith(name + "{")]
        return sum(float(line.split()[-1]) for line in lines)

    def is_idle(self):
        return not any(self.gauge(name) for name in
                       ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def wait_for(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"after {seconds} s still not: {what}"
        time.sleep(0.05)


def in_threads(count, work):
    """The results of work(0) … work(count - 1), each in a thread of its own; exceptions are results."""
    results = [None] * count

    def run(index):
        try:
            results[index] = work(index)
        except Exception as error:  # noqa: BLE001: judged by the caller
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results

"""slipway-engine against llama-server of the same llama.cpp build: same model, threads and total context.

llama-server gets the faster of its settings in each scenario:
  - Its context is split among the slots (its default with --parallel N), not unified: with a unified one each
    request looks at the cells of all others: as fast with 1 request, slower with 8 and more (measured).
  - As many slots as the scenario has requests at once, so that none waits for a slot. The total is a multiple
    of 256 tokens for each slot, because it would be rounded up to that for llama-server alone.
  - --cache-ram 0: no request comes again, so that copies of old slots would only cost it time.
"""

import json
import os
import random
import socket
import statistics
import subprocess
import tempfile
import time
import urllib.request

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT = 24576  # tokens of KV in total, both servers: 32 slots of 768 or 16 of 1536
# Each is one token of the model, with the space before it.
WORDS = "slice host chip node pool replica leader worker prompt decode token batch queue cache model route".split()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server process on loopback, ready when /health answers 200."""

    def __init__(self, command, port):
        self.port = port
        self.log = tempfile.NamedTemporaryFile(prefix="bench-", suffix=".log", delete=False)
        environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "GGML_NO_BACKTRACE": "1"}
        self.process = subprocess.Popen(command, stdout=self.log, stderr=subprocess.STDOUT, env=environment)
        deadline = time.monotonic() + 120
        while not self.healthy():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"{command[0]} did not become ready, see {self.log.name}")
            time.sleep(0.1)

    def healthy(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=2).status == 200
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class EngineBench:
    """Both servers stay up for all rounds; only the one under load works."""

    reference_name = "llama-server"
    limit = None

    def __init__(self, options, plan, figure, slots, higher_is_better=True):
        self.options, self.plan, self.figure, self.higher_is_better = options, plan, figure, higher_is_better
        self.slots = slots
        self.random = random.Random(7)

    def __enter__(self):
        self.servers = {}
        try:
            self.start()
        except Exception as failure:
            self.__exit__(failure)
            raise
        return self

    def start(self):
        model = os.path.join(self.options.models_dir, MODEL)
        threads = str(self.options.threads)
        port = free_port()
        self.servers["ours"] = Server(
            [os.path.join(self.options.build_bin, "slipway-engine"), "serve", model, "--host", "127.0.0.1", "--port",
             str(port), "--max-model-len", "2048", "--kv-cache-tokens", str(CONTEXT), "--max-num-seqs",
             str(self.slots), "--threads", threads, "--served-model-name", "bench"], port)
        port = free_port()
        self.servers["reference"] = Server(
            [os.path.join(self.options.llama_bin, "llama-server"), "-m", model, "--host", "127.0.0.1", "--port",
             str(port), "-c", str(CONTEXT), "--parallel", str(self.slots), "--no-kv-unified", "--cache-ram", "0",
             "--threads", threads, "--threads-batch", threads, "--no-webui"], port)
        for server in self.servers.values():  # pages of the weights are read in, buffers allocated
            self.load(server, [request(0, "warm", self.words(16), 4)])

    def __exit__(self, failure, *_):
        for server in self.servers.values():
            server.stop()
            if failure is None:
                os.unlink(server.log.name)  # after a failure it tells why

    def words(self, count):
        """Text of `count` tokens that no other request shares a beginning with."""
        digits = str(self.random.randrange(10**8, 10**9))  # nine tokens
        return " ".join([digits] + [self.random.choice(WORDS) for _ in range(count - len(digits))])

    def load(self, server, plan):
        done = subprocess.run([os.path.join(self.options.build_bin, "bench_http_load"), str(server.port)],
                              input=json.dumps(plan), capture_output=True, text=True, timeout=900, check=True)
        result = json.loads(done.stdout)
        broken = [r["error"] for r in result["requests"] if not r["ok"]]
        if broken:
            raise RuntimeError(f"{len(broken)} requests failed: {broken[0]}")
        return result

    def ours(self):
        return self.figure(self.load(self.servers["ours"], self.plan(self)))

    def reference(self):
        return self.figure(self.load(self.servers["reference"], self.plan(self)))


def request(at, group, prompt, max_tokens):
    return {"at": at, "group": group,
            "body": {"prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "ignore_eos": True, "stream": True,
                     "stream_options": {"include_usage": True}}}


def tokens_per_second(result):
    return sum(r["tokens"] for r in result["requests"]) / result["wall"]


def p95_ttft_of_short(result):
    values = [r["ttft"] for r in result["requests"] if r["group"] == "short"]
    return statistics.quantiles(values, n=20)[-1]


def independent(count):
    def plan(bench):
        return [request(0, "independent", bench.words(32), 64) for _ in range(count)]
    return lambda options: EngineBench(options, plan, tokens_per_second, slots=32)


def shared_prefix(bench):
    prefix = bench.words(1000)
    return [request(0, "shared", prefix + " " + bench.words(20), 32) for _ in range(16)]


def mixed(bench):
    long = [request(1 + 8 * i, "long", bench.words(700), 8) for i in range(4)]
    return long + [request(0.5 + i, "short", bench.words(20), 8) for i in range(32)]


BENCHES = {
    "engine.tokens.1": independent(1),
    "engine.tokens.8": independent(8),
    "engine.tokens.32": independent(32),
    "engine.prefix16": lambda options: EngineBench(options, shared_prefix, tokens_per_second, slots=16),
    "engine.ttft_mixed": lambda options: EngineBench(options, mixed, p95_ttft_of_short, slots=16,
                                                     higher_is_better=False),
}

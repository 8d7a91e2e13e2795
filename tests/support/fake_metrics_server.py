#!/usr/bin/env python3
"""Serves a /metrics page as a vLLM under changing load would, for looking at charts without a model.

    fake_metrics_server.py [--port N] [--speed X] [--mode normal|silent|frozen] [--without PREFIX ...]

Prints its address, then serves until it is ended. Load follows the clock (times --speed), so two starts differ only
in their counters, which begin at 0: a restart looks like one. "silent" accepts and never answers; "frozen" answers
with waiting requests while no counter moves. --without leaves out every family whose name begins so.
"""
import argparse
import http.server
import math
import random
import time

LATENCY = [.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80]
TOKEN = [.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10]
WHOLE = [.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120]
LABELS = 'engine="0",model_name="llama-3.3-70b-instruct"'


class Histogram:
    def __init__(self, bounds):
        self.bounds, self.counts, self.sum, self.count = bounds, [0] * len(bounds), 0.0, 0

    def observe(self, value):
        self.sum += value
        self.count += 1
        for i, bound in enumerate(self.bounds):
            self.counts[i] += value <= bound

    def lines(self, name):
        yield f"# HELP {name} Seconds.\n# TYPE {name} histogram"
        for bound, count in zip(self.bounds, self.counts):
            yield f'{name}_bucket{{{LABELS},le="{bound}"}} {count}'
        yield f'{name}_bucket{{{LABELS},le="+Inf"}} {self.count}'
        yield f"{name}_sum{{{LABELS}}} {self.sum}"
        yield f"{name}_count{{{LABELS}}} {self.count}"


class Engine:
    def __init__(self, options):
        self.options, self.last = options, time.time()
        self.counters = dict.fromkeys(["prompt_tokens", "generation_tokens", "num_preemptions", "prefix_cache_queries",
                                       "prefix_cache_hits"], 0.0)
        self.errors = 0.0
        self.ttft, self.queue = Histogram(LATENCY), Histogram(WHOLE)
        self.token, self.whole = Histogram(TOKEN), Histogram(WHOLE)

    def advance(self):
        now = time.time()
        passed, self.last = min(now - self.last, 60), now
        at = now * self.options.speed
        self.load = .55 + .35 * math.sin(at / 120) + random.gauss(0, .03)
        self.surge = at % 600 > 520
        if self.options.mode == "frozen":
            return
        for _ in range(int(passed * 12 * self.load) + 1):
            slow = 2.2 if self.surge else 1
            self.ttft.observe(random.lognormvariate(math.log(.19), .45) * slow)
            self.queue.observe(random.expovariate(12) * slow * 2)
            self.whole.observe(random.lognormvariate(math.log(4.1), .4))
            for _ in range(20):
                self.token.observe(random.lognormvariate(math.log(.021), .25) * slow)
        prompt = passed * (2600 + 4900 * self.load)
        self.counters["prompt_tokens"] += prompt
        self.counters["generation_tokens"] += passed * (900 + 1750 * self.load)
        self.counters["prefix_cache_queries"] += prompt
        self.counters["prefix_cache_hits"] += prompt * (.6 + .05 * math.sin(at / 50))
        self.counters["num_preemptions"] += random.random() < passed * (.4 if self.surge else .02)
        self.errors += random.random() < passed * (.2 if self.surge else .002)

    def lines(self):
        self.advance()
        waiting = 3 if self.options.mode == "frozen" else max(0, int(40 * self.load - 20)) if self.surge else 0
        gauges = {"num_requests_running": round(44 + 62 * self.load), "num_requests_waiting": waiting,
                  "kv_cache_usage_perc": min(1, .38 + .44 * self.load + (.15 if self.surge else 0))}
        for name, value in gauges.items():
            yield f"# TYPE vllm:{name} gauge\nvllm:{name}{{{LABELS}}} {value}"
        for name, value in self.counters.items():
            yield f"# TYPE vllm:{name}_total counter\nvllm:{name}_total{{{LABELS}}} {value}"
        yield "# TYPE http_requests_total counter"
        yield f'http_requests_total{{handler="/v1/chat/completions",method="POST",status="5xx"}} {self.errors}'
        for name, histogram in {"time_to_first_token_seconds": self.ttft, "inter_token_latency_seconds": self.token,
                                "e2e_request_latency_seconds": self.whole,
                                "request_queue_time_seconds": self.queue}.items():
            yield from histogram.lines("vllm:" + name)

    def page(self):
        text = "\n".join(self.lines())
        kept = [line for line in text.split("\n")
                if not any(line.split(" ")[2 if line.startswith("#") else 0].startswith(p) for p in self.options.without)]
        return ("\n".join(kept) + "\n").encode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--speed", type=float, default=1)
    parser.add_argument("--mode", choices=["normal", "silent", "frozen"], default="normal")
    parser.add_argument("--without", nargs="*", default=[])
    options = parser.parse_args()
    engine = Engine(options)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if options.mode == "silent":
                time.sleep(3600)
            body = engine.page()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Llama 3.1 405B by vLLM on two machines of eight H100 each with LeaderWorkerSet, on an Autopilot cluster.
llama_lws.py BIN_DIR"""
import sys

import lws_serving
from tutorial import run


def play(reader):
    lws_serving.prepare(reader)
    lws_serving.autopilot_cluster(reader)
    lws_serving.install_lws(reader)
    lws_serving.serve(reader, "vllm-llama3-405b-A3.yaml")
    answer = lws_serving.complete(reader, "meta-llama/Meta-Llama-3.1-405B-Instruct", "San Francisco is a", 7)
    assert answer["usage"]["completion_tokens"] == 7 and answer["choices"][0]["finish_reason"] == "length", answer
    lws_serving.both_hosts_compute(reader)
    reader.stop_all()
    lws_serving.take_away(reader)


if __name__ == "__main__":
    sys.exit(run("llama-lws", lws_serving.VALUES, play))

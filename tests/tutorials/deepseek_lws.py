#!/usr/bin/env python3
"""DeepSeek-R1 by vLLM on two machines of eight H100 each with LeaderWorkerSet, on a Standard cluster.
deepseek_lws.py BIN_DIR"""
import sys

import lws_serving
from tutorial import run

PROMPT = ("I have four boxes. I put the red box on the bottom and put the blue box on top. Then I put the yellow box on "
          "top the blue. Then I take the blue box out and put it on top. And finally I put the green box on the top. Give "
          "me the final order of the boxes from bottom to top. Show your reasoning but be brief")


def play(reader):
    lws_serving.prepare(reader)
    lws_serving.standard_cluster(reader)
    lws_serving.install_lws(reader)
    lws_serving.serve(reader, "vllm-deepseek-r1-A3.yaml")
    lws_serving.complete(reader, "deepseek-ai/DeepSeek-R1", PROMPT, 1024)
    lws_serving.both_hosts_compute(reader)
    reader.stop_all()
    lws_serving.take_away(reader)


if __name__ == "__main__":
    sys.exit(run("deepseek-lws", lws_serving.VALUES, play))

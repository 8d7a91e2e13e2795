#!/usr/bin/env python3
"""The whole way on the local target with the real gcloud and kubectl: a cluster, a v6e 4x4 slice of four hosts, a
Deployment of slipway-engine behind a Service that answers chat through port-forward, its process killed, a Job, and
everything deleted again.   whole_way.py BIN_DIR
Exit status 77: skipped, with the reason."""
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from local_target import LocalTarget, need_programs, run_or_skip
from processes_of_target import command_line, processes_of

ZONE = "us-east5-b"

ENGINE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 1
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      containers:
      - name: engine
        image: slipway/engine
        args: [serve, small-model, --port, "8000"]
        ports: [{containerPort: 8000}]
        readinessProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: chat}
spec:
  selector: {app: chat}
  ports: [{port: 80, targetPort: 8000}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: say, image: busybox, command: [sh, -c, "echo said $SLICE; sleep 0.2"],
         env: [{name: SLICE, value: v6e-16}]}
"""


def cluster_and_slice(target):
    target.gcloud("container", "clusters", "create", "c1", "--location", ZONE, "--num-nodes", "1",
                  "--machine-type", "e2-standard-4")
    target.gcloud("container", "node-pools", "create", "slice", "--cluster", "c1", "--location", ZONE,
                  "--machine-type", "ct6e-standard-4t", "--tpu-topology", "4x4", "--num-nodes", "4",
                  "--node-locations", ZONE)
    nodes = json.loads(target.kubectl("get", "nodes", "-l", "cloud.google.com/gke-tpu-topology=4x4",
                                      "-o", "json").stdout)["items"]
    assert len(nodes) == 4, [node["metadata"]["name"] for node in nodes]
    for node in nodes:
        labels = node["metadata"]["labels"]
        assert labels["cloud.google.com/gke-tpu-accelerator"] == "tpu-v6e-slice", labels
        assert labels["cloud.google.com/gke-nodepool"] == "slice", labels
        assert node["status"]["allocatable"]["google.com/tpu"] == "4", node["status"]["allocatable"]
    ready = target.kubectl("get", "nodes").stdout
    assert len(re.findall(r"\bReady\b", ready)) == 5, ready


class Forward:
    """kubectl port-forward to a port of its own choice."""

    def __init__(self, target, what, port):
        self.process = subprocess.Popen(["kubectl", "port-forward", what, f":{port}"], env=target.environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        assert found, line + self.process.stdout.read()
        self.url = "http://127.0.0.1:" + found.group(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def chat(url):
    body = json.dumps({"model": "small-model", "max_tokens": 8,
                       "messages": [{"role": "user", "content": "What is a slice?"}]}).encode()
    request = urllib.request.Request(url + "/v1/chat/completions", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def restarts(target):
    pods = json.loads(target.kubectl("get", "pods", "-l", "app=chat", "-o", "json").stdout)["items"]
    return pods[0]["status"]["containerStatuses"][0]["restartCount"]


def serve_and_ask(target):
    target.kubectl("apply", "-f", "-", stdin=ENGINE)
    target.kubectl("rollout", "status", "deployment/chat", "--timeout", "180s")
    with Forward(target, "service/chat", 80) as forward:
        answer = chat(forward.url)
        assert answer["model"] == "small-model", answer
        assert answer["choices"][0]["message"]["content"], answer
        assert answer["usage"]["completion_tokens"] > 0, answer
    log = target.kubectl("logs", "deployment/chat").stdout
    assert "Application startup complete" in log, log
    kill_the_engine(target)
    target.kubectl("wait", "--for=condition=Complete", "job/once", "--timeout", "120s")
    assert target.kubectl("logs", "job/once").stdout == "said v6e-16\n"


def answers_through_forward(target):
    with Forward(target, "service/chat", 80) as forward:
        return bool(chat(forward.url)["choices"])


def kill_the_engine(target):
    """Only the one that is a descendant of the test's own slipwayd: others may serve on this machine too."""
    daemon = target.status()["pid"]
    engines = [pid for pid in processes_of(target.environment["SLIPWAY_LOCAL_DIR"], daemon)
               if "slipway-engine serve" in command_line(pid)]
    assert engines, "no process of slipway-engine below slipwayd"
    os.kill(engines[0], signal.SIGKILL)
    target.await_true("the container was started again", lambda: restarts(target) == 1)
    target.kubectl("rollout", "status", "deployment/chat", "--timeout", "180s")


def crash_and_come_back(target):
    os.kill(target.status()["pid"], signal.SIGKILL)
    target.await_true("no process is left behind", lambda: not processes_of(target.environment["SLIPWAY_LOCAL_DIR"]), 30)
    target.start("--allow-processes")
    target.await_true("the cluster runs again", lambda: target.status()["clusters"][0]["state"] == "running")
    # What was Ready before the crash is so in the API until the agent has looked: ask the model itself.
    target.await_true("the model answers again", lambda: answers_through_forward(target))


def take_away(target):
    target.gcloud("container", "node-pools", "delete", "slice", "--cluster", "c1", "--location", ZONE)
    left = target.kubectl("get", "nodes", "-o", "name").stdout.split()
    assert len(left) == 1, left
    target.gcloud("container", "clusters", "delete", "c1", "--location", ZONE)
    assert target.status()["clusters"] == []


def main():
    need_programs("gcloud", "kubectl", "gke-gcloud-auth-plugin")
    with LocalTarget(os.path.abspath(sys.argv[1])) as target:
        target.start("--allow-processes")
        target.need_control_plane()
        begun = time.monotonic()
        for step in (cluster_and_slice, serve_and_ask, crash_and_come_back, take_away):
            try:
                step(target)
            except AssertionError:
                print(target.kubectl("describe", "pods", check=False).stdout)
                raise
            print(f"{step.__name__}: done after {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    run_or_skip(main)

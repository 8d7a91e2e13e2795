#!/usr/bin/env python3
"""kill -9 of any one process of the local target, then of all at once while somebody writes, and a start: nothing
acknowledged is lost, pods are restarted by their rules, and no process is left behind. Driven by the real gcloud and
kubectl.   kills_and_starts.py BIN_DIR
Exit status 77: skipped, with the reason."""
import base64
import http.client
import json
import os
import signal
import ssl
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from local_target import LocalTarget, need_programs, run_or_skip
from processes_of_target import command_line, processes_of

ZONE = "us-east5-b"
OBJECTS = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: loop, image: busybox, command: [sh, -c, "echo begun; while :; do sleep 0.2; done"],
         env: [{name: MARK, value: "%(folder)s"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: once}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - {name: loop, image: busybox, command: [sh, -c, "while :; do sleep 0.2; done"],
     env: [{name: MARK, value: "%(folder)s"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: done}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{name: say, image: busybox, command: [sh, -c, "echo said"]}]
"""
RAY = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      metadata: {annotations: {slipway.dev/runtime: simulated}}
      spec: {containers: [{name: ray-head, image: rayproject/ray:2.9.0}]}
"""


def folder_of(target):
    return target.environment["SLIPWAY_LOCAL_DIR"]


def cluster(target):
    return target.status()["clusters"][0]


def pid_of(target, name):
    return next((process["pid"] for process in cluster(target)["processes"] if process["name"] == name), 0)


def web_pod(target):
    pods = json.loads(target.kubectl("get", "pods", "-l", "app=web", "-o", "json").stdout)["items"]
    assert len(pods) == 1, [pod["metadata"]["name"] for pod in pods]
    return pods[0]


def restarts(target):
    return web_pod(target)["status"]["containerStatuses"][0]["restartCount"]


def is_ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


class Writer(threading.Thread):
    """Makes ConfigMaps one after the other, and keeps the names of those that the API server acknowledged."""

    def __init__(self, target):
        super().__init__(daemon=True)
        config = json.loads(target.kubectl("config", "view", "--raw", "-o", "json").stdout)
        self.address = config["clusters"][0]["cluster"]["server"].removeprefix("https://")
        authority = base64.b64decode(config["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        self.context = ssl.create_default_context(cadata=authority)
        self.token = target.environment["CLOUDSDK_AUTH_ACCESS_TOKEN"]
        self.names = []
        self.ends = False

    def run(self):
        number = 0
        while not self.ends:
            number += 1
            body = {"metadata": {"name": f"kept-{number}"}, "data": {"number": str(number)}}
            connection = http.client.HTTPSConnection(self.address, context=self.context, timeout=10)
            try:
                connection.request("POST", "/api/v1/namespaces/default/configmaps", json.dumps(body),
                                   {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
                answer = connection.getresponse()
                answer.read()
                if answer.status == 201:
                    self.names.append(f"kept-{number}")
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
            finally:
                connection.close()


def make_things(target):
    target.gcloud("container", "clusters", "create", "c1", "--location", ZONE, "--num-nodes", "1", "--machine-type",
                  "e2-standard-4", "--addons", "RayOperator,HttpLoadBalancing,HorizontalPodAutoscaling")
    assert not pid_of(target, "kuberay-operator"), "Ray's operator runs though nothing of Ray's is there"
    target.kubectl("apply", "-f", "-", stdin=OBJECTS % {"folder": folder_of(target)})
    target.kubectl("apply", "-f", "-", stdin=RAY)
    target.kubectl("rollout", "status", "deployment/web", "--timeout", "120s")
    target.kubectl("wait", "--for=condition=Ready", "pod/once", "--timeout", "120s")
    target.kubectl("wait", "--for=condition=Complete", "job/done", "--timeout", "120s")
    target.await_true("Ray's operator was started for the RayCluster", lambda: pid_of(target, "kuberay-operator"))


def each_program_alone(target):
    target.kubectl("create", "configmap", "before")
    for process in [process["name"] for process in cluster(target)["processes"]]:
        old = pid_of(target, process)
        os.kill(old, signal.SIGKILL)
        target.await_true(f"{process} runs again", lambda: pid_of(target, process) not in (0, old))
        target.await_true("the API answers", lambda: target.kubectl("get", "configmap", "before", check=False)
                          .returncode == 0)
        target.await_true("the API writes", lambda: target.kubectl("create", "configmap", "after-" + process,
                                                                   check=False).returncode == 0)
    assert restarts(target) == 0, "a pod was touched"
    # The controllers and the scheduler do their work again: a second pod comes, and goes.
    target.kubectl("scale", "deployment/web", "--replicas", "2")
    target.kubectl("rollout", "status", "deployment/web", "--timeout", "180s")
    target.kubectl("scale", "deployment/web", "--replicas", "1")
    target.await_true("one pod is left", lambda: web_pod(target))


def the_pods_own(target):
    """The container's process, then the init that watches over it."""
    daemon = target.status()["pid"]
    before = restarts(target)
    loops = [pid for pid in processes_of(folder_of(target), daemon) if command_line(pid).startswith("sh -c echo begun")]
    assert loops, "no process of the deployment's container"
    os.kill(loops[0], signal.SIGKILL)
    target.await_true("the container was started again", lambda: restarts(target) > before)
    target.kubectl("rollout", "status", "deployment/web", "--timeout", "120s")
    said = target.kubectl("exec", "deployment/web", "--", "sh", "-c", "echo $MARK").stdout.strip()
    assert said == folder_of(target), said


def await_none_left(target):
    target.await_true("no process is left behind", lambda: not processes_of(folder_of(target)), 60)


def await_things(target, restarted_from):
    target.await_true("the cluster runs again", lambda: cluster(target)["state"] == "running")
    target.await_true("the deployment's container was started again",
                      lambda: restarts(target) > restarted_from and is_ready(web_pod(target)))
    once = json.loads(target.kubectl("get", "pod", "once", "-o", "json").stdout)
    assert once["status"]["phase"] == "Failed", once["status"]  # restartPolicy Never: what was killed stays so
    done = json.loads(target.kubectl("get", "job", "done", "-o", "json").stdout)
    assert done["status"].get("succeeded") == 1, done["status"]
    assert target.kubectl("logs", "job/done").stdout == "said\n"
    target.await_true("Ray's operator is back", lambda: pid_of(target, "kuberay-operator"))


def the_daemon_alone(target):
    before = restarts(target)
    os.kill(target.status()["pid"], signal.SIGKILL)
    await_none_left(target)
    target.start("--allow-processes")
    await_things(target, before)


def all_at_once(target):
    target.kubectl("delete", "pod", "once", "--now")
    target.kubectl("apply", "-f", "-", stdin=OBJECTS % {"folder": folder_of(target)})
    target.kubectl("wait", "--for=condition=Ready", "pod/once", "--timeout", "120s")
    before = restarts(target)
    writer = Writer(target)
    writer.start()
    target.await_true("something was written", lambda: len(writer.names) >= 20)
    victims = processes_of(folder_of(target), target.status()["pid"])
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # its parent took it along
    assert len(victims) > 7, victims
    await_none_left(target)
    writer.ends = True
    writer.join()
    target.start("--allow-processes")
    await_things(target, before)
    there = set(target.kubectl("get", "configmaps", "-o", "name").stdout.split())
    lost = [name for name in writer.names if "configmap/" + name not in there]
    assert not lost, f"{len(lost)} of {len(writer.names)} acknowledged objects are lost: {lost[:5]}"
    listed = target.gcloud("container", "clusters", "list", "--format", "value(name,status)").stdout.split()
    assert listed == ["c1", "RUNNING"], listed


def stopping_leaves_nothing(target):
    target.run("slipwayctl", "local", "stop")
    await_none_left(target)


def main():
    need_programs("gcloud", "kubectl", "gke-gcloud-auth-plugin")
    with LocalTarget(os.path.abspath(sys.argv[1])) as target:
        target.start("--allow-processes")
        target.need_control_plane()
        begun = time.monotonic()
        for step in (make_things, each_program_alone, the_pods_own, the_daemon_alone, all_at_once,
                     stopping_leaves_nothing):
            try:
                step(target)
            except AssertionError:
                print(target.kubectl("describe", "pods", check=False).stdout)
                raise
            print(f"{step.__name__}: done after {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    run_or_skip(main)

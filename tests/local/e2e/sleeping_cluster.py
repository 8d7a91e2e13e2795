#!/usr/bin/env python3
"""`slipwayctl local start --stop-idle`: a cluster without clients and pods falls asleep, keeps its state and its address,
and is waked by the next client; a pod or an open watch keeps it awake. With the real gcloud and kubectl.
sleeping_cluster.py BIN_DIR      Exit status 77: skipped, with the reason."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from local_target import LocalTarget, need_programs, run_or_skip
from processes_of_target import command_line, processes_of

ZONE = "us-east5-b"
IDLE = 5  # seconds
POD = """
apiVersion: v1
kind: Pod
metadata: {name: work}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: loop, image: busybox, command: [sh, -c, "while :; do sleep 0.2; done"]}]
"""


def cluster(target):
    return target.status()["clusters"][0]


def await_state(target, state):
    target.await_true(f"the cluster is {state}", lambda: cluster(target)["state"] == state)


def waking(target, *words, stdin=None):
    """kubectl, and again where this machine is too busy: kubectl waits 10 s for TLS, the cluster goes on waking."""
    for _ in range(12):
        done = target.kubectl(*words, check=False, stdin=stdin)
        if done.returncode == 0 or "TLS handshake timeout" not in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    return done.stdout


def programs_running(target):
    daemon = target.status()["pid"]
    return [command_line(pid) for pid in processes_of(target.environment["SLIPWAY_LOCAL_DIR"], daemon) if pid != daemon]


def falls_asleep(target):
    target.gcloud("container", "clusters", "create", "c1", "--location", ZONE, "--num-nodes", "1", "--machine-type",
                  "e2-standard-4")
    waking(target, "create", "configmap", "kept", "--from-literal", "a=b")
    await_state(target, "asleep")
    assert cluster(target)["processes"] == [], cluster(target)
    target.await_true("no program of it is left", lambda: not programs_running(target))
    shown = target.run("slipwayctl", "local", "status").stdout
    assert "c1" in shown and "asleep" in shown and f"fall asleep after {IDLE} s" in shown, shown
    nodes = target.gcloud("container", "clusters", "list", "--format", "value(name,status,currentNodeCount)").stdout
    assert nodes.split() == ["c1", "RUNNING", "1"], nodes
    assert cluster(target)["state"] == "asleep", "to look at the list wakes nobody"


def a_client_wakes_it(target):
    before = cluster(target)["endpoint"]
    assert "b" in waking(target, "get", "configmap", "kept", "-o", "jsonpath={.data.a}")
    assert cluster(target)["endpoint"] == before
    await_state(target, "running")
    assert len(waking(target, "get", "nodes", "-o", "name").split()) == 1


def work_keeps_it_awake(target):
    waking(target, "apply", "-f", "-", stdin=POD)
    waking(target, "wait", "--for=condition=Ready", "pod/work", "--timeout", "120s")
    pid = next(p["pid"] for p in cluster(target)["processes"] if p["name"] == "kube-apiserver")
    time.sleep(3 * IDLE)
    assert next(p["pid"] for p in cluster(target)["processes"] if p["name"] == "kube-apiserver") == pid
    watch = subprocess.Popen(["kubectl", "get", "configmaps", "-w", "-o", "name"], env=target.environment,
                             stdout=subprocess.PIPE, text=True)
    assert watch.stdout.readline()
    waking(target, "delete", "pod", "work", "--now")
    time.sleep(3 * IDLE)
    assert cluster(target)["state"] == "running", "a client that watches was cut off"
    watch.terminate()
    watch.wait()
    await_state(target, "asleep")


def google_wakes_it(target):
    target.gcloud("container", "node-pools", "create", "more", "--cluster", "c1", "--location", ZONE, "--num-nodes", "1",
                  "--machine-type", "e2-standard-4")
    assert len(waking(target, "get", "nodes", "-o", "name").split()) == 2
    await_state(target, "asleep")


def it_sleeps_over_a_restart(target):
    before = cluster(target)["endpoint"]
    target.run("slipwayctl", "local", "stop")
    target.start("--allow-processes", "--stop-idle", f"{IDLE}s")
    assert cluster(target)["state"] == "asleep", cluster(target)
    assert cluster(target)["endpoint"] == before
    target.gcloud("container", "clusters", "get-credentials", "c1", "--location", ZONE)
    assert "b" in waking(target, "get", "configmap", "kept", "-o", "jsonpath={.data.a}")


def a_second_start_says_what_is_not_so(target):
    other = target.run("slipwayctl", "local", "start", "--port", "1", "--stop-idle", "1h", check=False)
    assert other.returncode == 1 and "runs already" in other.stderr, other
    assert "its port is" in other.stderr and f"fall asleep after {IDLE} s" in other.stderr, other.stderr
    target.run("slipwayctl", "local", "start")
    logs = target.run("slipwayctl", "-o", "json", "local", "logs", "--list").stdout
    assert "c1/kube-apiserver" in [log["name"] for log in json.loads(logs)], logs
    target.run("slipwayctl", "local", "logs", "c1/kube-apiserver", "-n", "1")
    unit = target.run("slipwayctl", "local", "start", "--stop-idle", "30", check=False)
    assert unit.returncode == 2, unit


def an_unreadable_record_is_shown(target):
    target.run("slipwayctl", "local", "stop")
    clusters = os.path.join(target.environment["SLIPWAY_LOCAL_DIR"], "clusters")
    with open(os.path.join(clusters, os.listdir(clusters)[0], "cluster.json"), "w") as record:
        record.write('{"spec": 1')
    target.start()
    assert cluster(target)["state"] == "unreadable", cluster(target)
    shown = target.run("slipwayctl", "local", "status").stdout
    assert "unreadable" in shown and "cluster.json can't be read" in shown, shown
    target.gcloud("container", "clusters", "delete", "c1", "--location", ZONE)
    assert target.status()["clusters"] == []


def main():
    need_programs("gcloud", "kubectl", "gke-gcloud-auth-plugin")
    with LocalTarget(os.path.abspath(sys.argv[1])) as target:
        target.start("--allow-processes", "--stop-idle", f"{IDLE}s")
        target.need_control_plane()
        begun = time.monotonic()
        for step in (falls_asleep, a_client_wakes_it, work_keeps_it_awake, google_wakes_it, it_sleeps_over_a_restart,
                     a_second_start_says_what_is_not_so, an_unreadable_record_is_shown):
            step(target)
            print(f"{step.__name__}: done after {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    run_or_skip(main)

"""The local target: how long a cluster takes, what it costs at idle, and how fast simulated pods come to Running."""

import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "local", "e2e"))
from local_kwok import AgentBeforeKwok  # noqa: E402
from local_processes import memory_by_program, memory_line  # noqa: E402
from local_target import LocalTarget, need_programs  # noqa: E402

ZONE = "us-east5-b"
SETUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "packaging", "setup")
IDLE_SECONDS = 20  # caches fill and garbage collectors run; then it is what it stays at


def stateful_set(name, count):
    return json.dumps({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name},
        "spec": {"replicas": count, "podManagementPolicy": "Parallel", "serviceName": name,
                 "selector": {"matchLabels": {"app": name}},
                 "template": {"metadata": {"labels": {"app": name},
                                           "annotations": {"slipway.dev/runtime": "simulated"}},
                              "spec": {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1,
                                       "containers": [{"name": "c", "image": "anything",
                                                       "resources": {"requests": {"cpu": "1m"}}}]}}}})


def ray_cluster(hosts):
    """One slice of so many hosts, as KubeRay sees it; nothing runs in its pods."""
    def template(name):
        return {"metadata": {"annotations": {"slipway.dev/runtime": "simulated"}},
                "spec": {"automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1,
                         "containers": [{"name": name, "image": "rayproject/ray:2.52.0",
                                         "resources": {"requests": {"cpu": "10m"}}}]}}

    return json.dumps({
        "apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "slice"},
        "spec": {"rayVersion": "2.52.0",
                 "headGroupSpec": {"rayStartParams": {}, "template": template("ray-head")},
                 "workerGroupSpecs": [{"groupName": "hosts", "replicas": 1, "minReplicas": 1, "maxReplicas": 1,
                                       "numOfHosts": hosts, "rayStartParams": {},
                                       "template": template("ray-worker")}]}})


class LocalBench:
    reference = None
    reference_name = None
    higher_is_better = False

    def __init__(self, options, limit, measure):
        self.options, self.limit, self.measure = options, limit, measure
        self.lines = []

    def __enter__(self):
        need_programs("gcloud", "kubectl", "gke-gcloud-auth-plugin")
        self.target = LocalTarget(os.path.abspath(self.options.build_bin))
        self.target.start()
        self.target.need_control_plane()
        self.count = 0
        return self

    def __exit__(self, *failure):
        self.target.__exit__(*failure)

    def create(self, *options):
        """A cluster of its own for each run; seconds until gcloud says that it is RUNNING."""
        self.count += 1
        begun = time.monotonic()
        self.target.gcloud("container", "clusters", "create", f"bench{self.count}", "--location", ZONE, *options)
        return time.monotonic() - begun

    def delete(self):
        self.target.gcloud("container", "clusters", "delete", f"bench{self.count}", "--location", ZONE)

    def start_seconds(self):
        seconds = self.create("--num-nodes", "1")
        self.delete()
        return seconds

    def idle_mb(self):
        self.create("--num-nodes", "1", "--addons", "RayOperator,HttpLoadBalancing,HorizontalPodAutoscaling")
        time.sleep(IDLE_SECONDS)
        memory = sum(memory_by_program(self.target.status()["pid"]).values())
        self.note_memory()
        self.delete()
        return memory

    def pods_seconds(self, count, nodes):
        """From apply until all are Running."""
        self.create("--num-nodes", str(nodes), "--machine-type", "n2-standard-64")
        begun = time.monotonic()
        self.target.kubectl("apply", "-f", "-", stdin=stateful_set("many", count))
        self.await_ready("many", count)
        seconds = time.monotonic() - begun
        self.note_memory()
        self.delete()
        return seconds

    def ray_seconds(self, hosts, nodes):
        """From apply of a RayCluster until its head and all workers run, made one by one by the real KubeRay."""
        self.create("--num-nodes", str(nodes), "--machine-type", "n2-standard-64", "--addons",
                    "RayOperator,HttpLoadBalancing,HorizontalPodAutoscaling")
        self.target.await_true("RayClusters are served", lambda: self.target.kubectl("get", "rayclusters"))
        begun = time.monotonic()
        self.target.kubectl("apply", "-f", "-", stdin=ray_cluster(hosts))

        self.target.kubectl("wait", "raycluster/slice", "--for=condition=RayClusterProvisioned", "--timeout=20m",
                            timeout=1300)
        seconds = time.monotonic() - begun
        phases = self.target.kubectl("get", "pods", "-l", "ray.io/cluster=slice", "-o",
                                     "jsonpath={.items[*].status.phase}").stdout.split()
        if phases != ["Running"] * (hosts + 1):
            raise AssertionError(f"{hosts} hosts and a head were to run, but: {sorted(phases)}")
        self.note_memory()
        self.delete()
        return seconds

    stateful_set = staticmethod(stateful_set)

    def await_ready(self, name, count):
        # One kubectl that watches: polling would cost more than what is measured.
        self.target.kubectl("rollout", "status", f"statefulset/{name}", "--timeout=20m", timeout=1300)
        status = json.loads(self.target.kubectl("get", "statefulset", name, "-o", "json").stdout)["status"]
        if status.get("readyReplicas") != count:
            raise AssertionError(f"{count} pods of {name} were to be Ready, but: {status}")

    def note_memory(self):
        """What each process has now; the last run's is printed."""
        self.lines = [memory_line("{name}", self.target.status()["pid"])]

    def more(self, name):
        return [line.replace("{name}", name) for line in self.lines]

    def ours(self):
        return self.measure(self)


def agent_and_kwok(options):
    programs = os.environ.get("SLIPWAY_CONTROLPLANE_DIR") or subprocess.run(
        [os.path.join(SETUP, "controlplane.sh"), "--where"], capture_output=True, text=True, check=True).stdout.strip()
    return AgentBeforeKwok(LocalBench(options, None, None), os.path.join(programs, "kwok"))


BENCHES = {
    # From `gcloud container clusters create` to RUNNING, operation times compressed.
    "local.start": lambda options: LocalBench(options, 20, LocalBench.start_seconds),
    # slipwayd and everything below it, one cluster with KubeRay, idle.
    "local.memory_mb": lambda options: LocalBench(options, 600, LocalBench.idle_mb),
    # The limits are what was seen with the real kubelet's stand-in kwok on such a machine, under load.
    "local.pods256": lambda options: LocalBench(options, 49, lambda bench: bench.pods_seconds(256, 3)),
    "local.pods2304": lambda options: LocalBench(options, 640, lambda bench: bench.pods_seconds(2304, 22)),
    "local.ray256": lambda options: LocalBench(options, 105, lambda bench: bench.ray_seconds(256, 3)),
    # CPU milliseconds per pod; ours costs at most half, so a ratio of 2 and above is good. See local_kwok.py.
    "local.agent_vs_kwok": agent_and_kwok,
}

"""The local target: how long a cluster takes, what it costs at idle, and how fast simulated pods come to Running."""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "local", "e2e"))
from local_target import LocalTarget, need_programs  # noqa: E402

ZONE = "us-east5-b"
IDLE_SECONDS = 20  # caches fill and garbage collectors run; then it is what it stays at


def resident_mb(root_pid):
    """Resident memory of a process and all its descendants."""
    parents, sizes = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/statm") as statm:
                parents[int(pid)] = int(stat.read().rpartition(")")[2].split()[1])
                sizes[int(pid)] = int(statm.read().split()[1])
        except OSError:
            continue

    def is_below(pid):
        while pid in parents:
            if pid == root_pid:
                return True
            pid = parents[pid]
        return False

    return sum(pages for pid, pages in sizes.items() if is_below(pid)) * os.sysconf("SC_PAGESIZE") / 2**20


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


class LocalBench:
    reference = None
    reference_name = None
    higher_is_better = False

    def __init__(self, options, limit, measure):
        self.options, self.limit, self.measure = options, limit, measure

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
        memory = resident_mb(self.target.status()["pid"])
        self.delete()
        return memory

    def pods_seconds(self, count, nodes):
        """From apply until all are Running."""
        self.create("--num-nodes", str(nodes), "--machine-type", "n2-standard-64")
        begun = time.monotonic()
        self.target.kubectl("apply", "-f", "-", stdin=stateful_set("many", count))

        def all_run():
            status = json.loads(self.target.kubectl("get", "statefulset", "many", "-o", "json").stdout)["status"]
            return status.get("readyReplicas", 0) == count

        self.target.await_true(f"{count} pods are Ready", all_run, 1200)
        seconds = time.monotonic() - begun
        self.delete()
        return seconds

    def ours(self):
        return self.measure(self)


BENCHES = {
    # From `gcloud container clusters create` to RUNNING, operation times compressed.
    "local.start": lambda options: LocalBench(options, 20, LocalBench.start_seconds),
    # slipwayd and everything below it, one cluster with KubeRay, idle.
    "local.memory_mb": lambda options: LocalBench(options, 600, LocalBench.idle_mb),
    # The limits are what was seen with the real kubelet's stand-in kwok on such a machine, under load.
    "local.pods256": lambda options: LocalBench(options, 49, lambda bench: bench.pods_seconds(256, 3)),
    "local.pods2304": lambda options: LocalBench(options, 640, lambda bench: bench.pods_seconds(2304, 22)),
}

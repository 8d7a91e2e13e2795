"""Our node agent beside kwok, the simulated kubelet that others use, on one control plane.

Both play nodes of one cluster at the same time: ours those of a node pool, kwok those that are labelled
slipway.dev/agent=none, which our agent leaves alone. In turns (ours, kwok, kwok, ours, ...) a StatefulSet of
256 simulated pods is applied to the nodes of one of them, held for a while when all are Running, and deleted.

CPU is what the process has used from apply until the last pod is gone, less what it uses idle in as much time
(measured before the first turn); per pod. kwok is a process of its own. Our agent lives in slipwayd beside the
node pools, Google's APIs and the service tables: all of slipwayd counts, so ours is rather shown too dear. Both
hear of the other's pods while those come and go, and neither is charged for it, since only the one whose turn
it is is read. kwok runs its own fast stages: one status per pod, no delays.

Memory is what the process has grown by since before the first pod, at the moment when all 256 run; per pod. The
median of the turns: neither gives memory back at once.
"""

import glob
import json
import os
import statistics
import subprocess
import time

from local_processes import cpu_seconds, memory_by_program, resident_mb

PODS = 256
HOLD_SECONDS = 10
IDLE_SECONDS = 20
PODS_PER_NODE = 110
NODES = -(-PODS // PODS_PER_NODE)  # of each
OTHERS_LABEL = "slipway.dev/agent"

CONFIGURATION = """
apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  cidr: 10.60.0.1/16
  nodeIP: 10.200.0.1
  manageAllNodes: false
  manageNodesWithLabelSelector: slipway.dev/agent=none
  nodeLeaseDurationSeconds: 40
  nodeLeaseParallelism: 4
  nodePlayStageParallelism: 4
  podPlayStageParallelism: 4
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: node-ready
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
    - {key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: NotIn, values: ["True"]}
  next:
    statusTemplate: |
      {{ $now := Now }}
      conditions:
      {{ range NodeConditions }}
      - type: {{ .type | Quote }}
        status: {{ .status | Quote }}
        reason: {{ .reason | Quote }}
        message: {{ .message | Quote }}
        lastHeartbeatTime: {{ $now | Quote }}
        lastTransitionTime: {{ $now | Quote }}
      {{ end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-ready
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: In, values: [Pending]}
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Running
      startTime: {{ $now | Quote }}
      podIP: {{ PodIPWith .spec.nodeName false .metadata.uid .metadata.name .metadata.namespace | Quote }}
      conditions:
      {{ range $type := list "Initialized" "Ready" "ContainersReady" }}
      - type: {{ $type }}
        status: "True"
        lastTransitionTime: {{ $now | Quote }}
      {{ end }}
      containerStatuses:
      {{ range .spec.containers }}
      - name: {{ .name | Quote }}
        image: {{ .image | Quote }}
        ready: true
        restartCount: 0
        state: {running: {startedAt: {{ $now | Quote }}}}
      {{ end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-delete
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
  next:
    delete: true
"""


def kwok_node(number):
    name = f"kwok-{number}"
    size = {"cpu": "64", "memory": "256Gi", "pods": str(PODS_PER_NODE)}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {OTHERS_LABEL: "none", "kubernetes.io/hostname": name}},
            "spec": {"taints": [{"key": OTHERS_LABEL, "value": "none", "effect": "NoSchedule"}]},
            "status": {"capacity": size, "allocatable": size}}


def direct_kubeconfig(target):
    """Of the API server itself: what goes by the cluster's own port would pass through slipwayd and be charged to it."""
    found = glob.glob(os.path.join(target.environment["SLIPWAY_LOCAL_DIR"], "**", "ray-operator.kubeconfig"), recursive=True)
    if len(found) != 1:
        raise AssertionError(f"one cluster was to have a kubeconfig of its API server, but: {found}")
    return found[0]


class Side:
    """One of the two players: its process, and what it has cost so far."""

    def __init__(self, name, pid):
        self.name, self.pid = name, pid
        self.first_mb = resident_mb(pid)
        begin = cpu_seconds(pid)
        self.begun, self.begun_cpu = time.monotonic(), begin
        self.idle_share = 0
        self.kb_per_pod = []

    def end_idle(self):
        self.idle_share = (cpu_seconds(self.pid) - self.begun_cpu) / (time.monotonic() - self.begun)


class AgentBeforeKwok:
    """CPU milliseconds per pod."""

    limit = None
    reference_name = "kwok"
    higher_is_better = False

    def __init__(self, local_bench, kwok):
        self.bench, self.kwok_program = local_bench, kwok
        self.kwok = None
        self.memory = {}  # by program, while all pods of the last turn ran

    def __enter__(self):
        if not os.path.exists(self.kwok_program):
            raise AssertionError(f"no kwok at {self.kwok_program}: packaging/setup/controlplane.sh reference builds it")
        self.bench.__enter__()
        try:
            self.prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure):
        if self.kwok and self.kwok.poll() is None:
            self.kwok.terminate()
            self.kwok.wait()
        self.bench.__exit__(*failure)

    def prepare(self):
        target = self.bench.target
        self.bench.create("--num-nodes", str(NODES), "--machine-type", "n2-standard-64")
        configuration = os.path.join(target.root, "kwok.yaml")
        with open(configuration, "w") as file:
            file.write(CONFIGURATION)
        with open(os.path.join(target.root, "kwok.log"), "w") as log:
            self.kwok = subprocess.Popen(
                [self.kwok_program, "--kubeconfig", direct_kubeconfig(target), "--config", configuration, "--server-address", ""],
                env=target.environment, stdout=log, stderr=subprocess.STDOUT)
        nodes = {"apiVersion": "v1", "kind": "List", "items": [kwok_node(n) for n in range(NODES)]}
        target.kubectl("create", "-f", "-", stdin=json.dumps(nodes))
        target.kubectl("wait", "node", "--all", "--for=condition=Ready", "--timeout=120s")
        self.sides = {"ours": Side("ours", target.status()["pid"]), "kwok": Side("kwok", self.kwok.pid)}
        time.sleep(IDLE_SECONDS)
        for side in self.sides.values():
            side.end_idle()

    def pods_of(self, side):
        """A StatefulSet for the nodes of one player."""
        pods = json.loads(self.bench.stateful_set(side, PODS))
        spec = pods["spec"]["template"]["spec"]
        if side == "kwok":
            spec["nodeSelector"] = {OTHERS_LABEL: "none"}
            spec["tolerations"] = [{"key": OTHERS_LABEL, "operator": "Exists"}]
        else:
            spec["nodeSelector"] = {"cloud.google.com/gke-nodepool": "default-pool"}
        return json.dumps(pods)

    def turn(self, name):
        side, target = self.sides[name], self.bench.target
        if self.kwok.poll() is not None:
            with open(os.path.join(target.root, "kwok.log")) as log:
                raise AssertionError("kwok ended: " + log.read()[-500:])
        begun, cpu = time.monotonic(), cpu_seconds(side.pid)
        target.kubectl("apply", "-f", "-", stdin=self.pods_of(name))
        self.bench.await_ready(name, PODS)
        time.sleep(HOLD_SECONDS)
        side.kb_per_pod.append((resident_mb(side.pid) - side.first_mb) * 1024 / PODS)
        self.memory = {**memory_by_program(self.sides["ours"].pid), "kwok": resident_mb(self.kwok.pid)}
        target.kubectl("delete", "statefulset", name, "--cascade=foreground", "--timeout=300s")
        target.kubectl("wait", "pod", "--selector", f"app={name}", "--for=delete", "--timeout=300s")
        used = cpu_seconds(side.pid) - cpu - side.idle_share * (time.monotonic() - begun)
        return max(used, 0.001) * 1000 / PODS

    def ours(self):
        return self.turn("ours")

    def reference(self):
        return self.turn("kwok")

    def more(self, name):
        """Lines beside the one of CPU time."""
        ours, kwok = (statistics.median(self.sides[side].kb_per_pod) for side in ("ours", "kwok"))
        parts = sorted(self.memory.items(), key=lambda part: -part[1])
        return [f"{name}.kb_per_pod ours={ours:.4g} kwok={kwok:.4g} ratio={kwok / max(ours, 0.001):.2f}",
                f"{name}.memory_mb " + " ".join(f"{program}={size:.0f}" for program, size in parts)]

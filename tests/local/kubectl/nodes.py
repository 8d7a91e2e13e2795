"""Nodes: what they look like, what they use, and how they are emptied."""
import re

from session import has, lacks, pod, same

DAEMONS = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere}
spec:
  selector: {matchLabels: {app: everywhere}}
  template:
    metadata: {labels: {app: everywhere}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {"slipway.test/for": OWNER}
      tolerations: [{key: slipway.test/for, operator: Exists}]
      containers: [{name: main, image: busybox, command: [sleep, "10000"]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: needed}
spec:
  minAvailable: 1
  selector: {matchLabels: {app: needed}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: needed}
spec:
  replicas: 1
  selector: {matchLabels: {app: needed}}
  template:
    metadata: {labels: {app: needed}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {"slipway.test/for": OWNER}
      tolerations: [{key: slipway.test/for, operator: Exists}]
      containers: [{name: main, image: busybox, command: [sleep, "10000"]}]
"""


def tpu_node(k):
    name = k.text("get", "nodes", "-l", "cloud.google.com/gke-nodepool=tpu", "-o", "name").strip()
    same(len(name.split()), 1)
    text = k.text("describe", name)
    allocatable = text[text.index("\nAllocatable:"):text.index("\nSystem Info:")]
    assert re.search(r"^ +google\.com/tpu: +4$", allocatable, re.M), allocatable
    assert re.search(r"^ +cpu: +179\d\d\dm$", allocatable, re.M), allocatable
    has(text, "cloud.google.com/gke-tpu-accelerator=tpu-v6e-slice", "cloud.google.com/gke-tpu-topology=2x2",
        "Taints:             google.com/tpu=present:NoSchedule", "KubeletReady", "kubelet is posting ready status",
        "node.kubernetes.io/instance-type=ct6e-standard-4t", "RenewTime:")
    row = k.text("get", name, "--no-headers", "-o", "wide")
    assert re.search(r" Ready +<none> +\S+ +v1\.\d+\.\d+-gke\.\d+ +10\.\d+\.\d+\.\d+ ", row), row
    # Whoever does not tolerate the taint stays away, with the scheduler's words.
    k.apply(pod("no-tpu", "true", more='nodeSelector: {cloud.google.com/gke-tpu-topology: "2x2"}'))
    reason = k.await_value("pod/no-tpu", ".status.conditions[?(@.type=='PodScheduled')].message", lambda seen: seen)
    has(reason, "node(s) had untolerated taint")
    k.text("delete", "pod", "no-tpu")


def top(k):
    nodes = k.text("top", "nodes").splitlines()
    assert re.match(r"NAME +CPU\(cores\) +CPU(%|\(%\)) +MEMORY\(bytes\) +MEMORY(%|\(%\))", nodes[0]), nodes[0]
    same(len(nodes), 1 + len(k.text("get", "nodes", "-o", "name").split()))
    k.apply(pod("busy", "exec python3 -c 'x = bytearray(64 << 20)\nwhile True: pass'", "app: busy"))

    def used(row):
        found = re.search(r"busy +main +(\d+)m +(\d+)Mi", row)
        return found and int(found.group(1)) > 20 and 64 <= int(found.group(2)) < 200

    end = 0
    row = ""
    while not used(row):
        row = k.run("top", "pods", "busy", "--containers", check=False).stdout
        end += 1
        assert end < 300, row
    has(k.text("top", "pods", "-l", "app=busy"), "busy")
    k.text("delete", "pod", "busy")


def drained(k):
    k.apply(DAEMONS.replace("OWNER", k.namespace))
    k.text("rollout", "status", "deployment/needed", "--timeout=120s")
    k.text("rollout", "status", "daemonset/everywhere", "--timeout=120s")
    same(sorted(item["spec"]["nodeName"] for item in k.json("get", "pods", "-l", "app=everywhere")["items"]),
         sorted(k.nodes))
    node = k.get(k.text("get", "pods", "-l", "app=needed", "-o", "name").strip(), ".spec.nodeName")
    other = next(name for name in k.nodes if name != node)
    has(k.text("cordon", node), "cordoned")
    assert re.search(r" Ready,SchedulingDisabled ", k.text("get", "node", node))
    k.apply(pod("lonely", "exec sleep 10000", more=f"""nodeSelector: {{kubernetes.io/hostname: {node}}}
  tolerations: [{{key: slipway.test/for, operator: Exists}}]"""))
    reason = k.await_value("pod/lonely", ".status.conditions[?(@.type=='PodScheduled')].message", lambda seen: seen)
    has(reason, "node(s) were unschedulable")
    refused = k.run("drain", node, "--timeout=10s", check=False)
    same(refused.returncode, 1)
    has(refused.stderr, "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore)", "everywhere-")
    blocked = k.run("drain", node, "--ignore-daemonsets", "--timeout=8s", check=False)
    same(blocked.returncode, 1)
    has(blocked.stderr, "Cannot evict pod as it would violate the pod's disruption budget.")
    same(k.get("deployment/needed", ".status.readyReplicas"), "1")
    # A second one elsewhere may take its place: now the budget allows it.
    k.text("scale", "deployment", "needed", "--replicas=2")
    k.await_value("deployment/needed", ".status.readyReplicas", "2")
    with k.behind("drain", node, "--ignore-daemonsets", "--timeout=120s") as drain:
        said = drain.stdout.read()
        same(drain.wait(), 0, said)
    has(said, "evicted", f"node/{node} drained", "ignoring DaemonSet-managed Pods")
    left = [item["metadata"]["labels"]["app"] for item in k.json("get", "pods")["items"]
            if item["spec"].get("nodeName") == node and "app" in item["metadata"].get("labels", {})
            and "deletionTimestamp" not in item["metadata"]]
    same(left, ["everywhere"])
    k.await_value("deployment/needed", ".status.readyReplicas", "2")
    same({item["spec"]["nodeName"] for item in k.json("get", "pods", "-l", "app=needed")["items"]
          if "deletionTimestamp" not in item["metadata"]}, {other})
    has(k.text("uncordon", node), "uncordoned")
    k.text("wait", "pod/lonely", "--for=condition=Ready", "--timeout=120s")
    lacks(k.text("get", "node", node), "SchedulingDisabled")
    k.text("delete", "deployment/needed", "daemonset/everywhere", "pod/lonely", "pdb/needed")

"""Every form in which kubectl shows objects, and what it says about their types."""
import json
import re
import time

from session import has, lacks, pod, same


def outputs(k):
    k.apply(pod("look", "exec sleep 10000", "app: look, tier: front"))
    k.text("wait", "pod/look", "--for=condition=Ready", "--timeout", "120s")
    whole = k.json("get", "pod", "look")
    address, node = whole["status"]["podIP"], whole["spec"]["nodeName"]
    assert re.fullmatch(r"10\.\d+\.\d+\.\d+", address), address
    row = k.text("get", "pod", "look").splitlines()
    assert re.fullmatch(r"NAME +READY +STATUS +RESTARTS +AGE", row[0]), row
    assert re.fullmatch(r"look +1/1 +Running +0 +\S+", row[1]), row
    wide = k.text("get", "pod", "look", "-o", "wide").splitlines()
    has(wide[0], "IP", "NODE", "NOMINATED NODE", "READINESS GATES")
    has(wide[1], address, node)
    same(k.text("get", "pod", "look", "-o", "name"), "pod/look\n")
    same(k.text("get", "pods", "-l", "app=look", "-o", "jsonpath={range .items[*]}{.metadata.name}={.status.podIP};{end}"),
         f"look={address};")
    custom = k.text("get", "pod", "look", "-o", "custom-columns=POD:.metadata.name,IMAGE:.spec.containers[*].image")
    same([line.split() for line in custom.splitlines()], [["POD", "IMAGE"], ["look", "busybox"]])
    template = "{{.metadata.name}} {{range .spec.containers}}{{.name}}{{end}} {{len .metadata.labels}}"
    same(k.text("get", "pod", "look", "-o", "go-template=" + template), "look main 2")
    yaml = k.text("get", "pod", "look", "-o", "yaml")
    has(yaml, "\nkind: Pod\n", f"podIP: {address}\n", f"  uid: {whole['metadata']['uid']}\n")
    lacks(yaml, "managedFields")
    has(k.text("get", "pod", "look", "-o", "yaml", "--show-managed-fields"), "managedFields")
    has(k.text("get", "pod", "look", "--show-labels"), "app=look,tier=front")
    labels = k.text("get", "pod", "look", "-L", "tier").splitlines()
    assert labels[0].endswith("TIER") and labels[1].endswith("front"), labels
    same(json.loads(k.text("get", "--raw", f"/api/v1/namespaces/{k.namespace}/pods/look"))["status"]["podIP"], address)


def selections(k):
    for name, tier in (("pick-b", "front"), ("pick-c", "back"), ("pick-a", "back")):
        k.text("create", "configmap", name)
        time.sleep(1.1)  # creation times are whole seconds, and the first is to be older
        k.text("label", "configmap", name, f"tier={tier}", "pick=yes")

    def names(*words):
        return k.text("get", "configmaps", "-l", "pick", *words, "-o", "name").replace("configmap/", "").split()

    same(sorted(names()), ["pick-a", "pick-b", "pick-c"])
    same(sorted(k.text("get", "configmaps", "-l", "pick,tier!=front", "-o", "name").split()),
         ["configmap/pick-a", "configmap/pick-c"])
    same(k.text("get", "configmaps", "-l", "tier in (front)", "-o", "name"), "configmap/pick-b\n")
    same(names("--sort-by=.metadata.name"), ["pick-a", "pick-b", "pick-c"])
    same(names("--sort-by=.metadata.creationTimestamp")[0], "pick-b")
    same(names("--field-selector", "metadata.name=pick-c"), ["pick-c"])
    same(names("--chunk-size=1"), ["pick-a", "pick-b", "pick-c"])
    running = k.text("get", "pods", "--field-selector", "status.phase=Running,metadata.name=look", "-o", "name")
    same(running, "pod/look\n")
    node = k.get("pod/look", ".spec.nodeName")
    has(k.text("get", "pods", "--field-selector", f"spec.nodeName={node}"), "look")
    has(k.refused("get", "pods", "--field-selector", "spec.hostname=x"), "field label not supported: spec.hostname")
    has(k.text("get", "pods", "-A"), "NAMESPACE", k.namespace)
    done = k.run("get", "pods", "-l", "app=nobody")
    same((done.returncode, done.stdout, done.stderr), (0, "", f"No resources found in {k.namespace} namespace.\n"))
    has(k.refused("get", "nonsense"), 'the server doesn\'t have a resource type "nonsense"')


def watching(k):
    with k.behind("get", "configmaps", "-l", "watch=me", "-w", "-o", "name") as watch, \
            k.behind("get", "configmaps", "-l", "watch=me", "-w", "--output-watch-events", "--no-headers") as events:
        k.text("create", "configmap", "seen")
        k.text("label", "configmap", "seen", "watch=me")
        same(watch.stdout.readline(), "configmap/seen\n")
        assert re.match(r"ADDED +seen +0 ", events.stdout.readline())
        k.text("patch", "configmap", "seen", "-p", '{"data":{"a":"b"}}')
        same(watch.stdout.readline(), "configmap/seen\n")
        assert re.match(r"MODIFIED +seen +1 ", events.stdout.readline())
        k.text("delete", "configmap", "seen")
        assert re.match(r"DELETED +seen +1 ", events.stdout.readline())


def explained(k):
    text = k.text("explain", "pod.spec.containers.image")
    has(text, "VERSION:", "v1", "Container image name")
    assert re.search(r"FIELD: +image", text) and "string" in text, text
    has(k.text("explain", "deployment", "--recursive"), "rollingUpdate", "maxUnavailable")
    has(k.text("explain", "resourceclaims.spec.devices"), "requests", "constraints")
    has(k.refused("explain", "pod.spec.nonsense"), 'field "nonsense" does not exist')
    resources = k.text("api-resources", "--no-headers")
    for kind in ("Pod", "Deployment", "ResourceClaim", "NodeMetrics", "PodDisruptionBudget"):
        assert re.search(rf"\b{kind}$", resources, re.M), kind
    has(k.text("api-versions"), "apps/v1\n", "metrics.k8s.io/v1beta1\n")


def access(k):
    same(k.text("auth", "can-i", "create", "pods").strip(), "yes")
    same(k.run("auth", "can-i", "get", "pods", "--as", "jane", check=False).stdout.strip(), "no")
    k.text("create", "serviceaccount", "reader")
    k.text("create", "role", "reads", "--verb=get,list", "--resource=pods")
    k.text("create", "rolebinding", "reads", "--role=reads", f"--serviceaccount={k.namespace}:reader")
    who = f"--as=system:serviceaccount:{k.namespace}:reader"
    same(k.text("auth", "can-i", "list", "pods", who).strip(), "yes")
    done = k.run("auth", "can-i", "delete", "pods", who, check=False)
    same((done.returncode, done.stdout.strip()), (1, "no"))
    has(k.text("auth", "can-i", "--list", who), "pods", "[get list]")
    has(k.refused("delete", "pod", "look", who), "Error from server (Forbidden)",
        f'User "system:serviceaccount:{k.namespace}:reader" cannot delete resource "pods" in API group ""')
    token = k.text("create", "token", "reader").strip()
    same(k.text("get", "pod", "look", "-o", "name", "--token", token), "pod/look\n")
    has(k.refused("delete", "pod", "look", "--token", token), "Error from server (Forbidden)")
    has(k.refused("get", "pods", "--token", "wrong"), "You must be logged in to the server (Unauthorized)")
    if k.minor >= 28:
        has(k.text("auth", "whoami", "--token", token), f"system:serviceaccount:{k.namespace}:reader",
            "system:authenticated")

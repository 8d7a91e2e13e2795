"""Objects come, change, conflict and go."""
import json
import shutil

from session import has, lacks, same

MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}{more}}}
data: {{{data}}}
"""


def config(name, data, more=""):
    return MAP.format(name=name, data=data, more=more)


def create(k):
    has(k.text("create", "configmap", "made", "--from-literal=a=1"), "configmap/made created")
    same(k.get("configmap/made", ".data.a"), "1")
    has(k.refused("create", "configmap", "made"),
        'error: failed to create configmap: configmaps "made" already exists')
    has(k.refused("create", "-f", "-", stdin=config("made", "a: b")), "Error from server (AlreadyExists)")
    k.text("create", "secret", "generic", "hidden", "--from-literal=word=s e c r e t")
    same(k.get("secret/hidden", ".data.word"), "cyBlIGMgciBlIHQ=")
    dry = k.text("create", "deployment", "dry", "--image=busybox", "--replicas=2", "--dry-run=client", "-o", "json")
    same(json.loads(dry)["spec"]["replicas"], 2)
    has(k.refused("get", "deployment", "dry"), 'Error from server (NotFound): deployments.apps "dry" not found')
    has(k.refused("create", "-f", "-", stdin=config("Bad_Name", "a: b")), "a lowercase RFC 1123 subdomain")
    has(k.refused("create", "-f", "-", stdin=config("wrong", "a: b").replace("data:", "dota:")),
        'strict decoding error: unknown field "dota"')


def apply_client_side(k):
    has(k.apply(config("plain", "a: one, b: two")), "configmap/plain created")
    has(k.apply(config("plain", "a: one, b: two")), "configmap/plain unchanged")
    k.text("patch", "configmap", "plain", "-p", '{"data":{"other":"not applied"}}')
    has(k.apply(config("plain", "a: three")), "configmap/plain configured")
    same(k.json("get", "configmap", "plain")["data"], {"a": "three", "other": "not applied"})
    has(k.apply(config("plain", "a: four"), "--dry-run=server"), "configmap/plain configured (server dry run)")
    same(k.get("configmap/plain", ".data.a"), "three")
    if shutil.which("diff"):
        done = k.run("diff", "-f", "-", stdin=config("plain", "a: five"), check=False)
        same(done.returncode, 1)
        has(done.stdout, "-  a: three", "+  a: five")
    stale = k.json("get", "configmap", "plain")
    k.text("label", "configmap", "plain", "step=1")
    has(k.refused("replace", "-f", "-", stdin=json.dumps(stale)), "Error from server (Conflict)",
        "the object has been modified; please apply your changes to the latest version and try again")
    has(k.refused("label", "configmap", "plain", "step=2"), "'step' already has a value (1), and --overwrite is false")
    k.text("annotate", "configmap", "plain", "note=kept")
    k.text("label", "configmap", "plain", "step-")
    metadata = k.json("get", "configmap", "plain")["metadata"]
    same(metadata["annotations"]["note"], "kept")
    lacks(str(metadata.get("labels")), "step")


def apply_server_side(k):
    def apply(by, data, *more):
        return k.run("apply", "--server-side", "--field-manager", by, *more, "-f", "-", stdin=config("shared", data),
                     check=False)

    has(apply("anna", "a: one, b: two").stdout, "configmap/shared serverside-applied")
    same(apply("bert", "c: three").returncode, 0)  # another field: no conflict
    refused = apply("bert", "a: mine")
    same(refused.returncode, 1)
    has(refused.stderr, 'Apply failed with 1 conflict: conflict with "anna": .data.a',
        "Please review the fields above", "--force-conflicts")
    same(k.get("configmap/shared", ".data.a"), "one")
    same(apply("bert", "a: mine", "--force-conflicts").returncode, 0)
    owners = {entry["manager"]: entry["fieldsV1"]["f:data"]
              for entry in k.json("get", "configmap", "shared", "--show-managed-fields")["metadata"]["managedFields"]}
    same({name: sorted(key for key in fields if key != ".") for name, fields in owners.items()},
         {"anna": ["f:b"], "bert": ["f:a"]})
    # What bert no longer names is gone, what anna owns stays.
    same(k.json("get", "configmap", "shared")["data"], {"a": "mine", "b": "two"})
    # kubectl's own two ways on one object: the server side takes over what the client side made.
    k.apply(config("moved", "a: one"))
    has(k.apply(config("moved", "a: two"), "--server-side"), "configmap/moved serverside-applied")
    same(k.get("configmap/moved", ".data.a"), "two")


def delete_with_cascade(k):
    deployment = """
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{{name: main, image: busybox, command: [sleep, "10000"]}}]
---"""
    for name in ("back", "fore", "left"):
        k.apply(deployment.format(name=name))
    for name in ("back", "fore", "left"):
        k.text("rollout", "status", f"deployment/{name}", "--timeout", "120s")
    pods = {name: k.text("get", "pods", "-l", f"app={name}", "-o", "name").strip() for name in ("back", "fore", "left")}
    has(k.text("delete", "deployment", "back"), 'deployment.apps "back" deleted')
    k.await_gone(pods["back"])
    k.text("delete", "deployment", "fore", "--cascade=foreground", "--timeout", "120s")
    # In the foreground the owner goes last: what it owned is gone by now.
    same(k.text("get", "replicasets,pods", "-l", "app=fore", "-o", "name"), "")
    k.text("delete", "deployment", "left", "--cascade=orphan")
    left = k.json("get", "replicasets", "-l", "app=left")["items"][0]
    lacks(str(left["metadata"].get("ownerReferences")), "Deployment")
    same(k.get(pods["left"], ".status.phase"), "Running")
    k.text("delete", "replicaset", left["metadata"]["name"])
    k.await_gone(pods["left"])
    has(k.refused("delete", "configmap", "never-there"), 'configmaps "never-there" not found')
    same(k.text("delete", "configmap", "never-there", "--ignore-not-found"), "")


def wait_for_things(k):
    k.apply(config("awaited", "state: new"))
    with k.behind("wait", "configmap/awaited", "--for=jsonpath={.data.state}=old", "--timeout=120s") as waiting:
        k.text("patch", "configmap", "awaited", "-p", '{"data":{"state":"old"}}')
        has(waiting.stdout.readline(), "configmap/awaited condition met")
        same(waiting.wait(60), 0)
    has(k.refused("wait", "configmap/awaited", "--for=jsonpath={.data.state}=never", "--timeout=1s"),
        "timed out waiting for the condition on configmaps/awaited")
    with k.behind("wait", "configmap/awaited", "--for=delete", "--timeout=120s") as waiting:
        k.text("delete", "configmap", "awaited")
        same(waiting.wait(60), 0)

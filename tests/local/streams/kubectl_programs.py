"""What the tests with the real kubectl share: the programs, the objects they look at, and how they are run."""
import glob
import http.client
import json
import os
import shutil
import ssl
import subprocess

import stand_run as here

kubectls = []


def versions():
    """Programs called kubectl.1.27 and so on, beside the one of the path or where that leads to."""
    plain = shutil.which("kubectl")
    if not plain:
        return []
    folders = {os.path.dirname(plain), os.path.dirname(os.path.realpath(plain))}
    gcloud = shutil.which("gcloud")
    if gcloud:
        folders |= {os.path.dirname(gcloud), os.path.dirname(os.path.realpath(gcloud))}
    found = sorted((path for folder in folders for path in glob.glob(os.path.join(folder, "kubectl.1.*"))),
                   key=lambda path: int(path.rsplit(".", 1)[1]))
    return [found[0], found[-1]] if len(found) > 1 else [plain]


def find():
    """Fills `kubectls`; ends the program with 77 where there is none."""
    kubectls.extend(versions())
    if not kubectls:
        print("skipped: no kubectl on the path")
        raise SystemExit(77)
    print("kubectl:", ", ".join(kubectls), flush=True)


def use_kubeconfig(folder):
    os.environ["KUBECONFIG"] = os.path.join(folder, "kubeconfig")
    os.environ["HOME"] = folder
    write_kubeconfig(os.environ["KUBECONFIG"])


def api(method, path, body=None, kind="application/json"):
    url = here.stand.facts["url"].removeprefix("https://")
    context = ssl.create_default_context(cafile=here.stand.facts["caFile"])
    connection = http.client.HTTPSConnection(url, context=context, timeout=60)
    connection.request(method, path, json.dumps(body) if body else None,
                       {"Authorization": "Bearer " + here.stand.facts["token"], "Content-Type": kind})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status < 300 or answer.status == 409, (answer.status, text)
    return text


ready = [{"type": "Ready", "status": "True"}]


def make_node():
    api("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    api("POST", "/api/v1/nodes", {"metadata": {"name": "node-1"}, "status": {
        "addresses": [{"type": "InternalIP", "address": here.stand.facts["node"]}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}, "conditions": ready,
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "100"}}})


def make_objects():
    make_node()
    pods = "/api/v1/namespaces/default/pods"
    api("POST", pods, {"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {
        "nodeName": "node-1", "automountServiceAccountToken": False,
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "main", "image": "web", "stdin": True}]}})
    api("PATCH", pods + "/web/status", {"status": {
        "phase": "Running", "podIP": here.stand.pod(10), "conditions": ready,
        "containerStatuses": [{"name": "main", "ready": True, "restartCount": 0, "image": "web", "imageID": "web",
                               "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}},
        "application/merge-patch+json")


def write_kubeconfig(path):
    with open(path, "w") as file:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                   "clusters": [{"name": "c", "cluster": {"server": here.stand.facts["url"], "certificate-authority": here.stand.facts["caFile"]}}],
                   "users": [{"name": "u", "user": {"token": here.stand.facts["token"]}}],
                   "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}, file)


def run(program, *arguments, stdin=None, timeout=120):
    return subprocess.run([program, *arguments], input=stdin, capture_output=True, timeout=timeout)


def each_version(test):
    def wrapped(self):
        for program in kubectls:
            with self.subTest(os.path.basename(program)):
                test(self, program)
    return wrapped

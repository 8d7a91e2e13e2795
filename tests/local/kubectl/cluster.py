"""A cluster of the local target to drive kubectl against, made through Google's REST API: no gcloud is needed here."""
import base64
import json
import os
import ssl
import time
import urllib.error
import urllib.request

PROJECT = "slipway-local"  # the one that the target begins with
ZONE = "us-east5-b"
PARENT = f"/container/v1/projects/{PROJECT}/locations/{ZONE}"
NODES = 6  # of the ordinary pool: two to drain for each kubectl, and two for everything else


class Google:
    """The target's Google APIs, with its token."""

    def __init__(self, environment):
        self.url = environment["SLIPWAY_LOCAL_URL"]
        self.token = environment["CLOUDSDK_AUTH_ACCESS_TOKEN"]
        context = ssl.create_default_context(cafile=environment["CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE"])
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                                  urllib.request.HTTPSHandler(context=context))

    def ask(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": "Bearer " + self.token,
                                                  "Content-Type": "application/json"})
        try:
            with self.opener.open(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from error

    def do(self, method, path, body, limit=180):
        """A request that begins an operation, and that operation to its end."""
        name = self.ask(method, path, body)["name"]
        end = time.monotonic() + limit
        while time.monotonic() < end:
            operation = self.ask("GET", f"{PARENT}/operations/{name}")
            if operation["status"] == "DONE":
                assert "error" not in operation, operation["error"]
                return
            time.sleep(0.2)
        raise AssertionError(f"{method} {path} has not ended after {limit} s")


def make_cluster(google, name="c1"):
    """One ordinary pool and one TPU node; its description by the API."""
    google.do("POST", PARENT + "/clusters", {"cluster": {"name": name, "nodePools": [
        {"name": "default-pool", "initialNodeCount": NODES, "config": {"machineType": "e2-standard-4"}}]}})
    google.do("POST", f"{PARENT}/clusters/{name}/nodePools", {"nodePool": {
        "name": "tpu", "initialNodeCount": 1, "config": {"machineType": "ct6e-standard-4t"}}})
    return google.ask("GET", f"{PARENT}/clusters/{name}")


def write_kubeconfig(path, cluster, token):
    """What get-credentials writes, with the token itself in place of Google's plugin."""
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
              "clusters": [{"name": "c", "cluster": {
                  "server": "https://" + cluster["endpoint"],
                  "certificate-authority-data": cluster["masterAuth"]["clusterCaCertificate"]}}],
              "users": [{"name": "u", "user": {"token": token}}],
              "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}
    base64.b64decode(cluster["masterAuth"]["clusterCaCertificate"], validate=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(config, file)

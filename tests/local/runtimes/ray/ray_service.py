#!/usr/bin/env python3
"""The Stable Diffusion tutorial on the local target with the real gcloud, kubectl and KubeRay: its RayService becomes
Running with two endpoints, a picture comes through port-forward, the dashboard's jobs and metrics are there; another
serve config with an unknown import path fails as Ray says it, and the endpoints stay.
ray_service.py BIN_DIR      Exit status 77: skipped, with the reason."""
import contextlib
import json
import os
import re
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e"))
from local_target import LocalTarget, need_programs, run_or_skip

ZONE = "us-central2-b"
NAME = "stable-diffusion-tpu"
PATH = "ai-ml.gke-ray.rayserve.stable-diffusion.stable_diffusion_tpu:deployment"


def container(name, cpu, memory, **more):
    resources = {"cpu": cpu, "memory": memory, **more}
    return {"name": name, "image": "rayproject/ray-ml:2.9.0-py310", "resources": {"limits": resources, "requests": resources}}


def ray_service(import_path):
    head = dict(container("ray-head", "2", "8G"),
                ports=[{"containerPort": port, "name": name} for name, port in
                       (("gcs", 6379), ("dashboard", 8265), ("client", 10001), ("serve", 8000))])
    worker = container("ray-worker", "100", "200G", **{"google.com/tpu": "4"})
    selector = {"cloud.google.com/gke-tpu-accelerator": "tpu-v4-podslice", "cloud.google.com/gke-tpu-topology": "2x2x1"}
    config = f"applications:\n  - name: stable_diffusion\n    import_path: {import_path}\n"
    return json.dumps({
        "apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": NAME},
        "spec": {"serveConfigV2": config, "rayClusterConfig": {
            "rayVersion": "2.9.0",
            "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [head]}}},
            "workerGroupSpecs": [{"replicas": 1, "minReplicas": 1, "maxReplicas": 10, "numOfHosts": 1,
                                  "groupName": "tpu-group", "rayStartParams": {},
                                  "template": {"spec": {"containers": [worker], "nodeSelector": selector}}}]}}})


@contextlib.contextmanager
def port_forward(target, service, port):
    """The local port that leads to the service's."""
    forward = subprocess.Popen(["kubectl", "port-forward", f"svc/{service}", f":{port}"], env=target.environment,
                               stdout=subprocess.PIPE, text=True)
    try:
        yield int(re.search(r"127\.0\.0\.1:(\d+)", forward.stdout.readline()).group(1))
    finally:
        forward.terminate()
        forward.wait()


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return answer.headers.get_content_type(), answer.read()


def row(target):
    return target.kubectl("get", "rayservices", NAME, "--no-headers").stdout.split()


def it_becomes_running(target):
    begun = time.monotonic()
    target.kubectl("apply", "-f", "-", stdin=ray_service(PATH))
    target.await_true("the RayService is Running with two endpoints", lambda: row(target) == [NAME, "Running", "2"], 300)
    print(f"Running after {time.monotonic() - begun:.0f} s", flush=True)
    pods = json.loads(target.kubectl("get", "pods", "-o", "json").stdout)["items"]
    assert len(pods) == 2, pods
    for pod in pods:
        assert "slipway-ray" in pod["metadata"]["annotations"]["slipway.dev/stand-in"], pod["metadata"]


def a_picture_comes_through(target):
    with port_forward(target, f"{NAME}-serve-svc", 8000) as port:
        begun = time.monotonic()
        kind, png = get(port, "/imagine?prompt=A%20sunset%20at%20the%20beach.")
        assert kind == "image/png" and png.startswith(b"\x89PNG"), (kind, png[:80])
        assert time.monotonic() - begun >= 10, "the tutorial's code waits ten seconds for its batch to fill"
        assert json.loads(get(port, "/-/routes")[1]) == {"/": "stable_diffusion"}


def the_dashboard_is_there(target):
    with port_forward(target, f"{NAME}-head-svc", 8265) as port:
        version = json.loads(get(port, "/api/version")[1])
        assert version["ray_version"] == "2.9.0" and version["ray_commit"] == "slipway-ray", version
        assert json.loads(get(port, "/api/jobs/")[1]) == []
        nodes = json.loads(get(port, "/api/v0/nodes")[1])["data"]["result"]["result"]
        assert [node["resources_total"].get("TPU") for node in nodes] == [None, 4.0], nodes
    with port_forward(target, f"{NAME}-head-svc", 8080) as port:
        page = get(port, "/metrics")[1].decode()
        assert 'ray_serve_application_status{' in page and 'application="stable_diffusion"' in page, page


def an_unknown_application_fails(target):
    target.kubectl("apply", "-f", "-", stdin=ray_service("no_such_module:app"))

    def failed():
        service = json.loads(target.kubectl("get", "rayservice", NAME, "-o", "json").stdout)
        app = service["status"]["activeServiceStatus"]["applicationStatuses"]["stable_diffusion"]
        return app["status"] == "DEPLOY_FAILED" and app["message"].endswith("No module named 'no_such_module'")

    target.await_true("the application's status says what failed", failed)


def main():
    need_programs("gcloud", "kubectl", "gke-gcloud-auth-plugin", "wget")
    with LocalTarget(os.path.abspath(sys.argv[1])) as target:
        target.start()
        target.need_control_plane()
        target.gcloud("container", "clusters", "create", "c1", "--location", ZONE, "--num-nodes", "1", "--machine-type",
                      "n1-standard-8", "--addons", "RayOperator")
        target.gcloud("container", "node-pools", "create", "tpu-pool", "--cluster", "c1", "--location", ZONE,
                      "--machine-type", "ct4p-hightpu-4t", "--num-nodes", "1")
        for step in (it_becomes_running, a_picture_comes_through, the_dashboard_is_there, an_unknown_application_fails):
            step(target)
            print(f"{step.__name__}: done", flush=True)


if __name__ == "__main__":
    run_or_skip(main)

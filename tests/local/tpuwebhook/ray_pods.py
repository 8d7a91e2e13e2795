#!/usr/bin/env python3
"""GKE's Ray operator add-on: the real KubeRay makes a slice's pods, our TPU webhook tells them their places, and a
RayCluster whose hosts do not fit its topology is refused with the webhook's words. Without the add-on nobody is asked.
ray_pods.py BIN_DIR      Exit status 77: skipped, with the reason."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from local_target import LocalTarget, need_programs, run_or_skip

ZONE = "us-east5-b"
HOOKS = "mutatingwebhookconfigurations,validatingwebhookconfigurations"


def group(hosts, topology):
    worker = {"name": "ray-worker", "image": "rayproject/ray:2.54.0",
              "resources": {"limits": {"cpu": "1", "memory": "1Gi", "google.com/tpu": "4"}}}
    selector = {"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice"}
    if topology:
        selector["cloud.google.com/gke-tpu-topology"] = topology
    return {"groupName": "tpu-group", "replicas": 1, "minReplicas": 0, "maxReplicas": 2, "numOfHosts": hosts,
            "rayStartParams": {}, "template": {"spec": {"nodeSelector": selector, "containers": [worker]}}}


def ray_cluster(name, hosts, topology):
    head = {"name": "ray-head", "image": "rayproject/ray:2.54.0", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    return json.dumps({"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name},
                       "spec": {"rayVersion": "2.54.0", "workerGroupSpecs": [group(hosts, topology)],
                                "headGroupSpec": {"rayStartParams": {}, "template": {"spec": {"containers": [head]}}}}})


def workers(target, name):
    pods = target.kubectl("get", "pods", "-l", f"ray.io/cluster={name},ray.io/node-type=worker", "-o", "json").stdout
    return json.loads(pods)["items"]


def refusal(target, *cluster):
    refused = target.kubectl("apply", "-f", "-", stdin=ray_cluster(*cluster), check=False)
    assert refused.returncode == 1, refused
    return refused.stderr


def a_slice_knows_its_hosts(target):
    target.kubectl("apply", "-f", "-", stdin=ray_cluster("mh", 4, "4x4"))
    target.await_true("the operator made four workers", lambda: len(workers(target, "mh")) == 4, 180)
    pods = sorted(workers(target, "mh"), key=lambda pod: pod["spec"]["hostname"])
    assert [pod["spec"]["hostname"] for pod in pods] == [f"tpu-group-0-{host}" for host in range(4)], pods
    for host, pod in enumerate(pods):
        variables = {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}
        assert variables["TPU_WORKER_ID"] == str(host), variables
        assert variables["TPU_NAME"] == "tpu-group-0", variables
        names = [f"tpu-group-0-{other}.mh-headless" for other in range(4)]
        assert variables["TPU_WORKER_HOSTNAMES"].split(",") == names, variables
        assert pod["spec"]["subdomain"] == "mh-headless"
        assert pod["spec"]["affinity"]["podAffinity"], pod["spec"]
    target.await_true("they share the pool's four nodes",
                      lambda: len({pod["spec"]["nodeName"] for pod in workers(target, "mh")}) == 4)
    head = json.loads(target.kubectl("get", "pods", "-l", "ray.io/node-type=head", "-o", "json").stdout)["items"][0]
    assert "affinity" not in head["spec"] and "hostname" not in head["spec"], head["spec"]


def what_does_not_fit_is_refused(target):
    words = refusal(target, "wrong", 2, "4x4")
    assert ('admission webhook "raycluster-kuberay-tpu-webhook.ray-system.svc" denied the request: '
            "Number of workers in worker group not equal to specified topology") in words, words
    words = refusal(target, "notopo", 4, "")
    assert ('failed calling webhook "raycluster-kuberay-tpu-webhook.ray-system.svc": failed to call webhook: '
            "Failed to validate RayCluster") in words, words
    log = open(os.path.join(target.environment["SLIPWAY_LOCAL_DIR"], "slipwayd.log")).read()
    assert "TPU topology not specified" in log, log[-2000:]


def without_the_add_on_nobody_is_asked(target):
    assert len(target.kubectl("get", HOOKS, "-o", "name").stdout.split()) == 2
    target.gcloud("container", "clusters", "update", "c1", "--location", ZONE, "--update-addons=RayOperator=DISABLED")
    target.await_true("the webhook is off", lambda: not target.kubectl("get", HOOKS, "-o", "name").stdout.split())


def main():
    need_programs("gcloud", "kubectl", "gke-gcloud-auth-plugin")
    with LocalTarget(os.path.abspath(sys.argv[1])) as target:
        target.start()
        target.need_control_plane()
        target.gcloud("container", "clusters", "create", "c1", "--location", ZONE, "--num-nodes", "1", "--machine-type",
                      "e2-standard-4", "--addons", "RayOperator")
        target.gcloud("container", "node-pools", "create", "slice", "--cluster", "c1", "--location", ZONE,
                      "--machine-type", "ct6e-standard-4t", "--tpu-topology", "4x4", "--num-nodes", "4")
        for step in (a_slice_knows_its_hosts, what_does_not_fit_is_refused, without_the_add_on_nobody_is_asked):
            step(target)
            print(f"{step.__name__}: done", flush=True)


if __name__ == "__main__":
    run_or_skip(main)

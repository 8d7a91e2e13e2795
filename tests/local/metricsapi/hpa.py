#!/usr/bin/env python3
"""A tutorial's autoscaling: GKE's adapter of custom metrics installed as it says, its role in the project, a PodMonitoring,
and the real HorizontalPodAutoscaler controller, which scales 1 -> 2 -> 1 by vllm:num_requests_waiting.
hpa.py BIN_DIR      Exit status 77: skipped, with the reason."""
import json
import os
import ssl
import sys
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from adapter_manifest import ADAPTER, SPACE, manifest
from local_target import LocalTarget, Skip, need_programs, run_or_skip

ZONE = "us-east5-b"
METRIC = "prometheus.googleapis.com|vllm:num_requests_waiting|gauge"
CUSTOM = "/apis/custom.metrics.k8s.io"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/"
# Serves the number in the file that its argument names, as one that waits.
PAGE = r'''
import http.server, os, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        waiting = open(sys.argv[1]).read().strip()
        body = ("# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{model_name=\"m\"} " + waiting + "\n"
                "# TYPE vllm:wait histogram\nvllm:wait_bucket{le=\"+Inf\"} 1\nvllm:wait_sum 1\nvllm:wait_count 1\n").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.HTTPServer((os.environ["POD_IP"], 8080), Page).serve_forever()
'''


def deployment(file):
    container = {"name": "vllm", "image": "python", "command": ["python3", "-c", PAGE, file],
                 "ports": [{"containerPort": 8080}], "resources": {"requests": {"cpu": "10m"}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "vllm"}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"app": "vllm"}},
        "template": {"metadata": {"labels": {"app": "vllm"}},
                     "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}}}


MONITORING = {"apiVersion": "monitoring.googleapis.com/v1", "kind": "PodMonitoring",
              "metadata": {"name": "vllm-pod-monitoring"},
              "spec": {"selector": {"matchLabels": {"app": "vllm"}},
                       "endpoints": [{"path": "/metrics", "port": 8080, "interval": "1s"}]}}
HPA = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "hpa"}, "spec": {
    "minReplicas": 1, "maxReplicas": 2,
    "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}},
    "metrics": [{"type": "Pods", "pods": {"metric": {"name": METRIC},
                                          "target": {"type": "AverageValue", "averageValue": "5"}}}],
    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "vllm"}}}


class Stand:
    def __init__(self, target):
        self.target = target
        self.file = os.path.join(target.root, "waiting")
        self.wait(0)

    def wait(self, requests):
        """So many requests wait from now on, at each pod."""
        with open(self.file + ".new", "w") as file:
            file.write(str(requests))
        os.replace(self.file + ".new", self.file)

    def apply(self, thing):
        self.target.kubectl("apply", "-f", "-", stdin=json.dumps(thing))

    def get(self, *words):
        return json.loads(self.target.kubectl("get", *words, "-o", "json").stdout)

    def raw(self, path, check=True):
        done = self.target.kubectl("get", "--raw", path, check=check)
        return json.loads(done.stdout) if check else done.stderr

    def adapter_pod(self):
        return self.get("pods", "-n", SPACE)["items"][0]

    def replicas(self):
        return self.get("deployment", "vllm")["spec"]["replicas"]

    def condition(self, kind):
        return next(one for one in self.get("hpa", "hpa")["status"]["conditions"] if one["type"] == kind)


def without_its_role_the_adapter_fails(stand):
    """As on GKE: it ends, says why in its log, and is tried again."""
    stand.apply(manifest())

    def has_failed():
        status = stand.adapter_pod()["status"]["containerStatuses"][0]
        return status["restartCount"] > 0 or "terminated" in status["state"]
    stand.target.await_true("the adapter ends", has_failed)
    pod = stand.adapter_pod()["metadata"]["name"]
    log = stand.target.kubectl("logs", "-n", SPACE, pod).stdout
    assert ("Failed request to stackdriver api: googleapi: Error 403: Permission monitoring.metricDescriptors.list "
            "denied (or the resource may not exist)., forbidden") in log, log
    stand.apply(deployment(stand.file))
    stand.target.await_true("the definitions are served", lambda: (stand.apply(MONITORING), True)[1])
    stand.apply(HPA)
    stand.target.await_true("the autoscaler finds no metrics",
                            lambda: stand.condition("ScalingActive")["reason"] == "FailedGetPodsMetric", 60)


def with_its_role_it_serves(stand):
    project = stand.target.environment["CLOUDSDK_CORE_PROJECT"]
    number = stand.target.gcloud("projects", "describe", project, "--format", "value(projectNumber)").stdout.strip()
    stand.target.gcloud(
        "projects", "add-iam-policy-binding", f"projects/{project}", "--role", "roles/monitoring.viewer",
        f"--member=principal://iam.googleapis.com/projects/{number}/locations/global/workloadIdentityPools/"
        f"{project}.svc.id.goog/subject/ns/{SPACE}/sa/{ADAPTER}")
    # Not after the wait that doubles: as one does it who reads the log.
    stand.target.kubectl("rollout", "restart", "-n", SPACE, "deployment", ADAPTER)
    stand.target.kubectl("rollout", "status", "-n", SPACE, "deployment", ADAPTER, "--timeout=180s")
    stand_in = stand.adapter_pod()["metadata"]["annotations"]["slipway.dev/stand-in"]
    assert "slipway-metrics-adapter" in stand_in, stand_in
    for service in ("v1beta1.custom.metrics.k8s.io", "v1beta2.custom.metrics.k8s.io", "v1beta1.external.metrics.k8s.io"):
        stand.target.kubectl("wait", "--for=condition=Available", "--timeout=60s", "apiservice/" + service)


def answers_have_the_recorded_shape(stand):
    path = f"{CUSTOM}/v1beta2/namespaces/default/pods/%2A/{METRIC.replace('|', '%7C')}?labelSelector=app%3Dvllm"
    stand.wait(3)
    stand.target.await_true("the metric is answered",
                            lambda: stand.raw(path)["items"] and stand.raw(path)["items"][0]["value"] == "3")
    answer = stand.raw(path)
    pod = stand.get("pods", "-l", "app=vllm")["items"][0]["metadata"]["name"]
    item = answer["items"][0]
    timestamp = item.pop("timestamp")
    assert len(timestamp) == 20 and timestamp.endswith("Z"), timestamp
    assert answer == {"kind": "MetricValueList", "apiVersion": "custom.metrics.k8s.io/v1beta2", "metadata": {}, "items": [{
        "describedObject": {"kind": "Pod", "namespace": "default", "name": pod, "apiVersion": "/__internal"},
        "metric": {"name": METRIC, "selector": None}, "value": "3"}]}, answer
    older = stand.raw(path.replace("v1beta2", "v1beta1"))["items"][0]
    assert older["metricName"] == METRIC and older["value"] == "3" and older["selector"] is None, older
    external = stand.raw(EXTERNAL + METRIC.replace("|", "%7C") + "?labelSelector=resource.labels.cluster%3Dc1")
    assert external["kind"] == "ExternalMetricValueList" and len(external["items"]) == 1, external
    labels = external["items"][0]["metricLabels"]
    assert labels["metric.labels.pod"] == pod and labels["resource.type"] == "prometheus_target", labels
    assert labels["resource.labels.cluster"] == "c1" and labels["metric.labels.model_name"] == "m", labels
    groups = stand.target.kubectl("api-versions").stdout.split()
    assert {"custom.metrics.k8s.io/v1beta1", "custom.metrics.k8s.io/v1beta2", "external.metrics.k8s.io/v1beta1"} <= set(groups)


def errors_are_the_adapters(stand):
    root = f"{CUSTOM}/v1beta2/namespaces/default/"
    for path, words in (
            (root + "pods/*/prometheus.googleapis.com%7Cnone%7Cgauge",
             'the server could not find the descriptor for metric "prometheus.googleapis.com/none/gauge"'),
            (root + "pods/*/vllm:num_requests_waiting",
             'the server could not find the descriptor for metric "custom.googleapis.com/vllm:num_requests_waiting"'),
            (root + "pods/x/" + METRIC.replace("|", "%7C"), 'pods "x" not found'),
            (root + "pods/*/prometheus.googleapis.com%7Cvllm:wait%7Chistogram", "distributions are not supported"),
            (root + "services/s/" + METRIC.replace("|", "%7C"), "is not implemented")):
        refused = stand.raw(path, check=False)
        assert words in refused, (path, refused)


def only_the_front_proxy_speaks_for_others(stand):
    """Whoever asks the pod itself, without the API server's certificate, is nobody."""
    address = stand.adapter_pod()["status"]["podIP"].replace("10.", "127.", 1)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))

    def ask(path, **headers):
        for port in (443, 20443):  # the second where only root may have the first
            try:
                with opener.open(urllib.request.Request(f"https://{address}:{port}{path}", headers=headers)) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode()
            except urllib.error.URLError as error:
                refused = error
        raise refused
    status, body = ask(CUSTOM + "/v1beta2", **{"X-Remote-User": "system:admin", "X-Remote-Group": "system:masters"})
    assert status == 403 and 'User \\"system:anonymous\\" cannot get path' in body, (status, body)
    status, body = ask(CUSTOM + "/v1beta2", Authorization="Bearer nonsense")
    assert status == 401 and "Unauthorized" in body, (status, body)
    token = stand.target.kubectl("create", "token", "default").stdout.strip()
    path = f"{CUSTOM}/v1beta2/namespaces/default/pods/%2A/a"
    status, body = ask(path, Authorization="Bearer " + token)
    assert status == 403 and 'pods.custom.metrics.k8s.io \\"*\\" is forbidden: User \\"system:serviceaccount:default:default\\"' in body, body
    token = stand.target.kubectl("create", "token", "-n", "kube-system", "horizontal-pod-autoscaler").stdout.strip()
    assert ask(path, Authorization="Bearer " + token)[0] == 404  # allowed: only there is no such metric
    assert ask("/healthz")[0] == 200


def shown_columns(stand):
    """REFERENCE, TARGETS, MINPODS, MAXPODS, REPLICAS as kubectl prints them."""
    words = stand.target.kubectl("get", "hpa", "hpa", "--no-headers").stdout.split()
    return words[1:2] + words[-5:-1]


def it_scales_up_and_down(stand):
    stand.wait(12)
    stand.target.await_true("two replicas", lambda: stand.replicas() == 2, 60)
    status = stand.get("hpa", "hpa")["status"]
    metric = status["currentMetrics"][0]["pods"]
    assert metric["metric"]["name"] == METRIC, status
    active = stand.condition("ScalingActive")
    assert (active["status"], active["reason"]) == ("True", "ValidMetricFound"), active
    assert active["message"] == "the HPA was able to successfully calculate a replica count from pods metric " + METRIC
    events = stand.target.kubectl("get", "events").stdout
    assert f"New size: 2; reason: pods metric {METRIC} above target" in events, events
    stand.target.await_true("both pods count", lambda: stand.get("hpa", "hpa")["status"]["currentMetrics"][0]["pods"][
        "current"]["averageValue"] == "12", 90)
    # The controller writes how many there are at its next look.
    stand.target.await_true("the table shows both", lambda: shown_columns(stand) == ["Deployment/vllm", "12/5", "1", "2", "2"], 60)
    stand.wait(0)
    stand.target.await_true("one replica again", lambda: stand.replicas() == 1, 120)
    events = stand.target.kubectl("get", "events").stdout
    assert "New size: 1; reason: All metrics below target" in events, events


def a_namespace_can_still_be_deleted(stand):
    """Discovery, which its deletion goes by, takes what the adapter says."""
    stand.target.kubectl("create", "namespace", "gone")
    stand.target.kubectl("delete", "namespace", "gone", timeout=120)


def main():
    need_programs("gcloud", "kubectl", "gke-gcloud-auth-plugin", "python3")
    with LocalTarget(os.path.abspath(sys.argv[1])) as target:
        target.start("--allow-processes")
        target.need_control_plane()
        if target.run("sh", "-c", "command -v prometheus || test -x \"$SLIPWAY_PROMETHEUS\"", check=False).returncode:
            raise Skip("there is no Prometheus on this machine")
        target.gcloud("container", "clusters", "create", "c1", "--location", ZONE, "--num-nodes", "1", "--machine-type",
                      "e2-standard-4", "--workload-pool", target.environment["CLOUDSDK_CORE_PROJECT"] + ".svc.id.goog")
        stand = Stand(target)
        for step in (without_its_role_the_adapter_fails, with_its_role_it_serves, answers_have_the_recorded_shape,
                     errors_are_the_adapters, only_the_front_proxy_speaks_for_others, it_scales_up_and_down,
                     a_namespace_can_still_be_deleted):
            step(stand)
            print(f"{step.__name__}: done", flush=True)


if __name__ == "__main__":
    run_or_skip(main)

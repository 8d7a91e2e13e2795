#!/usr/bin/env python3
"""A metric's whole way on the local target: a pod that serves /metrics, a PodMonitoring that chooses it, and PromQL at
Google's query address, answered by the real Prometheus; also its end by SIGKILL, what it refuses, and a machine without
it.   pod_monitoring.py BIN_DIR
Exit status 77: skipped, with the reason."""
import json
import os
import signal
import ssl
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from local_target import LocalTarget, Skip, need_programs, run_or_skip

ZONE = "us-east5-b"
PAGE = r'''
import http.server
import os
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b'# TYPE answer gauge\nanswer{unit="tokens",cluster="mine"} 42\n'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.HTTPServer((os.environ["IP"].replace("10.", "127.", 1), 8123), Page).serve_forever()
'''

WORKLOAD = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
    "replicas": 1, "selector": {"matchLabels": {"app": "web"}},
    "template": {"metadata": {"labels": {"app": "web", "tier": "gold"}}, "spec": {"containers": [{
        "name": "page", "image": "python", "command": ["python3", "-c", PAGE],
        "env": [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "ports": [{"name": "metrics", "containerPort": 8123}]}]}}}}


def pod_monitoring(name, endpoint, **more):
    return {"apiVersion": "monitoring.googleapis.com/v1", "kind": "PodMonitoring", "metadata": {"name": name},
            "spec": dict({"selector": {"matchLabels": {"app": "web"}},
                          "endpoints": [dict({"interval": "1s"}, **endpoint)]}, **more)}


class Query:
    """Google's address of Prometheus's API."""

    def __init__(self, target):
        self.root = target.environment["CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER"].rsplit("/container", 1)[0]
        with open(os.path.join(target.root, "t", "token")) as file:
            self.token = file.read().strip()
        self.project = target.environment.get("CLOUDSDK_CORE_PROJECT", "slipway-local")
        self.context = ssl.create_default_context(
            cafile=target.environment["CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE"])

    def ask(self, method, project=None, **parameters):
        url = (f"{self.root}/monitoring/v1/projects/{project or self.project}/location/global/prometheus/api/v1/"
               f"{method}?{urllib.parse.urlencode(parameters)}")
        request = urllib.request.Request(url, headers={"Authorization": "Bearer " + self.token})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                             urllib.request.HTTPSHandler(context=self.context))
        try:
            with opener.open(request, timeout=120) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def samples(self, text):
        status, answer = self.ask("query", query=text)
        assert status == 200 and answer["status"] == "success", answer
        return answer["data"]["result"]


def nothing_runs_before_it_is_needed(target, query):
    assert target.status()["metrics"] == [], target.status()["metrics"]
    target.gcloud("container", "clusters", "create", "c1", "--location", ZONE, "--num-nodes", "1",
                  "--machine-type", "e2-standard-4")
    assert target.status()["metrics"] == [], target.status()["metrics"]


def a_pods_metric_is_answered(target, query):
    target.kubectl("apply", "-f", "-", stdin=json.dumps(WORKLOAD))
    target.await_true("the definitions are served", lambda: target.kubectl(
        "apply", "-f", "-", stdin=json.dumps(pod_monitoring("web-metrics", {"port": "metrics"}))))
    target.await_true("the metric is collected", lambda: query.samples("answer"))
    sample = query.samples("answer")[0]
    labels = sample["metric"]
    pod = target.kubectl("get", "pods", "-l", "app=web", "-o", "name").stdout.strip().partition("/")[2]
    wanted = {"__name__": "answer", "unit": "tokens", "project_id": query.project, "location": ZONE, "cluster": "c1",
              "exported_cluster": "mine", "namespace": "default", "pod": pod, "container": "page",
              "instance": pod + ":metrics", "job": "web-metrics", "top_level_controller_name": "web",
              "top_level_controller_type": "Deployment"}
    assert labels == wanted, (labels, wanted)
    assert sample["value"][1] == "42", sample
    assert query.samples('sum by (job) (answer{tier!="x"}) * 2')[0]["value"][1] == "84"
    condition = json.loads(target.kubectl("get", "podmonitoring", "web-metrics", "-o", "json").stdout)["status"]
    assert condition["conditions"][0]["status"] == "True", condition


def all_of_googles_methods_answer(target, query):
    now = int(time.time()) + 1  # the first sample may be of this very second
    for method, parameters, holds in (
            ("query_range", {"query": "answer", "start": now - 60, "end": now, "step": 1},
             lambda data: data["result"][0]["values"]),
            ("labels", {}, lambda data: "top_level_controller_name" in data),
            ("label/job/values", {}, lambda data: "web-metrics" in data),
            ("series", {"match[]": "answer"}, lambda data: data[0]["job"] == "web-metrics"),
            ("metadata", {"metric": "answer"}, lambda data: data["answer"][0]["type"] == "gauge")):
        status, answer = query.ask(method, **parameters)
        assert status == 200 and holds(answer["data"]), (method, answer)
    status, answer = query.ask("query", query="sum(")
    assert status == 400 and answer["errorType"] == "bad_data" and "parse error" in answer["error"], answer
    assert query.ask("rules")[0] == 404
    assert query.ask("query", project="stranger", query="up")[0] == 403


def a_numbered_port_and_a_wrong_rule(target, query):
    """A PodMonitoring that Prometheus refuses says so, and harms no other one."""
    wrong = pod_monitoring("wrong", {"port": 8123, "metricRelabeling": [
        {"action": "keep", "sourceLabels": ["__name__"], "regex": "("}]})
    right = pod_monitoring("by-number", {"port": 8123},
                           targetLabels={"metadata": ["pod"], "fromPod": [{"from": "tier", "to": "level"}]})
    target.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": [wrong, right]}))
    target.await_true("the other one is collected", lambda: query.samples('answer{job="by-number"}'))
    labels = query.samples('answer{job="by-number"}')[0]["metric"]
    assert labels["level"] == "gold" and "container" not in labels, labels
    assert labels["instance"] == labels["pod"] + ":8123", labels

    def said():
        status = json.loads(target.kubectl("get", "podmonitoring", "wrong", "-o", "json").stdout)["status"]
        return status["conditions"][0]["status"] == "False" and "regexp" in status["conditions"][0]["message"]
    target.await_true("its status says what is wrong", said)
    refused = target.kubectl("apply", "-f", "-", check=False,
                             stdin=json.dumps(pod_monitoring("none", {"port": 0})))
    assert refused.returncode != 0 and "Port is required" in refused.stderr, refused.stderr


def a_killed_prometheus_comes_back(target, query):
    process = target.status()["metrics"][0]
    os.kill(process["pid"], signal.SIGKILL)
    # What it had collected is still there, and new samples come.
    target.await_true("it answers again", lambda: query.samples("count_over_time(answer[10m])"))
    target.await_true("it was started again", lambda: target.status()["metrics"][0]["restarts"] >= 1)
    assert target.status()["metrics"][0]["memoryBytes"] < 200 << 20, target.status()["metrics"]


def kubelets_are_collected(target, query):
    target.await_true("the kubelet's pages are collected",
                      lambda: query.samples('node_memory_working_set_bytes{job="kubelet"}')
                      and query.samples('container_memory_working_set_bytes{job="kubelet",container="page"}'))
    both = query.samples('count by (pod) (container_memory_working_set_bytes{container="page"})')
    assert both[0]["value"][1] == "1", both


def a_restart_brings_all_back(target, query):
    target.run("slipwayctl", "local", "stop")
    stopped = time.time()
    target.start("--allow-processes")

    def is_collected():
        newest = Query(target).samples('max(timestamp(up{job="web-metrics"}))')
        return newest and float(newest[0]["value"][1]) > stopped
    target.await_true("it is collected again", is_collected)


def without_prometheus_the_answer_says_so(target, query):
    target.run("slipwayctl", "local", "stop")
    target.environment["SLIPWAY_PROMETHEUS"] = "/nonexistent/prometheus"
    target.start("--allow-processes")
    status, answer = Query(target).ask("query", query="up")
    assert status == 400 and answer["error"]["status"] == "FAILED_PRECONDITION", answer
    assert "prometheus" in answer["error"]["message"] and "install" in answer["error"]["message"], answer


def main():
    need_programs("gcloud", "kubectl", "gke-gcloud-auth-plugin", "python3")
    with LocalTarget(os.path.abspath(sys.argv[1])) as target:
        target.start("--allow-processes")
        target.need_control_plane()
        query = Query(target)
        status, answer = query.ask("query", query="vector(1)")
        if status == 400:
            raise Skip(answer["error"]["message"])
        target.run("slipwayctl", "local", "stop")
        target.start("--allow-processes")
        for step in (nothing_runs_before_it_is_needed, a_pods_metric_is_answered, all_of_googles_methods_answer,
                     a_numbered_port_and_a_wrong_rule, a_killed_prometheus_comes_back, kubelets_are_collected,
                     a_restart_brings_all_back, without_prometheus_the_answer_says_so):
            step(target, query)
            print(f"{step.__name__}: done", flush=True)


if __name__ == "__main__":
    run_or_skip(main)

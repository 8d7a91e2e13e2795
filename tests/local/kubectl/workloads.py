"""Deployments, Jobs and CronJobs under the real controllers."""
import json
import re

from session import has, same

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: roll}
spec:
  replicas: 2
  selector: {matchLabels: {app: roll}}
  template:
    metadata: {labels: {app: roll}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "busybox:1", command: [sleep, "10000"]}]
"""

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}}}
spec:
  {more}
  template:
    spec:
      restartPolicy: {policy}
      containers: [{{name: main, image: busybox, command: [sh, -c, {script}]}}]
---"""

CRON = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: tick}
spec:
  schedule: "* * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: busybox, command: [echo, fired]}]
"""


def job(name, script, policy="Never", more=""):
    return JOB.format(name=name, script=json.dumps(script), policy=policy, more=more)


def begun(k):
    """What takes its time: begun before everything else, looked at in the end."""
    k.apply(CRON + "---" + job("fails", "echo tried; exit 4", more="backoffLimit: 1"))


def scaled(k):
    k.apply(DEPLOYMENT)
    with k.behind("rollout", "status", "deployment/roll", "--timeout=120s") as status:
        said = status.stdout.read()
        same(status.wait(), 0)
        has(said, 'deployment "roll" successfully rolled out')
    has(k.text("scale", "deployment", "roll", "--replicas=3"), "deployment.apps/roll scaled")
    k.await_value("deployment/roll", ".status.readyReplicas", "3")
    same(len(k.text("get", "pods", "-l", "app=roll", "-o", "name").split()), 3)
    has(k.refused("scale", "deployment", "roll", "--current-replicas=9", "--replicas=1"), "Expected replicas to be 9, was 3")
    k.text("scale", "deployment", "roll", "--replicas=1")
    k.await_value("deployment/roll", ".status.replicas", "1")
    assert re.search(r"roll +1/1 +1 +1 ", k.text("get", "deployment", "roll"))


def rolled(k):
    k.text("annotate", "deployment", "roll", "kubernetes.io/change-cause=the first")
    has(k.text("set", "image", "deployment/roll", "main=busybox:2"), "deployment.apps/roll image updated")
    k.text("annotate", "deployment", "roll", "kubernetes.io/change-cause=the second", "--overwrite")
    k.text("rollout", "status", "deployment/roll", "--timeout=120s")
    history = k.text("rollout", "history", "deployment/roll")
    assert re.search(r"^1 +the first\n2 +the second$", history, re.M), history
    has(k.text("rollout", "history", "deployment/roll", "--revision=1"), "busybox:1")
    image = ".spec.template.spec.containers[0].image"
    has(k.text("rollout", "undo", "deployment/roll"), "rolled back")
    k.text("rollout", "status", "deployment/roll", "--timeout=120s")
    same(k.get("deployment/roll", image), "busybox:1")
    before = k.text("get", "pods", "-l", "app=roll", "-o", "name")
    has(k.text("rollout", "restart", "deployment/roll"), "restarted")
    k.text("rollout", "status", "deployment/roll", "--timeout=120s")
    k.await_gone(before.split()[0])
    assert k.text("get", "pods", "-l", "app=roll", "-o", "name") != before
    k.text("rollout", "pause", "deployment/roll")
    has(k.refused("rollout", "restart", "deployment/roll"), "can't restart paused deployment")
    k.text("rollout", "resume", "deployment/roll")
    k.text("set", "image", "deployment/roll", "main=nobody/has-this")
    k.text("patch", "deployment", "roll", "-p", json.dumps({"spec": {"progressDeadlineSeconds": 1, "template": {
        "spec": {"nodeSelector": {"no": "such-node"}}}}}))
    has(k.refused("rollout", "status", "deployment/roll", "--timeout=60s"), "exceeded its progress deadline")
    k.text("delete", "deployment", "roll")


def jobs(k):
    k.apply(job("counts", "echo one; echo two"))
    k.text("wait", "job/counts", "--for=condition=Complete", "--timeout=120s")
    same(k.text("logs", "job/counts"), "one\ntwo\n")
    assert re.search(r"counts +(Complete +)?1/1 ", k.text("get", "job", "counts"))
    k.apply(job("again", "[ -e seen ] || { touch seen; exit 1; }; echo again", policy="OnFailure"))
    k.text("wait", "job/again", "--for=condition=Complete", "--timeout=120s")
    again = k.json("get", "pods", "-l", "job-name=again")["items"]
    same([item["status"]["containerStatuses"][0]["restartCount"] for item in again], [1])
    k.text("wait", "job/fails", "--for=condition=Failed", "--timeout=180s")
    failed = k.json("get", "job", "fails")["status"]
    same((failed["failed"], failed["conditions"][-1]["reason"]), (2, "BackoffLimitExceeded"))
    has(k.text("describe", "job", "fails"), "Job has reached the specified backoff limit")
    codes = [item["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"]
             for item in k.json("get", "pods", "-l", "job-name=fails")["items"]]
    same(codes, [4, 4])


def cron(k):
    k.text("create", "job", "by-hand", "--from=cronjob/tick")
    k.text("wait", "job/by-hand", "--for=condition=Complete", "--timeout=120s")
    same(k.text("logs", "job/by-hand"), "fired\n")
    k.await_value("cronjob/tick", ".status.lastScheduleTime", lambda time: time.endswith("00Z"))
    fired = [item["metadata"]["name"] for item in k.json("get", "jobs")["items"]
             if re.fullmatch(r"tick-\d+", item["metadata"]["name"])]
    assert fired, "the CronJob made no Job"
    k.text("wait", f"job/{fired[0]}", "--for=condition=Complete", "--timeout=120s")
    same(k.text("logs", f"job/{fired[0]}"), "fired\n")
    k.text("patch", "cronjob", "tick", "-p", '{"spec":{"suspend":true}}')
    k.text("delete", "cronjob", "tick")
    k.await_gone(f"job/{fired[0]}")

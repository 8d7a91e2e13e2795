"""Pods whose containers are processes of this machine: logs, commands, files, ports, and what happens when they end."""
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import socket
import tempfile
import time
import urllib.request

from session import has, pod, same

SERVER = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        body = self.path.encode() * 20000
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
print('listens', flush=True)
http.server.ThreadingHTTPServer((os.environ['POD_IP'], 8080), Handler).serve_forever()
"""

WEB = f"""
apiVersion: v1
kind: Pod
metadata: {{name: web, labels: {{app: web}}}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: server
    image: python
    command: [python3, -c, {json.dumps(SERVER)}]
    ports: [{{name: http, containerPort: 8080}}]
    env: [{{name: GREETING, value: hello}}]
    readinessProbe: {{tcpSocket: {{port: http}}, periodSeconds: 1}}
  - name: side
    image: busybox
    command: [sh, -c, "echo beside; exec sleep 10000"]
---
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec:
  selector: {{app: web}}
  ports: [{{port: 80, targetPort: http}}]
"""


def described(k):
    k.apply(WEB)
    k.text("wait", "pod/web", "--for=condition=Ready", "--timeout", "120s")
    text = k.text("describe", "pod", "web")
    found = k.json("get", "pod", "web")
    has(text, found["spec"]["nodeName"], found["status"]["podIP"], "Container ID:  slipway://",
        "State:          Running", "GREETING:  hello", "tcp-socket :http delay=0s timeout=1s period=1s")
    assert re.search(r"^Status: +Running$", text, re.M) and re.search(r"^ +ContainersReady +True", text, re.M), text
    events = text[text.index("\nEvents:"):]
    for reason, source, message in (
            ("Scheduled", "default-scheduler", f"Successfully assigned {k.namespace}/web to "),
            ("Pulled", "kubelet", 'Successfully pulled image "python" in '),
            ("Created", "kubelet", "Created container: server"), ("Started", "kubelet", "Started container side")):
        assert re.search(rf"Normal +{reason} +\S+.* +{source} +{re.escape(message)}", events), events
    listed = k.text("events", "--for", "pod/web", "--types=Normal")
    has(listed, "Scheduled", "Started container server")
    has(k.text("get", "events", "--field-selector", "involvedObject.name=web,reason=Started"), "pod/web")


def logs(k):
    k.apply(pod("talk", "for i in 1 2 3; do echo out $i; echo err $i >&2; sleep 0.3; done", "app: talk", "Never"))
    k.await_value("pod/talk", ".status.phase", lambda phase: phase in ("Running", "Succeeded"))
    with k.behind("logs", "-f", "talk") as follow:
        lines = [line.strip() for line in follow.stdout]
        same(follow.wait(60), 0)
    wanted = [f"{stream} {i}" for i in (1, 2, 3) for stream in ("out", "err")]
    same(sorted(lines), sorted(wanted))
    same([line for line in lines if line.startswith("out")], ["out 1", "out 2", "out 3"])
    same(k.text("logs", "talk", "--tail=2").split("\n")[-2][-1], "3")
    same(len(k.text("logs", "talk", "--limit-bytes=4")), 4)
    stamped = k.text("logs", "talk", "--timestamps").splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z (out|err) \d$", line) for line in stamped), stamped
    first = stamped[0].split()[0]
    same(len(k.text("logs", "talk", "--since-time", first).splitlines()), len(wanted))
    same(k.text("logs", "-l", "app=talk", "--prefix", "--tail=1").split("] ")[0], "[pod/talk/main")
    same(k.text("logs", "web", "-c", "side"), "beside\n")
    same(sorted(k.text("logs", "web", "--all-containers").split()), ["beside", "listens"])
    has(k.refused("logs", "web", "-c", "none"), "container none is not valid for pod web")
    has(k.refused("logs", "talk", "--previous"), 'previous terminated container "main" in pod "talk" not found')


def commands(k):
    done = k.run("exec", "web", "-c", "side", "--", "sh", "-c", "echo out; echo err >&2; exit 7", check=False)
    same((done.returncode, done.stdout), (7, "out\n"))
    assert done.stderr.startswith("err\n") and "exit code 7" in done.stderr, done.stderr
    same(k.text("exec", "web", "-c", "server", "--", "printenv", "GREETING"), "hello\n")
    same(k.text("exec", "-i", "web", "-c", "side", "--", "cat", stdin="through\n" * 1000), "through\n" * 1000)
    missing = k.run("exec", "web", "-c", "side", "--", "/no/such/program", check=False)
    assert missing.returncode != 0, missing
    has(missing.stderr, "/no/such/program")
    has(k.refused("exec", "talk", "--", "true"), "completed pod")
    if not shutil.which("tar"):
        print(f"{k.name}: no tar here: cp is not tried")
        return
    with tempfile.TemporaryDirectory() as folder:
        there = k.text("exec", "web", "-c", "side", "--", "pwd").strip()
        os.makedirs(os.path.join(folder, "tree", "below"))
        content = os.urandom(300000)
        for name in ("a", "below/b"):
            with open(os.path.join(folder, "tree", name), "wb") as file:
                file.write(content)
        k.text("cp", os.path.join(folder, "tree"), f"web:{there}/tree", "-c", "side")
        summed = k.text("exec", "web", "-c", "side", "--", "sha256sum", f"{there}/tree/below/b")
        same(summed.split()[0], hashlib.sha256(content).hexdigest())
        k.text("cp", f"web:{there}/tree", os.path.join(folder, "back"), "-c", "side")
        with open(os.path.join(folder, "back", "a"), "rb") as file:
            same(hashlib.sha256(file.read()).hexdigest(), hashlib.sha256(content).hexdigest())


def fetched(port, number):
    path = f"/{number:04}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return answer.read() == path.encode() * 20000


def forwarded_ports(k):
    for what, port in (("service/web", "80"), ("pod/web", "http")):
        with k.behind("port-forward", what, f":{port}") as forward:
            line = forward.stdout.readline()
            found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+) -> 8080", line)
            assert found, line
            local = int(found.group(1))
            with concurrent.futures.ThreadPoolExecutor(20) as pool:
                answers = list(pool.map(lambda number: fetched(local, number), range(100)))
            same(answers, [True] * 100)
    with k.behind("port-forward", "pod/web", ":9") as forward:
        local = int(re.search(r":(\d+) ->", forward.stdout.readline()).group(1))
        with socket.create_connection(("127.0.0.1", local), 60) as client:
            same(client.recv(1), b"")
        said = ""
        while "error forwarding port 9 to pod" not in said:
            line = forward.stdout.readline()
            assert line, said
            said += line
        has(said, "Connection refused")


def killed(k, name, container_state):
    """Ends the container's process by its own number, and waits for what becomes of it."""
    before = k.get(f"pod/{name}", ".status.containerStatuses[0].containerID")
    number = int(k.text("logs", name).split()[0])
    assert number > 1
    k.run("exec", name, "--", "kill", "-9", str(number), check=False)
    k.await_value(f"pod/{name}", container_state[0], container_state[1])
    return before


def restart_policies(k):
    stays = "echo $$$$; cat /proc/sys/kernel/random/uuid; exec sleep 10000"  # Kubernetes makes $ of $$
    ends = "echo done"
    k.apply(pod("always", stays) + pod("failure", stays, policy="OnFailure") + pod("never", stays, policy="Never")
            + pod("fine", ends, policy="OnFailure") + pod("crash", "echo last words; exit 3"))
    for name in ("always", "failure", "never"):
        k.text("wait", f"pod/{name}", "--for=condition=Ready", "--timeout", "120s")
    first = ".status.containerStatuses[0]"
    for name in ("always", "failure"):
        before = killed(k, name, (first + ".restartCount", "1"))
        k.await_value(f"pod/{name}", first + ".ready", "true")
        status = k.json("get", "pod", name)["status"]["containerStatuses"][0]
        assert status["containerID"] != before
        ended = status["lastState"]["terminated"]
        same((ended["exitCode"], ended["reason"], ended["containerID"]), (137, "Error", before))
        assert k.text("logs", name, "--previous") != k.text("logs", name)
    killed(k, "never", (".status.phase", "Failed"))
    status = k.json("get", "pod", "never")["status"]["containerStatuses"][0]
    same((status["restartCount"], status["state"]["terminated"]["exitCode"]), (0, 137))
    k.await_value("pod/fine", ".status.phase", "Succeeded")
    status = k.json("get", "pod", "fine")["status"]["containerStatuses"][0]
    same((status["restartCount"], status["state"]["terminated"]["reason"]), (0, "Completed"))
    crash_loop(k)


def crash_loop(k):
    first = ".status.containerStatuses[0]"
    k.await_value("pod/crash", first + ".state.waiting.reason", "CrashLoopBackOff")
    uid = k.get("pod/crash", ".metadata.uid")
    text = k.get("pod/crash", first + ".state.waiting.message")
    assert re.fullmatch(rf"back-off \d+[ms]\d*s? restarting failed container=main pod=crash_{k.namespace}\({uid}\)",
                        text), text
    ended = k.json("get", "pod", "crash")["status"]["containerStatuses"][0]["lastState"]["terminated"]
    same((ended["exitCode"], ended["reason"]), (3, "Error"))
    assert re.search(r"crash +0/1 +CrashLoopBackOff +\d+ \(\S+ ago\)", k.text("get", "pod", "crash"))
    same(k.text("logs", "crash"), "last words\n")
    has(k.text("describe", "pod", "crash"), f"Back-off restarting failed container main in pod crash_{k.namespace}({uid})")


def unknown_image(k):
    """What no rule matches runs only where that is allowed, as here; what cannot be started says why."""
    k.apply(pod("absent", "true").replace("[sh, -c, \"true\"]", "[/no/such/program]"))
    k.await_value("pod/absent", ".status.containerStatuses[0].restartCount", lambda count: count not in ("", "0"))
    ended = k.json("get", "pod", "absent")["status"]["containerStatuses"][0]["lastState"]["terminated"]
    same((ended["exitCode"], ended["reason"]), (128, "StartError"))
    has(ended["message"], "/no/such/program", "No such file or directory")


def gone(k):
    begun = time.monotonic()
    k.text("delete", "pod", "look", "always", "failure", "crash", "absent", "web", "--timeout", "120s")
    same(k.text("get", "pods", "look", "web", "--ignore-not-found"), "")
    assert time.monotonic() - begun < 120

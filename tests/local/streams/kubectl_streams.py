#!/usr/bin/env python3
"""The kubelet's API behind a real kube-apiserver, used by the real kubectl, the oldest and the newest there is.
Usage: kubectl_streams.py STAND. Exit 77: no kubectl, or no control plane."""
import glob
import hashlib
import http.client
import json
import os
import pty
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from kubelet_api import Backend, await_true
from stand_client import NotBuilt, Stand

stand = None
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


def api(method, path, body=None, kind="application/json"):
    url = stand.facts["url"].removeprefix("https://")
    context = ssl.create_default_context(cafile=stand.facts["caFile"])
    connection = http.client.HTTPSConnection(url, context=context, timeout=60)
    connection.request(method, path, json.dumps(body) if body else None,
                       {"Authorization": "Bearer " + stand.facts["token"], "Content-Type": kind})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status < 300 or answer.status == 409, (answer.status, text)
    return text


def make_objects():
    api("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    ready = [{"type": "Ready", "status": "True"}]
    api("POST", "/api/v1/nodes", {"metadata": {"name": "node-1"}, "status": {
        "addresses": [{"type": "InternalIP", "address": stand.facts["node"]}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}}, "conditions": ready,
        "capacity": {"cpu": "4", "memory": "8Gi", "pods": "100"}}})
    pods = "/api/v1/namespaces/default/pods"
    api("POST", pods, {"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {
        "nodeName": "node-1", "automountServiceAccountToken": False,
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "main", "image": "web", "stdin": True}]}})
    api("PATCH", pods + "/web/status", {"status": {
        "phase": "Running", "podIP": stand.pod(10), "conditions": ready,
        "containerStatuses": [{"name": "main", "ready": True, "restartCount": 0, "image": "web", "imageID": "web",
                               "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}},
        "application/merge-patch+json")


def write_kubeconfig(path):
    with open(path, "w") as file:
        json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                   "clusters": [{"name": "c", "cluster": {"server": stand.facts["url"], "certificate-authority": stand.facts["caFile"]}}],
                   "users": [{"name": "u", "user": {"token": stand.facts["token"]}}],
                   "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}, file)


def run(program, *arguments, stdin=None, timeout=120):
    return subprocess.run([program, *arguments], input=stdin, capture_output=True, timeout=timeout)


def each_version(test):
    def wrapped(self):
        for program in kubectls:
            with self.subTest(os.path.basename(program)):
                test(self, program)
    return wrapped


class LogTest(unittest.TestCase):
    def write(self, text, mode="w"):
        with open(os.path.join(stand.folder, "logs", "default_web_main.log"), mode) as file:
            file.write(text)

    @each_version
    def test_logs(self, kubectl):
        self.write("one\ntwo\n")
        self.assertEqual(run(kubectl, "logs", "web").stdout, b"one\ntwo\n")
        self.assertEqual(run(kubectl, "logs", "web", "--tail=1").stdout, b"two\n")

    @each_version
    def test_logs_followed_to_the_end(self, kubectl):
        self.write("first\n")
        ended = os.path.join(stand.folder, "logs", "default_web_main.log.ended")
        process = subprocess.Popen([kubectl, "logs", "-f", "web"], stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"first\n")
        for i in range(3):
            self.write(f"more {i}\n", "a")
            self.assertEqual(process.stdout.readline(), f"more {i}\n".encode())
        open(ended, "w").close()
        self.assertEqual(process.stdout.read(), b"")
        self.assertEqual(process.wait(60), 0)
        os.unlink(ended)


class ExecTest(unittest.TestCase):
    @each_version
    def test_exit_code_and_streams(self, kubectl):
        done = run(kubectl, "exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
        self.assertEqual((done.returncode, done.stdout), (3, b"out\n"))
        self.assertTrue(done.stderr.startswith(b"err\n"), done.stderr)
        self.assertEqual(run(kubectl, "exec", "web", "--", "true").returncode, 0)

    @each_version
    def test_input_to_its_end(self, kubectl):
        text = os.urandom(3 << 20)
        done = run(kubectl, "exec", "-i", "web", "--", "sha256sum", stdin=text)
        self.assertEqual(done.stdout.split()[0].decode(), hashlib.sha256(text).hexdigest())

    @each_version
    def test_much_output(self, kubectl):
        done = run(kubectl, "exec", "web", "--", "head", "-c", "30000000", "/dev/zero")
        self.assertEqual((done.returncode, len(done.stdout)), (0, 30000000))

    @each_version
    def test_a_terminal(self, kubectl):
        pid, master = pty.fork()
        if pid == 0:
            os.execv(kubectl, [kubectl, "exec", "-it", "web", "--", "sh"])
        seen = b""

        def until(text):
            nonlocal seen
            end = time.monotonic() + 60
            while text not in seen:
                ready, _, _ = select.select([master], [], [], 1)
                if ready:
                    seen += os.read(master, 65536)
                self.assertLess(time.monotonic(), end, seen)

        os.write(master, b"echo hel''lo; tty\n")
        until(b"hello")
        until(b"/dev/pts/")
        os.write(master, b"exit 6\n")
        try:
            while os.read(master, 65536):
                pass
        except OSError:
            pass
        os.close(master)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 6)

    @each_version
    def test_attach(self, kubectl):
        done = run(kubectl, "attach", "-i", "web", stdin=b"hello\n")
        self.assertEqual(done.stdout, b"attached\nhello\n")

    @unittest.skipUnless(shutil.which("tar"), "no tar")
    @each_version
    def test_copies_there_and_back(self, kubectl):
        with tempfile.TemporaryDirectory() as folder:
            text = os.urandom(2 << 20)
            with open(os.path.join(folder, "a"), "wb") as file:
                file.write(text)
            there = os.path.join(folder, "there")
            done = run(kubectl, "cp", os.path.join(folder, "a"), f"web:{there}")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(there, "rb") as file:
                self.assertTrue(file.read() == text)
            done = run(kubectl, "cp", f"web:{there}", os.path.join(folder, "back"))
            with open(os.path.join(folder, "back"), "rb") as file:
                self.assertTrue(file.read() == text, done.stderr)

    @each_version
    def test_a_pod_that_the_kubelet_does_not_have(self, kubectl):
        done = run(kubectl, "exec", "web", "-c", "main", "--", "/no/such/program")
        self.assertNotEqual(done.returncode, 0)


class PortForward:
    def __init__(self, kubectl, what, port):
        self.process = subprocess.Popen([kubectl, "port-forward", what, f":{port}"], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("Forwarding from 127.0.0.1:"), line
        self.port = int(line.split(":")[1].split()[0])
        self.lines = [line]
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True)
        self.reader.start()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), 60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)


class PortForwardTest(unittest.TestCase):
    @each_version
    def test_under_load(self, kubectl):
        piece = os.urandom(1 << 19)

        def serve(sock):
            seen = 0
            while seen < len(piece):
                more = sock.recv(65536)
                if not more:
                    return
                seen += len(more)
                sock.sendall(more)

        failures = []

        def client(forward):
            try:
                with forward.connect() as sock:
                    sender = threading.Thread(target=sock.sendall, args=(piece,))
                    sender.start()
                    got = b"".join(iter(lambda: sock.recv(1 << 18), b""))
                    sender.join()
                    if got != piece:
                        failures.append(len(got))
            except OSError as error:
                failures.append(error)

        with Backend(serve, stand.pod()) as backend, PortForward(kubectl, "pod/web", backend.port) as forward:
            clients = [threading.Thread(target=client, args=(forward,)) for _ in range(200)]
            for thread in clients:
                thread.start()
            for thread in clients:
                thread.join(180)
            self.assertEqual(failures, [], forward.lines[-5:])

    @each_version
    def test_a_port_where_nobody_listens(self, kubectl):
        closed = socket.create_server((stand.pod(), 0))
        port = closed.getsockname()[1]
        closed.close()
        with PortForward(kubectl, "pod/web", port) as forward:
            with forward.connect() as sock:
                self.assertEqual(sock.recv(10), b"")
            await_true(lambda: any("error forwarding port" in line for line in forward.lines), "nothing was said")


class ProxyTest(unittest.TestCase):
    @each_version
    def test_the_node_is_known_by_its_address(self, kubectl):
        done = run(kubectl, "get", "--raw", "/api/v1/nodes/node-1/proxy/stats/summary")
        self.assertEqual(json.loads(done.stdout)["node"]["nodeName"], "node-1", done.stderr)

    @each_version
    def test_a_pod_answers_through_the_apiserver(self, kubectl):
        def serve(sock):
            sock.recv(65536)
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        with Backend(serve, stand.pod()) as backend:
            done = run(kubectl, "get", "--raw", f"/api/v1/namespaces/default/pods/web:{backend.port}/proxy/")
            self.assertEqual(done.stdout, b"hello", done.stderr)

    @each_version
    def test_top(self, kubectl):
        await_true(lambda: run(kubectl, "top", "pods").returncode == 0, "the metrics API is not available")
        nodes = run(kubectl, "top", "nodes").stdout.decode().split("\n")
        self.assertRegex(nodes[1], r"^node-1 +25m +0% +64Mi +0%")
        pods = run(kubectl, "top", "pods", "--containers").stdout.decode().split("\n")
        self.assertRegex(pods[1], r"^web +main +25m +64Mi")
        self.assertIn(b"No resources found", run(kubectl, "top", "pods", "-l", "app=other").stderr)

    @each_version
    def test_the_kubernetes_service_answers_on_this_machine(self, kubectl):
        address = (stand.service(1), 443)
        try:
            socket.create_connection(address, 60).close()
        except OSError:
            self.skipTest("only root may open port 443")
        context = ssl.create_default_context(cafile=stand.facts["caFile"])
        context.check_hostname = False
        connection = http.client.HTTPSConnection(*address, context=context, timeout=60)
        connection.request("GET", "/version", headers={"Authorization": "Bearer " + stand.facts["token"]})
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()


if __name__ == "__main__":
    program = os.path.abspath(sys.argv.pop(1))
    kubectls = versions()
    if not kubectls:
        print("skipped: no kubectl on the path")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="streams-") as folder:
        try:
            stand = Stand(program, folder, "--pod", "default/web=20", "--control-plane", "yes")
        except NotBuilt:
            print("skipped: no control plane (packaging/setup/controlplane.sh)")
            sys.exit(77)
        os.environ["KUBECONFIG"] = os.path.join(folder, "kubeconfig")
        os.environ["HOME"] = folder
        write_kubeconfig(os.environ["KUBECONFIG"])
        try:
            make_objects()
            print("kubectl:", ", ".join(kubectls), flush=True)
            result = unittest.main(exit=False, verbosity=2, warnings="ignore").result
        finally:
            stand.stop()
        sys.exit(0 if result.wasSuccessful() and stand.process.returncode == 0 else 1)

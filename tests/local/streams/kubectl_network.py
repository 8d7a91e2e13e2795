"""kubectl port-forward, top, and what goes through the apiserver's proxies."""
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import unittest

import stand_run as here
from kubectl_programs import each_version, run
from pod_backend import Backend, await_true, echo_until


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

        failures, whole = [], []

        def client(forward):
            try:
                with forward.connect() as sock:
                    sender = threading.Thread(target=sock.sendall, args=(piece,))
                    sender.start()
                    got = b"".join(iter(lambda: sock.recv(1 << 18), b""))
                    sender.join()
                    (whole if got == piece else failures).append(len(got))
            except OSError as error:
                failures.append(error)

        with Backend(echo_until(len(piece)), here.stand.pod()) as backend, PortForward(kubectl, "pod/web", backend.port) as forward:
            clients = [threading.Thread(target=client, args=(forward,)) for _ in range(200)]
            for thread in clients:
                thread.start()
            for thread in clients:
                thread.join(180)
            self.assertEqual((failures, len(whole)), ([], 200), forward.lines[-5:])

    @each_version
    def test_a_port_where_nobody_listens(self, kubectl):
        closed = socket.create_server((here.stand.pod(), 0))
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
        with Backend(serve, here.stand.pod()) as backend:
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
        address = (here.stand.service(1), 443)
        try:
            socket.create_connection(address, 60).close()
        except OSError:
            self.skipTest("only root may open port 443")
        context = ssl.create_default_context(cafile=here.stand.facts["caFile"])
        context.check_hostname = False
        connection = http.client.HTTPSConnection(*address, context=context, timeout=60)
        connection.request("GET", "/version", headers={"Authorization": "Bearer " + here.stand.facts["token"]})
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()

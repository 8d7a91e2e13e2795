#!/usr/bin/env python3
"""The kubelet's API, egress proxy, service ports and metrics API of the local target, spoken to by clients that were
written for this test. Usage: kubelet_api.py STAND"""
import http.client
import json
import os
import socket
import sys
import tempfile
import threading
import time
import unittest

from stand_client import Refused, Stand, exec_target
import spdy_client

stand = None


class Backend:
    """A TCP server of a pod: `serve(socket)` on a thread for each connection."""

    def __init__(self, serve, address):
        self.listener = socket.create_server((address, 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.serve = serve
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.run, args=(sock,), daemon=True).start()

    def run(self, sock):
        try:
            self.serve(sock)
        except OSError:
            pass
        sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def echo_reversed(sock):
    """Reads to the end, then answers with it: needs half-close."""
    text = b""
    while more := sock.recv(65536):
        text += more
    sock.sendall(text[::-1])


def await_true(condition, what):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def run_spdy(command, stdin=None, tty=False, protocols=("v4.channel.k8s.io",)):
    session = stand.spdy(exec_target(command, stdin is not None, stderr=not tty, tty=tty), *protocols)
    streams = {name: session.open({"streamtype": name}) for name in ["error"] + (["stdin"] if stdin is not None else [])
               + ["stdout"] + ([] if tty else ["stderr"]) + (["resize"] if tty else [])}
    if stdin is not None:
        sender = threading.Thread(target=streams["stdin"].send, args=(stdin, True), daemon=True)
        sender.start()
    results = {name: streams[name].read_all() for name in ("error", "stdout", "stderr") if name in streams}
    session.close()
    return results


class LogTest(unittest.TestCase):
    def log(self, name, text):
        path = os.path.join(stand.folder, "logs", name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_a_log_is_given_whole_or_its_tail(self):
        self.log("default_web_main.log", "one\ntwo\nthree\n")
        self.assertEqual(stand.get("/containerLogs/default/web/main"), (200, b"one\ntwo\nthree\n"))
        self.assertEqual(stand.get("/containerLogs/default/web/main?tailLines=2"), (200, b"two\nthree\n"))
        self.assertEqual(stand.get("/containerLogs/default/web/main?limitBytes=5"), (200, b"one\nt"))

    def test_a_long_log_comes_whole(self):
        text = "".join(f"line {i} {'x' * 100}\n" for i in range(100000))
        self.log("default_web_long.log", text)
        status, body = stand.get("/containerLogs/default/web/long")
        self.assertEqual((status, len(body)), (200, len(text)))
        self.assertEqual(body.decode(), text)

    def test_a_followed_log_ends_with_its_container(self):
        path = self.log("default_web_follow.log", "first\n")
        connection = http.client.HTTPSConnection("localhost", stand.facts["kubeletPort"], context=stand.context(), timeout=60)
        connection.request("GET", "/containerLogs/default/web/follow?follow=true")
        answer = connection.getresponse()
        self.assertEqual(answer.readline(), b"first\n")
        for i in range(5):
            with open(path, "a") as file:
                file.write(f"more {i}\n")
            self.assertEqual(answer.readline(), f"more {i}\n".encode())
        open(path + ".ended", "w").close()
        self.assertEqual(answer.read(), b"")
        connection.close()

    def test_what_there_is_not_is_said_in_kubelets_words(self):
        status, body = stand.get("/containerLogs/default/web/not-yet")
        self.assertEqual(status, 400)
        self.assertIn(b"waiting to start: ContainerCreating", body)
        self.assertEqual(stand.get("/containerLogs/default/nobody/main")[0], 404)
        self.assertEqual(stand.get("/containerLogs/default/web/main?tailLines=x")[0], 400)
        self.assertEqual(stand.get("/containerLogs/default/web")[0], 404)
        self.assertEqual(stand.get("/containerLogs/default/..%2F..%2Fetc/passwd")[0], 404)


class AccessTest(unittest.TestCase):
    def test_only_the_apiserver_is_answered(self):
        for target in ("/pods", "/containerLogs/default/web/main", "/exec/default/web/main?command=id&output=1"):
            self.assertEqual(stand.get(target, None)[0], 401)
            self.assertEqual(stand.get(target, "stranger")[0], 403)
        self.assertEqual(stand.get("/pods")[0], 200)

    def test_the_pages_of_a_kubelet_are_there(self):
        self.assertEqual(stand.get("/healthz"), (200, b"ok"))
        self.assertEqual(json.loads(stand.get("/pods")[1])["items"][0]["metadata"]["name"], "web")
        self.assertEqual(len(json.loads(stand.get("/runningpods/")[1])["items"]), 1)
        self.assertIn("kubeletconfig", json.loads(stand.get("/configz")[1]))
        summary = json.loads(stand.get("/stats/summary")[1])
        self.assertEqual(summary["pods"][0]["podRef"]["name"], "web")
        self.assertIn(b'container_memory_working_set_bytes{container="main"', stand.get("/metrics/resource")[1])
        self.assertEqual(stand.get("/metrics/cadvisor")[0], 200)
        self.assertEqual(stand.get("/nothing")[0], 404)


class ExecTest(unittest.TestCase):
    def test_output_errors_and_the_exit_code_come_apart(self):
        got = run_spdy(["sh", "-c", "echo out; echo err >&2; exit 3"])
        self.assertEqual((got["stdout"], got["stderr"]), (b"out\n", b"err\n"))
        status = json.loads(got["error"])
        self.assertEqual(status["status"], "Failure")
        self.assertEqual(status["details"]["causes"], [{"reason": "ExitCode", "message": "3"}])

    def test_success_is_said(self):
        self.assertEqual(json.loads(run_spdy(["true"])["error"]), {"metadata": {}, "status": "Success"})

    def test_old_protocols_get_text(self):
        self.assertEqual(run_spdy(["true"], protocols=["v3.channel.k8s.io"])["error"], b"")
        self.assertIn(b"exit status 4", run_spdy(["sh", "-c", "exit 4"], protocols=["v2.channel.k8s.io"])["error"])

    def test_much_goes_through_and_the_end_of_input_is_told(self):
        text = os.urandom(1 << 20) * 20
        got = run_spdy(["cat"], stdin=text)
        self.assertEqual(len(got["stdout"]), len(text))
        self.assertTrue(got["stdout"] == text)

    def test_a_process_that_does_not_read_does_not_hang_its_exec(self):
        got = run_spdy(["sh", "-c", "exec <&-; sleep 0.3; echo done"], stdin=b"x" * 3000000)
        self.assertEqual(got["stdout"], b"done\n")

    def test_a_background_process_does_not_hold_the_exec(self):
        got = run_spdy(["sh", "-c", "sleep 300 & echo started"])
        self.assertEqual(got["stdout"], b"started\n")
        self.assertEqual(json.loads(got["error"])["status"], "Success")

    def test_a_terminal_has_the_clients_size(self):
        session = stand.spdy(exec_target(["sh"], True, stderr=False, tty=True), "v4.channel.k8s.io")
        streams = {name: session.open({"streamtype": name}) for name in ("error", "stdin", "stdout", "resize")}
        streams["resize"].send(b'{"Width":91,"Height":33}\n')
        out = streams["stdout"]
        for _ in range(100):  # the size is set some time after the shell began
            streams["stdin"].send(b"stty size; tty\n")
            try:
                out.wait(lambda s: b"33 91" in s.received, 0.5)
                break
            except TimeoutError:
                pass
        out.wait(lambda s: b"33 91" in s.received and b"/dev/pts/" in s.received)
        streams["stdin"].send(b"exit 5\n")
        self.assertEqual(json.loads(streams["error"].read_all())["details"]["causes"][0]["message"], "5")
        session.close()

    def test_a_client_that_goes_takes_its_process_along(self):
        path = os.path.join(stand.folder, "pid")
        session = stand.spdy(exec_target(["sh", "-c", f"echo $$ > {path}.new; mv {path}.new {path}; exec sleep 1000"]), "v4.channel.k8s.io")
        for name in ("error", "stdout", "stderr"):
            session.open({"streamtype": name})
        await_true(lambda: os.path.exists(path), "the process did not start")
        with open(path) as file:
            pid = int(file.read())
        session.sock.sock.shutdown(socket.SHUT_RDWR)
        await_true(lambda: not os.path.exists(f"/proc/{pid}"), "the process lives on")

    def test_attach_joins_what_runs(self):
        session = stand.spdy(exec_target([], True, what="attach"), "v4.channel.k8s.io")
        streams = {name: session.open({"streamtype": name}) for name in ("error", "stdin", "stdout", "stderr")}
        streams["stdout"].wait(lambda s: s.received == b"attached\n")
        streams["stdin"].send(b"hello\n", True)
        self.assertEqual(streams["stdout"].read_all(), b"attached\nhello\n")
        self.assertEqual(json.loads(streams["error"].read_all())["status"], "Success")

    def test_wrong_requests_are_refused_before_anything_runs(self):
        cases = [(404, lambda: stand.spdy(exec_target(["true"], pod="nobody"), "v4.channel.k8s.io")),
                 (403, lambda: stand.spdy(exec_target(["true"]), "v9.channel.k8s.io")),
                 (403, lambda: stand.websocket(exec_target(["true"]), "v9.channel.k8s.io")),
                 (400, lambda: stand.spdy(exec_target([]), "v4.channel.k8s.io")),
                 (400, lambda: stand.spdy(exec_target(["true"], stdout=False, stderr=False), "v4.channel.k8s.io")),
                 (400, lambda: stand.upgrade(exec_target(["true"]), ["Upgrade: h2c"]))]
        for status, attempt in cases:
            with self.assertRaises(Refused) as refused:
                attempt()
            self.assertEqual(refused.exception.status, status)
        self.assertEqual(stand.get(exec_target(["true"]))[0], 400)

    def test_no_bytes_after_the_upgrade_bring_it_down(self):
        for rubbish in (b"\0" * 100000, b"\xff" * 100000, os.urandom(100000), b"GET / HTTP/1.1\r\n\r\n", b""):
            conn, _, _ = stand.upgrade(exec_target(["cat"], True), ["Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io"])
            try:
                conn.sendall(rubbish)
            except OSError:
                pass
            conn.close()
        self.assertEqual(stand.get("/healthz")[0], 200)


class WebSocketExecTest(unittest.TestCase):
    def collect(self, ws):
        channels = {}
        while (message := ws.receive()) is not None:
            channels[message[0]] = channels.get(message[0], b"") + message[1:]
        return channels

    def test_v5_ends_input_by_a_message(self):
        ws = stand.websocket(exec_target(["sh", "-c", "cat; echo err >&2; exit 7"], True), "v5.channel.k8s.io")
        self.assertEqual(ws.protocol, "v5.channel.k8s.io")
        ws.send(b"\0hello ")
        ws.send(b"\0world\n")
        ws.send(b"\xff\0")
        got = self.collect(ws)
        self.assertEqual((got[1], got[2]), (b"hello world\n", b"err\n"))
        self.assertEqual(json.loads(got[3])["details"]["causes"][0]["message"], "7")

    def test_much_output_comes_whole(self):
        ws = stand.websocket(exec_target(["head", "-c", "20000000", "/dev/zero"]), "v4.channel.k8s.io")
        got = self.collect(ws)
        self.assertEqual(len(got[1]), 20000000)
        self.assertEqual(json.loads(got[3])["status"], "Success")


class PortForwardTest(unittest.TestCase):
    def open(self, tunnel=False):
        if not tunnel:
            return stand.spdy("/portForward/default/web", "portforward.k8s.io")
        ws = stand.websocket("/portForward/default/web", "SPDY/3.1+portforward.k8s.io")
        return spdy_client.Session(ws)

    def connect(self, session, port, request):
        error = session.open({"streamtype": "error", "port": str(port), "requestid": str(request)})
        error.end()
        return session.open({"streamtype": "data", "port": str(port), "requestid": str(request)}), error

    def test_both_directions_and_half_close(self):
        with Backend(echo_reversed, stand.pod()) as backend:
            for tunnel in (False, True):
                session = self.open(tunnel)
                data, error = self.connect(session, backend.port, 0)
                data.send(b"hello", True)
                self.assertEqual(data.read_all(), b"olleh")
                self.assertEqual(error.read_all(), b"")
                session.close()

    def test_a_pod_that_ends_first_ends_the_error_stream_too(self):
        # kubectl 1.27 closes its own side only then.
        with Backend(lambda sock: sock.sendall(b"bye"), stand.pod()) as backend:
            session = self.open()
            data, error = self.connect(session, backend.port, 0)
            self.assertEqual(data.read_all(), b"bye")
            self.assertEqual(error.read_all(), b"")
            session.close()

    def test_a_port_where_nobody_listens_is_told_and_the_session_goes_on(self):
        closed = socket.create_server((stand.pod(), 0))
        port = closed.getsockname()[1]
        closed.close()
        with Backend(echo_reversed, stand.pod()) as backend:
            session = self.open()
            data, error = self.connect(session, port, 0)
            self.assertIn(f"error forwarding port {port} to pod default/web".encode(), error.read_all())
            self.assertEqual(data.read_all(), b"")
            for port in ("0", "70000", "x", ""):
                _, error = self.connect(session, port, f"bad{port}")
                self.assertIn(b"is no port", error.read_all())
            data, error = self.connect(session, backend.port, 1)
            data.send(b"abc", True)
            self.assertEqual(data.read_all(), b"cba")
            session.close()

    def test_200_connections_and_100_megabytes(self):
        piece = os.urandom(1 << 19)

        def serve(sock):
            seen = 0
            while seen < len(piece):
                more = sock.recv(65536)
                if not more:
                    return
                seen += len(more)
                sock.sendall(more)
            sock.shutdown(socket.SHUT_WR)
            sock.recv(1)

        with Backend(serve, stand.pod()) as backend:
            session = self.open()
            pairs = [self.connect(session, backend.port, i) for i in range(200)]
            senders = [threading.Thread(target=pair[0].send, args=(piece, True)) for pair in pairs]
            for sender in senders:
                sender.start()
            for data, error in pairs:
                self.assertTrue(data.read_all(120) == piece)
                self.assertEqual(error.read_all(), b"")
            session.close()

    def test_a_reset_stream_closes_its_connection(self):
        ended = threading.Event()

        def serve(sock):
            sock.sendall(b"x")
            try:
                while sock.recv(65536):
                    pass
            except OSError:
                pass
            ended.set()

        with Backend(serve, stand.pod()) as backend:
            session = self.open()
            data, _ = self.connect(session, backend.port, 0)
            data.wait(lambda s: s.received == b"x")
            data.reset()
            self.assertTrue(ended.wait(60))
            session.ping(1)
            with session.changed:
                self.assertTrue(session.changed.wait_for(lambda: session.pongs == 1, 60))
            session.close()

    def test_by_websocket_channels(self):
        with Backend(lambda sock: sock.sendall(b"hi " + sock.recv(100)), stand.pod()) as backend:
            ws = stand.websocket(f"/portForward/default/web?port={backend.port}", "v4.channel.k8s.io")
            self.assertEqual({ws.receive(), ws.receive()},
                             {bytes([channel]) + backend.port.to_bytes(2, "little") for channel in (0, 1)})
            ws.send(b"\0you")
            self.assertEqual(ws.receive(), b"\0hi you")
            self.assertIsNone(ws.receive())
        with self.assertRaises(Refused) as refused:
            stand.websocket("/portForward/default/web", "v4.channel.k8s.io")
        self.assertEqual(refused.exception.status, 400)


class EgressTest(unittest.TestCase):
    def status_by_kubelet(self, node, target):
        sock = stand.proxy(f"{node}:10250")
        tls = stand.context().wrap_socket(sock, server_hostname="localhost")
        tls.sendall(f"GET {target} HTTP/1.1\r\nHost: {node}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while more := tls.recv(65536):
            answer += more
        tls.close()
        return int(answer.split()[1]), answer

    def test_the_kubelet_knows_which_node_was_meant(self):
        status, answer = self.status_by_kubelet(stand.facts["node"], "/stats/summary")
        self.assertEqual(status, 200)
        self.assertIn(b'"nodeName":"node-1"', answer)
        self.assertEqual(self.status_by_kubelet(stand.facts["otherNode"], "/healthz")[0], 404)

    def test_pods_and_services_are_reached_and_nothing_else(self):
        with Backend(echo_reversed, stand.pod()) as backend:
            stand.tell({"service": {"metadata": {"name": "web", "namespace": "default"},
                                    "spec": {"clusterIP": stand.service(9, 10), "ports": [{"port": 18080}]}}})
            stand.tell({"slice": {"metadata": {"name": "s", "namespace": "default", "labels": {"kubernetes.io/service-name": "web"}},
                                  "ports": [{"port": backend.port}], "endpoints": [{"addresses": [stand.pod(10)]}]}})
            for target in (f"{stand.pod(10)}:{backend.port}", stand.service(9, 10) + ":18080", "web.default.svc:18080"):
                sock = stand.proxy(target)
                sock.sendall(b"hello")
                sock.shutdown(socket.SHUT_WR)
                self.assertEqual(sock.recv(100), b"olleh")
                self.assertEqual(sock.recv(100), b"")
                sock.close()
            for target in ("127.0.0.1:22", "example.com:443", "10.0.0.1:80", "[::1]:80", stand.pod(10) + ":0", "x"):
                with self.assertRaises(Refused) as refused:
                    stand.proxy(target)
                self.assertIn(refused.exception.status, (400, 403))
            # The service's address answers on this machine too, without a proxy.
            connect = lambda: socket.create_connection((stand.service(9), 18080), 60)
            await_true(lambda: connect().close() is None, "the service's port is not open")
            sock = connect()
            sock.sendall(b"hello")
            sock.shutdown(socket.SHUT_WR)
            self.assertEqual(sock.recv(100), b"olleh")
            sock.close()
            stand.tell({"removeService": "web"})

            def is_closed():
                try:
                    connect().close()
                except ConnectionRefusedError:
                    return True
                return False
            await_true(is_closed, "the port stayed open")

    def test_where_nobody_listens_is_told(self):
        closed = socket.create_server((stand.pod(), 0))
        port = closed.getsockname()[1]
        closed.close()
        with self.assertRaises(Refused) as refused:
            stand.proxy(f"{stand.pod(10)}:{port}")
        self.assertEqual(refused.exception.status, 502)

    def test_the_socket_is_the_owners_alone(self):
        self.assertEqual(os.stat(stand.facts["egressSocket"]).st_mode & 0o777, 0o600)


class MetricsTest(unittest.TestCase):
    def get(self, target, who="front", accept="application/json"):
        host, port = stand.facts["metrics"].split(":")
        context = stand.context(who)
        context.check_hostname = False
        connection = http.client.HTTPSConnection(host, int(port), context=context, timeout=60)
        connection.request("GET", target, headers={"Accept": accept})
        answer = connection.getresponse()
        body = json.loads(answer.read())
        connection.close()
        return answer.status, body, answer.headers["Content-Type"]

    def test_nodes_and_pods_are_measured(self):
        base = "/apis/metrics.k8s.io/v1beta1"
        nodes = self.get(f"{base}/nodes")[1]
        self.assertEqual([item["metadata"]["name"] for item in nodes["items"]], ["node-1", "node-2"])
        self.assertEqual(nodes["items"][0]["usage"]["cpu"], "25000000n")
        self.assertEqual(self.get(f"{base}/nodes/node-2")[1]["kind"], "NodeMetrics")
        self.assertEqual(len(self.get(f"{base}/nodes?labelSelector=pool%3Db")[1]["items"]), 1)
        pods = self.get(f"{base}/namespaces/default/pods")[1]
        self.assertEqual(pods["items"][0]["containers"][0]["usage"]["memory"], "65536Ki")
        self.assertEqual(self.get(f"{base}/pods?labelSelector=app%3Dother")[1]["items"], [])
        self.assertEqual(self.get(f"{base}/namespaces/default/pods/nobody")[0], 404)
        self.assertEqual(self.get(f"{base}/pods?labelSelector=%3D")[0], 400)

    def test_discovery_has_both_forms(self):
        self.assertEqual(self.get("/apis")[1]["kind"], "APIGroupList")
        wanted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        status, body, kind = self.get("/apis", accept=wanted + ",application/json")
        self.assertEqual((status, body["kind"], kind), (200, "APIGroupDiscoveryList", wanted))
        self.assertEqual(len(self.get("/apis/metrics.k8s.io/v1beta1")[1]["resources"]), 2)

    def test_only_the_front_proxy_is_answered(self):
        self.assertEqual(self.get("/apis", "stranger")[0], 401)
        self.assertEqual(self.get("/apis", None)[0], 401)


if __name__ == "__main__":
    program = os.path.abspath(sys.argv.pop(1))
    with tempfile.TemporaryDirectory(prefix="streams-") as folder:
        stand = Stand(program, folder, "--pod", "default/web=20")
        try:
            result = unittest.main(exit=False, verbosity=1, warnings="ignore").result
            memory = next(line for line in open(f"/proc/{stand.process.pid}/status") if line.startswith("VmHWM"))
            print("stand's memory at most:", memory.split()[1], "kB")
        finally:
            stand.stop()
        sys.exit(0 if result.wasSuccessful() and stand.process.returncode == 0 else 1)

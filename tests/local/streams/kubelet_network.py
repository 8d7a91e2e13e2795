"""Of the local target's network: port-forward, the egress proxy, service ports, the metrics API."""
import http.client
import json
import os
import socket
import threading
import unittest

import spdy_client
import stand_run as here
from pod_backend import Backend, await_true, echo_reversed, echo_until
from stand_client import Refused


class PortForwardTest(unittest.TestCase):
    def open(self, tunnel=False):
        if not tunnel:
            return here.stand.spdy("/portForward/default/web", "portforward.k8s.io")
        ws = here.stand.websocket("/portForward/default/web", "SPDY/3.1+portforward.k8s.io")
        return spdy_client.Session(ws)

    def connect(self, session, port, request):
        error = session.open({"streamtype": "error", "port": str(port), "requestid": str(request)})
        error.end()
        return session.open({"streamtype": "data", "port": str(port), "requestid": str(request)}), error

    def test_both_directions_and_half_close(self):
        with Backend(echo_reversed, here.stand.pod()) as backend:
            for tunnel in (False, True):
                session = self.open(tunnel)
                data, error = self.connect(session, backend.port, 0)
                data.send(b"hello", True)
                self.assertEqual(data.read_all(), b"olleh")
                self.assertEqual(error.read_all(), b"")
                session.close()

    def test_a_pod_that_ends_first_ends_the_error_stream_too(self):
        # kubectl 1.27 closes its own side only then.
        with Backend(lambda sock: sock.sendall(b"bye"), here.stand.pod()) as backend:
            session = self.open()
            data, error = self.connect(session, backend.port, 0)
            self.assertEqual(data.read_all(), b"bye")
            self.assertEqual(error.read_all(), b"")
            session.close()

    def test_a_port_where_nobody_listens_is_told_and_the_session_goes_on(self):
        closed = socket.create_server((here.stand.pod(), 0))
        port = closed.getsockname()[1]
        closed.close()
        with Backend(echo_reversed, here.stand.pod()) as backend:
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

        with Backend(echo_until(len(piece)), here.stand.pod()) as backend:
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

        with Backend(serve, here.stand.pod()) as backend:
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
        with Backend(lambda sock: sock.sendall(b"hi " + sock.recv(100)), here.stand.pod()) as backend:
            ws = here.stand.websocket(f"/portForward/default/web?port={backend.port}", "v4.channel.k8s.io")
            self.assertEqual({ws.receive(), ws.receive()},
                             {bytes([channel]) + backend.port.to_bytes(2, "little") for channel in (0, 1)})
            ws.send(b"\0you")
            self.assertEqual(ws.receive(), b"\0hi you")
            self.assertIsNone(ws.receive())
        with self.assertRaises(Refused) as refused:
            here.stand.websocket("/portForward/default/web", "v4.channel.k8s.io")
        self.assertEqual(refused.exception.status, 400)


class EgressTest(unittest.TestCase):
    def status_by_kubelet(self, node, target):
        sock = here.stand.proxy(f"{node}:10250")
        tls = here.stand.context().wrap_socket(sock, server_hostname="localhost")
        tls.sendall(f"GET {target} HTTP/1.1\r\nHost: {node}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while more := tls.recv(65536):
            answer += more
        tls.close()
        return int(answer.split()[1]), answer

    def test_the_kubelet_knows_which_node_was_meant(self):
        status, answer = self.status_by_kubelet(here.stand.facts["node"], "/stats/summary")
        self.assertEqual(status, 200)
        self.assertIn(b'"nodeName":"node-1"', answer)
        self.assertEqual(self.status_by_kubelet(here.stand.facts["otherNode"], "/healthz")[0], 404)

    def test_pods_and_services_are_reached_and_nothing_else(self):
        with Backend(echo_reversed, here.stand.pod()) as backend:
            here.stand.tell({"service": {"metadata": {"name": "web", "namespace": "default"},
                                    "spec": {"clusterIP": here.stand.service(9, 10), "ports": [{"port": 18080}]}}})
            here.stand.tell({"slice": {"metadata": {"name": "s", "namespace": "default", "labels": {"kubernetes.io/service-name": "web"}},
                                  "ports": [{"port": backend.port}], "endpoints": [{"addresses": [here.stand.pod(10)]}]}})
            for target in (f"{here.stand.pod(10)}:{backend.port}", here.stand.service(9, 10) + ":18080", "web.default.svc:18080"):
                sock = here.stand.proxy(target)
                sock.sendall(b"hello")
                sock.shutdown(socket.SHUT_WR)
                self.assertEqual(sock.recv(100), b"olleh")
                self.assertEqual(sock.recv(100), b"")
                sock.close()
            for target in ("127.0.0.1:22", "example.com:443", "10.0.0.1:80", "[::1]:80", here.stand.pod(10) + ":0", "x"):
                with self.assertRaises(Refused) as refused:
                    here.stand.proxy(target)
                self.assertIn(refused.exception.status, (400, 403))
            # The service's address answers on this machine too, without a proxy.
            connect = lambda: socket.create_connection((here.stand.service(9), 18080), 60)
            await_true(lambda: connect().close() is None, "the service's port is not open")
            sock = connect()
            sock.sendall(b"hello")
            sock.shutdown(socket.SHUT_WR)
            self.assertEqual(sock.recv(100), b"olleh")
            sock.close()
            here.stand.tell({"removeService": "web"})

            def is_closed():
                try:
                    connect().close()
                except ConnectionRefusedError:
                    return True
                return False
            await_true(is_closed, "the port stayed open")

    def test_where_nobody_listens_is_told(self):
        closed = socket.create_server((here.stand.pod(), 0))
        port = closed.getsockname()[1]
        closed.close()
        with self.assertRaises(Refused) as refused:
            here.stand.proxy(f"{here.stand.pod(10)}:{port}")
        self.assertEqual(refused.exception.status, 502)

    def test_the_socket_is_the_owners_alone(self):
        self.assertEqual(os.stat(here.stand.facts["egressSocket"]).st_mode & 0o777, 0o600)


class MetricsTest(unittest.TestCase):
    def get(self, target, who="front", accept="application/json"):
        host, port = here.stand.facts["metrics"].split(":")
        context = here.stand.context(who)
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

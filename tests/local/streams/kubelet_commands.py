"""Of the kubelet's API: logs, pages, who is answered, exec and attach."""
import http.client
import json
import os
import socket
import threading
import unittest

import stand_run as here
from pod_backend import await_true
from stand_client import Refused, exec_target


def run_spdy(command, stdin=None, tty=False, protocols=("v4.channel.k8s.io",)):
    session = here.stand.spdy(exec_target(command, stdin is not None, stderr=not tty, tty=tty), *protocols)
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
        path = os.path.join(here.stand.folder, "logs", name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def test_a_log_is_given_whole_or_its_tail(self):
        self.log("default_web_main.log", "one\ntwo\nthree\n")
        self.assertEqual(here.stand.get("/containerLogs/default/web/main"), (200, b"one\ntwo\nthree\n"))
        self.assertEqual(here.stand.get("/containerLogs/default/web/main?tailLines=2"), (200, b"two\nthree\n"))
        self.assertEqual(here.stand.get("/containerLogs/default/web/main?limitBytes=5"), (200, b"one\nt"))

    def test_a_long_log_comes_whole(self):
        text = "".join(f"line {i} {'x' * 100}\n" for i in range(100000))
        self.log("default_web_long.log", text)
        status, body = here.stand.get("/containerLogs/default/web/long")
        self.assertEqual((status, len(body)), (200, len(text)))
        self.assertEqual(body.decode(), text)

    def test_a_followed_log_ends_with_its_container(self):
        path = self.log("default_web_follow.log", "first\n")
        connection = http.client.HTTPSConnection("localhost", here.stand.facts["kubeletPort"], context=here.stand.context(), timeout=60)
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
        status, body = here.stand.get("/containerLogs/default/web/not-yet")
        self.assertEqual(status, 400)
        self.assertIn(b"waiting to start: ContainerCreating", body)
        self.assertEqual(here.stand.get("/containerLogs/default/nobody/main")[0], 404)
        self.assertEqual(here.stand.get("/containerLogs/default/web/main?tailLines=x")[0], 400)
        self.assertEqual(here.stand.get("/containerLogs/default/web")[0], 404)
        self.assertEqual(here.stand.get("/containerLogs/default/..%2F..%2Fetc/passwd")[0], 404)


class AccessTest(unittest.TestCase):
    def test_only_the_apiserver_is_answered(self):
        for target in ("/pods", "/containerLogs/default/web/main", "/exec/default/web/main?command=id&output=1"):
            self.assertEqual(here.stand.get(target, None)[0], 401)
            self.assertEqual(here.stand.get(target, "stranger")[0], 403)
        self.assertEqual(here.stand.get("/pods")[0], 200)

    def test_the_pages_of_a_kubelet_are_there(self):
        self.assertEqual(here.stand.get("/healthz"), (200, b"ok"))
        self.assertEqual(json.loads(here.stand.get("/pods")[1])["items"][0]["metadata"]["name"], "web")
        self.assertEqual(len(json.loads(here.stand.get("/runningpods/")[1])["items"]), 1)
        self.assertIn("kubeletconfig", json.loads(here.stand.get("/configz")[1]))
        summary = json.loads(here.stand.get("/stats/summary")[1])
        self.assertEqual(summary["pods"][0]["podRef"]["name"], "web")
        self.assertIn(b'container_memory_working_set_bytes{container="main"', here.stand.get("/metrics/resource")[1])
        self.assertEqual(here.stand.get("/metrics/cadvisor")[0], 200)
        self.assertEqual(here.stand.get("/nothing")[0], 404)


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
        session = here.stand.spdy(exec_target(["sh"], True, stderr=False, tty=True), "v4.channel.k8s.io")
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
        path = os.path.join(here.stand.folder, "pid")
        session = here.stand.spdy(exec_target(["sh", "-c", f"echo $$ > {path}.new; mv {path}.new {path}; exec sleep 1000"]), "v4.channel.k8s.io")
        for name in ("error", "stdout", "stderr"):
            session.open({"streamtype": name})
        await_true(lambda: os.path.exists(path), "the process did not start")
        with open(path) as file:
            pid = int(file.read())
        session.sock.sock.shutdown(socket.SHUT_RDWR)
        await_true(lambda: not os.path.exists(f"/proc/{pid}"), "the process lives on")

    def test_attach_joins_what_runs(self):
        session = here.stand.spdy(exec_target([], True, what="attach"), "v4.channel.k8s.io")
        streams = {name: session.open({"streamtype": name}) for name in ("error", "stdin", "stdout", "stderr")}
        streams["stdout"].wait(lambda s: s.received == b"attached\n")
        streams["stdin"].send(b"hello\n", True)
        self.assertEqual(streams["stdout"].read_all(), b"attached\nhello\n")
        self.assertEqual(json.loads(streams["error"].read_all())["status"], "Success")

    def test_wrong_requests_are_refused_before_anything_runs(self):
        cases = [(404, lambda: here.stand.spdy(exec_target(["true"], pod="nobody"), "v4.channel.k8s.io")),
                 (403, lambda: here.stand.spdy(exec_target(["true"]), "v9.channel.k8s.io")),
                 (403, lambda: here.stand.websocket(exec_target(["true"]), "v9.channel.k8s.io")),
                 (400, lambda: here.stand.spdy(exec_target([]), "v4.channel.k8s.io")),
                 (400, lambda: here.stand.spdy(exec_target(["true"], stdout=False, stderr=False), "v4.channel.k8s.io")),
                 (400, lambda: here.stand.upgrade(exec_target(["true"]), ["Upgrade: h2c"]))]
        for status, attempt in cases:
            with self.assertRaises(Refused) as refused:
                attempt()
            self.assertEqual(refused.exception.status, status)
        self.assertEqual(here.stand.get(exec_target(["true"]))[0], 400)

    def test_no_bytes_after_the_upgrade_bring_it_down(self):
        for rubbish in (b"\0" * 100000, b"\xff" * 100000, os.urandom(100000), b"GET / HTTP/1.1\r\n\r\n", b""):
            conn, _, _ = here.stand.upgrade(exec_target(["cat"], True), ["Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io"])
            try:
                conn.sendall(rubbish)
            except OSError:
                pass
            conn.close()
        self.assertEqual(here.stand.get("/healthz")[0], 200)


class WebSocketExecTest(unittest.TestCase):
    def collect(self, ws):
        channels = {}
        while (message := ws.receive()) is not None:
            channels[message[0]] = channels.get(message[0], b"") + message[1:]
        return channels

    def test_v5_ends_input_by_a_message(self):
        ws = here.stand.websocket(exec_target(["sh", "-c", "cat; echo err >&2; exit 7"], True), "v5.channel.k8s.io")
        self.assertEqual(ws.protocol, "v5.channel.k8s.io")
        ws.send(b"\0hello ")
        ws.send(b"\0world\n")
        ws.send(b"\xff\0")
        got = self.collect(ws)
        self.assertEqual((got[1], got[2]), (b"hello world\n", b"err\n"))
        self.assertEqual(json.loads(got[3])["details"]["causes"][0]["message"], "7")

    def test_much_output_comes_whole(self):
        ws = here.stand.websocket(exec_target(["head", "-c", "20000000", "/dev/zero"]), "v4.channel.k8s.io")
        got = self.collect(ws)
        self.assertEqual(len(got[1]), 20000000)
        self.assertEqual(json.loads(got[3])["status"], "Success")

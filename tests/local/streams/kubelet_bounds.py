#!/usr/bin/env python3
"""What one kubelet takes on at most, and what it says beyond that. Usage: kubelet_bounds.py STAND [TEST…]"""
import os
import socket
import sys
import threading
import unittest

import spdy_client
import stand_run as here
from pod_backend import Backend, await_true
from stand_client import Refused, exec_target

SESSIONS, LOGS = 4, 3


def memory():
    """Of the stand, in MB, now."""
    with open(f"/proc/{here.stand.process.pid}/status") as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1]) / 1024


def forward():
    return here.stand.spdy("/portForward/default/web", "portforward.k8s.io")


def drop(session):
    """At once, though its reader waits for more; and so that what still comes is answered by a reset."""
    session.sock.sock.shutdown(socket.SHUT_RDWR)
    session.reader.join(60)
    session.close()


def pair(session, port, request):
    error = session.open({"streamtype": "error", "port": str(port), "requestid": str(request)})
    error.end()
    return session.open({"streamtype": "data", "port": str(port), "requestid": str(request)}), error


def opened(make):
    """Another test's sessions may still be on their way out."""
    made = []

    def is_taken():
        try:
            made.append(make())
        except Refused:
            return False
        return True
    await_true(is_taken, "no place for a session")
    return made[0]


class SessionBoundTest(unittest.TestCase):
    def sleeper(self):
        session = here.stand.spdy(exec_target(["sleep", "1000"]), "v4.channel.k8s.io")
        for name in ("error", "stdout", "stderr"):
            session.open({"streamtype": name})
        return session

    def test_one_session_too_many_is_refused_in_words_and_a_place_that_is_free_is_given_again(self):
        makers = [self.sleeper, forward, self.sleeper, forward]
        sessions = [opened(make) for make in makers[:SESSIONS]]
        for attempt in (self.sleeper, forward,
                        lambda: here.stand.websocket(exec_target(["true"]), "v4.channel.k8s.io")):
            with self.assertRaises(Refused) as refused:
                attempt()
            self.assertEqual(refused.exception.status, 503)
            self.assertIn(f"too many exec, attach and port-forward sessions on this kubelet ({SESSIONS})",
                          refused.exception.body)
        drop(sessions.pop())
        sessions.append(opened(forward))
        for session in sessions:
            drop(session)
        self.assertEqual(here.stand.get("/healthz")[0], 200)

    def test_clients_that_never_open_their_streams_count_too(self):
        target = exec_target(["sleep", "1000"])
        waiting = []

        def is_full():
            try:
                waiting.append(here.stand.spdy(target, "v4.channel.k8s.io"))
            except Refused as refused:
                return refused.status == 503
            self.assertLessEqual(len(waiting), SESSIONS)
            return False
        await_true(is_full, "no end of sessions")
        for session in waiting:
            drop(session)
        drop(opened(forward))


class LogBoundTest(unittest.TestCase):
    def path(self, name):
        return os.path.join(here.stand.folder, "logs", f"default_web_{name}.log")

    def follow(self, name):
        conn = here.stand.connect()
        conn.sendall(f"GET /containerLogs/default/web/{name}?follow=true HTTP/1.1\r\nHost: n\r\n\r\n".encode())
        return conn

    def test_one_reader_too_many_is_refused(self):
        with open(self.path("many"), "w") as file:
            file.write("line\n")
        readers = [self.follow("many") for _ in range(LOGS)]
        for reader in readers:
            self.assertIn(b"200 OK", reader.recv(65536))
        status, body = here.stand.get("/containerLogs/default/web/many")
        self.assertEqual(status, 503)
        self.assertIn(f"too many logs are being read from this kubelet ({LOGS})".encode(), body)
        readers.pop().close()
        await_true(lambda: here.stand.get("/containerLogs/default/web/many")[0] == 200, "the place stayed taken")
        for reader in readers:
            reader.close()

    def test_a_client_that_does_not_read_its_log_costs_no_memory(self):
        with open(self.path("flood"), "w") as file:
            file.write("begin\n")
        reader = self.follow("flood")
        self.assertIn(b"200 OK", reader.recv(100))
        before = memory()
        line = "x" * 1000 + "\n"
        for _ in range(100):  # 100 MB
            with open(self.path("flood"), "a") as file:
                file.write(line * 1000)
            self.assertEqual(here.stand.get("/healthz")[0], 200)
        self.assertLess(memory() - before, 20)
        reader.close()


class ByteBoundTest(unittest.TestCase):
    def test_what_a_pod_does_not_take_is_not_taken_from_the_client(self):
        release = threading.Event()

        def deaf(sock):
            release.wait(120)

        with Backend(deaf, here.stand.pod()) as backend:
            session = opened(forward)
            pairs = [pair(session, backend.port, i) for i in range(20)]
            before = memory()
            sent = [0]

            def send():
                try:
                    for _ in range(100):
                        for data, _ in pairs:
                            data.send(b"x" * 100000)
                            sent[0] += 100000
                except OSError:
                    pass

            sender = threading.Thread(target=send, daemon=True)  # 200 MB
            sender.start()
            seen = [-1]

            def has_stopped():
                stands, seen[0] = seen[0] == sent[0], sent[0]
                sender.join(1)
                return stands
            await_true(has_stopped, "the kubelet takes everything")
            self.assertTrue(sender.is_alive(), "all of it was taken")
            self.assertLess(memory() - before, 30)
            self.assertEqual(here.stand.get("/healthz")[0], 200)
            drop(session)
            release.set()
            sender.join(60)

    def test_a_process_that_does_not_read_its_input_holds_its_client_up(self):
        session = opened(lambda: here.stand.spdy(exec_target(["sleep", "1000"], True), "v4.channel.k8s.io"))
        streams = {name: session.open({"streamtype": name}) for name in ("error", "stdin", "stdout", "stderr")}
        before = memory()

        def send():
            try:
                streams["stdin"].send(b"x" * 50000000)
            except OSError:
                pass
        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        sender.join(3)
        self.assertTrue(sender.is_alive(), "all of it was taken")
        self.assertLess(memory() - before, 20)
        drop(session)
        sender.join(60)

    def test_more_streams_than_allowed_are_refused(self):
        session = opened(forward)
        streams = [session.open({"streamtype": "error", "port": "1", "requestid": str(i)}) for i in range(2049)]
        streams[-1].wait(lambda stream: stream.was_reset)
        self.assertFalse(streams[0].was_reset)
        drop(session)


if __name__ == "__main__":
    sys.exit(here.run(sys.argv[1], ["__main__"], "--pod", "default/web=20", "--max-sessions", str(SESSIONS),
                      "--max-logs", str(LOGS)))

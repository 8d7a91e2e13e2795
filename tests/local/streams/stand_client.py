"""Starts the stand and speaks to it: TLS, HTTP/1.1, upgrades, WebSockets. Standard library only."""
import base64
import hashlib
import http.client
import json
import os
import socket
import ssl
import struct
import subprocess
import threading
from urllib.parse import urlencode

import spdy_client


class Tls:
    """A TLS connection that one thread may read while another writes."""

    def __init__(self, sock, context):
        self.sock = sock
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost")
        self.lock, self.send_lock = threading.Lock(), threading.Lock()
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.sock.sendall(self.outgoing.read())
                more = self.sock.recv(65536)
                if not more:
                    raise ConnectionError("the server ended the handshake")
                self.incoming.write(more)
        self.sock.sendall(self.outgoing.read())

    def sendall(self, data):
        with self.send_lock:
            with self.lock:
                self.tls.write(data)
                encrypted = self.outgoing.read()
            self.sock.sendall(encrypted)

    def recv(self, size):
        while True:
            with self.lock:
                try:
                    return self.tls.read(size)
                except ssl.SSLWantReadError:
                    pass
                except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                    return b""
            more = self.sock.recv(1 << 18)
            with self.lock:
                if more:
                    self.incoming.write(more)
                else:
                    self.incoming.write_eof()

    def close(self):
        self.sock.close()


class Refused(Exception):
    def __init__(self, status, body):
        super().__init__(f"{status}: {body!r}")
        self.status, self.body = status, body


class WebSocket:
    def __init__(self, conn, rest):
        self.conn, self.buffer = conn, rest
        self.lock = threading.Lock()

    def take(self, size):
        while len(self.buffer) < size:
            more = self.conn.recv(65536)
            if not more:
                raise EOFError
            self.buffer += more
        part, self.buffer = self.buffer[:size], self.buffer[size:]
        return part

    def send(self, payload, opcode=2):
        mask = os.urandom(4)
        size = len(payload)
        head = bytes([0x80 | opcode])
        head += bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size) if size < 65536 else b"\xff" + struct.pack(">Q", size)
        key = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")
        with self.lock:
            self.conn.sendall(head + mask + masked)

    def receive(self):
        """The next message, or None at the close."""
        message = b""
        while True:
            first, second = self.take(2)
            size = second & 127
            if size == 126:
                size, = struct.unpack(">H", self.take(2))
            elif size == 127:
                size, = struct.unpack(">Q", self.take(8))
            payload = self.take(size)
            opcode = first & 15
            if opcode == 8:
                self.send(payload, 8)
                return None
            if opcode in (9, 10):
                continue
            message += payload
            if first & 0x80:
                return message

    # As a socket whose bytes are the messages', for a tunnel.
    def sendall(self, data):
        self.send(data)

    def recv(self, _):
        try:
            return self.receive() or b""
        except EOFError:
            return b""

    def close(self):
        self.conn.close()


class NotBuilt(Exception):
    """The stand's own words on what is missing are on standard error."""


class Stand:
    def __init__(self, program, folder, *arguments):
        self.folder = folder
        self.process = subprocess.Popen([program, "--dir", folder, *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait(60)
            raise NotBuilt if code == 77 else RuntimeError(f"the stand ended with exit code {code}")
        self.facts = json.loads(line)

    def pod(self, first=127):
        """The address of the pod that was given the number 20; in the cluster it begins with 10."""
        return f"{first}.{16 + 8 * self.facts['index']}.0.20"

    def service(self, last, first=127):
        return f"{first}.{201 + self.facts['index']}.0.{last}"

    def tell(self, command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ok\n"

    def stop(self):
        self.process.stdin.close()
        self.process.wait(30)

    def context(self, who="client"):
        context = ssl.create_default_context(cafile=os.path.join(self.folder, "ca.crt"))
        if who:
            context.load_cert_chain(os.path.join(self.folder, who + ".crt"), os.path.join(self.folder, who + ".key"))
        return context

    def connect(self, who="client"):
        sock = socket.create_connection(("127.0.0.1", self.facts["kubeletPort"]), 60)
        return Tls(sock, self.context(who))

    def get(self, target, who="client"):
        connection = http.client.HTTPSConnection("localhost", self.facts["kubeletPort"], context=self.context(who), timeout=60)
        connection.connect()
        connection.request("GET", target)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def upgrade(self, target, headers, method="POST"):
        """The bare connection and the answer's headers; Refused without a 101."""
        conn = self.connect()
        lines = [f"{method} {target} HTTP/1.1", "Host: node:10250", "Connection: Upgrade"] + headers
        conn.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = conn.recv(65536)
            if not more:
                raise ConnectionError(answer)
            answer += more
        head, rest = answer.split(b"\r\n\r\n", 1)
        lines = head.decode().split("\r\n")
        status = int(lines[0].split()[1])
        fields = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in lines[1:]}
        if status != 101:
            size = int(fields.get("content-length", 0))
            while len(rest) < size:
                rest += conn.recv(65536)
            conn.close()
            raise Refused(status, rest.decode())
        return conn, rest, fields

    def spdy(self, target, *protocols):
        headers = ["Upgrade: SPDY/3.1"] + [f"X-Stream-Protocol-Version: {p}" for p in protocols]
        conn, rest, fields = self.upgrade(target, headers)
        session = spdy_client.Session(conn, rest)
        session.protocol = fields["x-stream-protocol-version"]
        return session

    def websocket(self, target, protocols):
        key = base64.b64encode(os.urandom(16)).decode()
        headers = ["Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}",
                   f"Sec-WebSocket-Protocol: {protocols}"]
        conn, rest, fields = self.upgrade(target, headers, "GET")
        wanted = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        assert fields["sec-websocket-accept"] == wanted
        socket_ = WebSocket(conn, rest)
        socket_.protocol = fields.get("sec-websocket-protocol")
        return socket_

    def proxy(self, target):
        """A connection through the egress proxy."""
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(60)
        sock.connect(self.facts["egressSocket"])
        sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = sock.recv(1)
            if not more:
                break
            answer += more
        status = int(answer.split()[1])
        if status != 200:
            sock.close()
            raise Refused(status, "")
        return sock


def exec_target(command, stdin=False, stdout=True, stderr=True, tty=False, pod="web", what="exec"):
    query = [("command", part) for part in command]
    query += [(name, "1") for name, on in (("input", stdin), ("output", stdout), ("error", stderr), ("tty", tty)) if on]
    return f"/{what}/default/{pod}/main?" + urlencode(query)

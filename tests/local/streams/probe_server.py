#!/usr/bin/env python3
"""What probes and hooks ask, in a container of a test. Usage: probe_server.py http|https|grpc PORT [CERTIFICATE KEY]
Listens on $POD_IP. HTTP: /ok, /fail, /strict (wants its headers), /redirect (to /fail), /round (to itself), /away (to
another host), /slow. gRPC: the health service, whose answer follows from the name of the service asked for."""
import http.server
import os
import socket
import ssl
import struct
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = self.path.split("?")[0]
        status, location = 200, None
        if path == "/fail":
            status = 500
        elif path == "/strict":
            wanted = {"Host": "probe.example", "X-Token": "t0p", "User-Agent": "kube-probe/1.34", "Accept": "*/*"}
            status = 200 if all(self.headers.get(name) == value for name, value in wanted.items()) else 400
        elif path in ("/redirect", "/round", "/away"):
            status = 302
            location = {"/redirect": "/fail", "/round": "/round", "/away": "http://elsewhere.example/"}[path]
        elif path == "/slow":
            time.sleep(30)
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()
        print(path, status, flush=True)

    def log_message(self, *_):
        pass


def exactly(sock, size):
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def field(name, value):
    """A header that nobody is to remember, without any compression."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def answer(sock, stream, message):
    size, = struct.unpack(">I", message[1:5])
    service = message[7:].decode() if size else ""
    status = {"": 1, "down": 2}.get(service)
    head = b"\x88" + field(b"content-type", b"application/grpc")  # :status 200
    if status is not None:
        sock.sendall(frame(1, 4, stream, head) + frame(0, 0, stream, b"\0\0\0\0\2\x08" + bytes([status]))
                     + frame(1, 5, stream, field(b"grpc-status", b"0")))
        return
    if service == "silent":
        return
    code, text = (b"12", b"unknown service") if service == "none" else (b"5", b"no such service")
    sock.sendall(frame(1, 5, stream, head + field(b"grpc-status", code) + field(b"grpc-message", text)))


def serve_grpc(sock):
    """HTTP/2 by hand, as much as one call without compressed headers needs."""
    try:
        assert exactly(sock, 24) == b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        sock.sendall(frame(4, 0, 0, b""))
        messages = {}
        while True:
            head = exactly(sock, 9)
            size, = struct.unpack(">I", b"\0" + head[:3])
            kind, flags = head[3], head[4]
            stream, = struct.unpack(">I", head[5:])
            payload = exactly(sock, size)
            if kind == 4 and not flags & 1:
                sock.sendall(frame(4, 1, 0, b""))
            elif kind == 6 and not flags & 1:
                sock.sendall(frame(6, 1, 0, payload))
            elif kind == 0:
                messages[stream] = messages.get(stream, b"") + payload
                if flags & 1:
                    answer(sock, stream, messages.pop(stream))
    except (EOFError, OSError):
        sock.close()


def main():
    kind, address = sys.argv[1], (os.environ["POD_IP"], int(sys.argv[2]))
    if kind == "grpc":
        listener = socket.create_server(address)
        print("listening", flush=True)
        while True:
            threading.Thread(target=serve_grpc, args=(listener.accept()[0],), daemon=True).start()
    server = http.server.ThreadingHTTPServer(address, Handler)
    if kind == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print("listening", flush=True)
    server.serve_forever()


main()

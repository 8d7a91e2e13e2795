#!/usr/bin/env python3
"""Sends every recorded request of a real vLLM to our engine and compares the answers.

Compared are the status, the headers that matter, and the shape of the JSON (keys and types, recursively); of errors
also the words. A difference must be named in allowed_differences.json with its reason; an allowance that is not
needed any more is an error too. Standard library only.
"""

import argparse
import fnmatch
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

EXACT_HEADERS = ("content-type", "allow", "vary", "location", "connection", "access-control-allow-origin",
                 "access-control-allow-methods", "access-control-allow-headers", "access-control-max-age",
                 "www-authenticate", "retry-after")
PRESENT_HEADERS = ("date", "server", "content-length", "transfer-encoding", "x-request-id")
# Objects whose keys are data: tokens or token ids.
DATA_KEYED = re.compile(r"\.(top_logprobs\[\]|prompt_logprobs\[\])$")


class Recording:
    def __init__(self, path):
        self.name = os.path.basename(path)[:-len(".http")]
        with open(path, encoding="utf-8", newline="") as file:
            text = file.read().replace("\r\n", "\n")
        text = text.split("\n", 1)[1]  # the line with times
        request, response = re.split(r"\n\n(?=HTTP/1\.1 )", text, maxsplit=1)
        head, _, self.body = request.partition("\n\n")
        self.request_lines = head.split("\n")
        self.status, self.headers, self.answer = parse_answer(response)
        self.answer = self.answer[:-1] if self.answer.endswith("\n") else self.answer
        self.method = self.request_lines[0].split(" ")[0]

    def wants_keys(self):
        """Recorded against the server with a key and the further flags?"""
        head = "\n".join(self.request_lines).lower()
        return self.name.startswith(("key-", "flags-")) or "authorization:" in head

    def to_bytes(self, port):
        body = self.body.encode()
        lines = []
        for line in self.request_lines:
            if line.lower().startswith("content-length:"):
                line = f"Content-Length: {len(body)}"
            lines.append(line.replace("PORT", str(port)))
        return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def parse_answer(text):
    head, _, body = text.partition("\n\n")
    lines = head.split("\n")
    headers = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return int(lines[0].split(" ")[1]), headers, body


def exchange(port, data, method, timeout=120):
    """One request on its own connection; the body with the transfer chunks undone."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as peer:
        peer.sendall(data)
        stream = peer.makefile("rb")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline()
            if not line:
                raise RuntimeError("the server closed the connection without an answer")
            head += line
        status, headers, _ = parse_answer(head.decode().replace("\r\n", "\n"))
        body = b""
        if method != "HEAD" and headers.get("transfer-encoding") == "chunked":
            while True:
                size = int(stream.readline(), 16)
                body += stream.read(size)
                stream.readline()
                if size == 0:
                    break
        elif method != "HEAD" and "content-length" in headers:
            body = stream.read(int(headers["content-length"]))
        elif method != "HEAD":
            body = stream.read()
        return status, headers, body.decode()


def shape(value, path=""):
    """Keys and types. Of a list the different shapes of its members; {"*": …} where keys are data."""
    if isinstance(value, dict):
        if DATA_KEYED.search(path):
            return {"*": distinct(shape(item, path + ".*") for item in value.values())}
        return {key: shape(item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, list):
        return distinct(shape(item, path + "[]") for item in value)
    if value is None:
        return "null"
    return {bool: "bool", int: "int", float: "float", str: "str"}[type(value)]


def distinct(shapes):
    found = []
    for item in shapes:
        if item not in found:
            found.append(item)
    return sorted(found, key=lambda item: json.dumps(item, sort_keys=True))


def is_error(value):
    return isinstance(value, dict) and ("error" in value or value.get("object") == "error" or "detail" in value)


def events_of(text):
    """The data of each event, and the names of those that have one."""
    found = []
    for block in text.strip("\n").split("\n\n"):
        name, data = None, None
        for line in block.split("\n"):
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                data = line[6:]
        found.append((name, data))
    return found


def compare_json(theirs, ours):
    if is_error(theirs) or is_error(ours):
        if theirs != ours:
            yield "message", f"theirs {json.dumps(theirs)[:400]}\n      ours   {json.dumps(ours)[:400]}"
        return
    expected, actual = shape(theirs), shape(ours)
    if expected != actual:
        for line in differences(expected, actual, ""):
            yield "shape", line


def differences(expected, actual, path):
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in expected:
            if key not in actual:
                yield f"{path}.{key}: missing"
            else:
                yield from differences(expected[key], actual[key], f"{path}.{key}")
        for key in actual:
            if key not in expected:
                yield f"{path}.{key}: too much"
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual) == 1:
        yield from differences(expected[0], actual[0], path + "[]")
    elif expected != actual:
        yield f"{path}: theirs {json.dumps(expected)[:300]}, ours {json.dumps(actual)[:300]}"


def without_timing(chunk):
    """Whether the last text comes with the end or before it depends on how fast the steps follow each other."""
    for choice in chunk.get("choices") or []:
        if choice.get("finish_reason") and "delta" in choice:
            choice["delta"] = {}
    return chunk


def compare_streams(theirs, ours):
    theirs, ours = events_of(theirs), events_of(ours)
    if (theirs[-1][1] == "[DONE]") != (ours[-1][1] == "[DONE]"):
        yield "stream", f"last event: theirs {theirs[-1]}, ours {ours[-1]}"
    parsed = []
    for events in (theirs, ours):
        parsed.append([(name, json.loads(data)) for name, data in events if data != "[DONE]"])
    if any(is_error(value) for _, value in parsed[0] + parsed[1]):
        errors = [[value for _, value in events if is_error(value)] for events in parsed]
        if errors[0] != errors[1]:
            yield "message", f"theirs {json.dumps(errors[0])[:400]}, ours {json.dumps(errors[1])[:400]}"
        return
    shapes = [[(name, shape(without_timing(value))) for name, value in events] for events in parsed]
    for which, place in (("first", 0), ("last", -1)):
        if shapes[0][place] != shapes[1][place]:
            yield "stream", f"{which} chunk: theirs {shapes[0][place]}, ours {shapes[1][place]}"
    for item in distinct(shapes[0]):
        if item not in shapes[1]:
            yield "stream", f"no such chunk: {item}"
    for item in distinct(shapes[1]):
        if item not in shapes[0]:
            yield "stream", f"unknown chunk: {item}"


def compare(recording, status, headers, body, port):
    if status != recording.status:
        yield "status", f"theirs {recording.status}, ours {status}: {body[:300]}"
    for name in EXACT_HEADERS:
        expected = recording.headers.get(name, "").replace("PORT", str(port))
        if headers.get(name, "") != expected:
            yield f"header:{name}", f"theirs {expected!r}, ours {headers.get(name, '')!r}"
    for name in PRESENT_HEADERS:
        if (name in headers) != (name in recording.headers):
            yield f"header:{name}", f"theirs {recording.headers.get(name)!r}, ours {headers.get(name)!r}"
    if recording.headers.get("content-type", "").startswith("text/plain; version="):
        return  # a metrics page; its families have their own tests
    if recording.headers.get("content-type", "").startswith("text/event-stream"):
        if headers.get("content-type", "").startswith("text/event-stream"):
            yield from compare_streams(recording.answer, body)
        return
    try:
        theirs, ours = json.loads(recording.answer), json.loads(body)
    except ValueError:
        if body != recording.answer:
            yield "text", f"theirs {recording.answer[:200]!r}, ours {body[:200]!r}"
        return
    yield from compare_json(theirs, ours)


class Server:
    """One engine process on a free port of the loopback."""

    def __init__(self, program, model, flags, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = open(os.path.join(folder, f"engine-{self.port}.log"), "w+", encoding="utf-8")
        self.process = subprocess.Popen([program, "serve", model, "--host", "127.0.0.1", "--port", str(self.port)]
                                        + flags, stdout=self.log, stderr=subprocess.STDOUT)

    def wait(self, seconds):
        deadline = time.monotonic() + seconds
        request = b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                if exchange(self.port, request, "GET", 5)[0] == 200:
                    return
            except (OSError, RuntimeError):
                time.sleep(0.1)
        self.log.seek(0)
        raise SystemExit("the engine did not start:\n" + self.log.read()[-3000:])

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


class Load:
    """Ten streams that keep the server at its limit while one more request is made."""

    def __init__(self, port):
        body = json.dumps({"model": "smollm2", "prompt": "Once", "max_tokens": 480, "stream": True,
                           "ignore_eos": True}).encode()
        head = ("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                f"Authorization: Bearer secret\r\nContent-Length: {len(body)}\r\n\r\n").encode()
        self.peers = []
        for _ in range(10):
            peer = socket.create_connection(("127.0.0.1", port), timeout=60)
            peer.sendall(head + body)
            peer.recv(64)  # the head of the answer: the request is in
            self.peers.append(peer)
        self.readers = [threading.Thread(target=self.drain, args=(peer,), daemon=True) for peer in self.peers]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def drain(peer):
        try:
            while peer.recv(65536):
                pass
        except OSError:
            pass

    def stop(self):
        for peer in self.peers:
            try:
                peer.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            peer.close()


class Allowances:
    def __init__(self, path, version):
        with open(path, encoding="utf-8") as file:
            self.entries = [entry for entry in json.load(file) if entry["version"] in (version, "*")]
        for entry in self.entries:
            entry["used"] = 0

    def allows(self, name, kind, detail):
        for entry in self.entries:
            names = entry["recording"] if isinstance(entry["recording"], list) else [entry["recording"]]
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in names):
                continue
            if fnmatch.fnmatchcase(kind, entry.get("kind", "*")) and entry.get("contains", "") in detail:
                entry["used"] += 1
                return True
        return False

    def unused(self):
        return [entry for entry in self.entries if not entry["used"] and not entry.get("depends_on_cpu")]


def flags_of(version):
    common = ["--served-model-name", "smollm2", "--max-model-len", "512", "--max-num-seqs", "8",
              "--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    if version == "v0.8.5":
        common += ["--api-dialect", "0.8"]
    keyed = ["--api-key", "secret", "--enable-request-id-headers", "--enable-server-load-tracking",
             "--enable-prompt-tokens-details"]
    if version != "v0.8.5":
        keyed += ["--max-num-queued-reqs", "10"]
    return common, common + keyed


def replay(recording, port):
    busy = recording.status == 503 or recording.name == "flags-load-tracking-during-load"
    load = Load(port) if busy else None
    try:
        status, headers, body = exchange(port, recording.to_bytes(port), recording.method)
    finally:
        if load:
            load.stop()
            time.sleep(0.2)
    return list(compare(recording, status, headers, body, port))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True, choices=["v0.8.5", "v0.32.0"])
    parser.add_argument("--program", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--recordings", required=True)
    parser.add_argument("--allowed", required=True)
    parser.add_argument("--only", default="*")
    args = parser.parse_args()
    if not os.path.exists(args.model):
        print(f"skipped: no model at {args.model}")
        return 77
    folder = os.path.join(args.recordings, args.version)
    names = sorted(name for name in os.listdir(folder) if name.endswith(".http"))
    recordings = [Recording(os.path.join(folder, name)) for name in names]
    recordings = [item for item in recordings if fnmatch.fnmatchcase(item.name, args.only)]
    allowances = Allowances(args.allowed, args.version)
    bad = allowed = 0
    with tempfile.TemporaryDirectory() as logs:
        servers = [Server(args.program, args.model, flags, logs) for flags in flags_of(args.version)]
        try:
            for server in servers:
                server.wait(120)
            for recording in recordings:
                server = servers[1 if recording.wants_keys() else 0]
                try:
                    found = replay(recording, server.port)
                except (OSError, RuntimeError, ValueError) as error:
                    found = [("connection", str(error))]
                for kind, detail in found:
                    if allowances.allows(recording.name, kind, detail):
                        allowed += 1
                    else:
                        bad += 1
                        print(f"DIFFERENT {recording.name} [{kind}] {detail}", flush=True)
        finally:
            for server in servers:
                server.stop()
    if args.only == "*":
        for entry in allowances.unused():
            bad += 1
            print(f"UNUSED allowance: {entry['recording']} [{entry.get('kind', '*')}] {entry['reason']}")
    print(f"{len(recordings)} exchanges of vLLM {args.version}, {allowed} allowed differences, {bad} problems")
    return 1 if bad or not recordings else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What a running local target takes on at most, and what it says at the limit.   target_bounds.py BIN_DIR [PART ...]
Exit status 77: the part with a cluster was skipped, with the reason; the others have passed."""
import concurrent.futures
import glob
import json
import os
import resource
import socket
import ssl
import sys
import threading
import time
import urllib.parse
import urllib.request

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "kubectl"), os.path.join(here, "..", "e2e")]
import cluster
from local_target import LocalTarget, run_or_skip

CONNECTIONS = 512  # of Google's APIs
BODY = 16 << 20
THROUGH_EGRESS = 4096
OBJECT = 3 << 20  # what Kubernetes' server takes


class Client:
    """A connection of TLS, and HTTP by hand."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # one for all: they cost more than the connections
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE

    def __init__(self, url):
        host, port = urllib.parse.urlsplit(url).netloc.split(":")
        self.socket = self.context.wrap_socket(socket.create_connection((host, int(port)), 60))

    def ask(self, head, body=b""):
        """Status and text of the answer; the connection may have been cut behind it."""
        try:
            self.socket.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body)
        except OSError:
            pass  # refused before it was all sent: the answer is there
        return self.answer()

    def answer(self):
        data = b""
        while b"\r\n\r\n" not in data:
            more = self.socket.recv(65536)
            assert more, f"cut: {data!r}"
            data += more
        head, _, text = data.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(fields.get(b"content-length", b"0"))
        while len(text) < length:
            more = self.socket.recv(65536)
            assert more, "the answer is not whole"
            text += more
        return int(head.split()[1]), text.decode(errors="replace")

    def close(self):
        self.socket.close()


def sizes(target, google):
    authorization = f"Host: x\nAuthorization: Bearer {google.token}"
    path = "/iam/v1/projects/slipway-local/serviceAccounts"
    # By what is announced: refused before a byte of it comes.
    client = Client(google.url)
    status, text = client.ask(f"POST {path} HTTP/1.1\n{authorization}\nContent-Length: {BODY + 1}")
    assert status == 413 and text, (status, text)
    client.close()
    # And by what comes.
    client = Client(google.url)
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    status, text = client.ask(f"POST {path} HTTP/1.1\n{authorization}\nTransfer-Encoding: chunked",
                              piece * (BODY // 0x10000 + 2))
    assert status == 413 and text, (status, text)
    client.close()
    client = Client(google.url)
    status, text = client.ask(f"GET {path} HTTP/1.1\n{authorization}\nX-Long: {'x' * 70000}")
    assert status == 431 and text, (status, text)
    client.close()
    # An object is no body in memory: it may be larger than that.
    google.ask("POST", "/storage/storage/v1/b?project=slipway-local", {"name": "bounds-bucket"})
    client = Client(google.url)
    status, text = client.ask("POST /storage/upload/storage/v1/b/bounds-bucket/o?uploadType=media&name=large HTTP/1.1\n"
                              f"{authorization}\nContent-Length: {BODY + 5}", b"x" * (BODY + 5))
    assert status == 200 and json.loads(text)["size"] == str(BODY + 5), (status, text[:300])
    client.close()


def open_sockets(pid):
    count = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
        except OSError:
            continue
    return count


def connections(target, google):
    """Idle ones make way for new ones, so that there are never many more than the limit."""
    pid = target.status()["pid"]
    before = open_sockets(pid)
    request = f"GET /storage/storage/v1/b?project=slipway-local HTTP/1.1\nHost: x\nAuthorization: Bearer {google.token}"

    def served(_):
        client = Client(google.url)
        status, text = client.ask(request)
        assert status == 200, (status, text)
        return client
    oldest = served(0)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        clients = list(pool.map(served, range(CONNECTIONS + 50)))
    # On a slow machine some have been idle for too long by now: there may be fewer, but never more.
    assert open_sockets(pid) - before <= CONNECTIONS + 10, open_sockets(pid)
    # The longest idle has gone, the newest is served.
    assert oldest.socket.recv(1) == b"", "the longest idle is still there"
    served(0).close()
    for client in clients:
        client.close()
    target.await_true("their places are free", lambda: open_sockets(pid) - before < 20, 30)


def kubernetes(target, google):
    """The real server's own limits, as it is started here."""
    target.need_control_plane()
    google.do("POST", cluster.PARENT + "/clusters", {"cluster": {"name": "c1", "nodePools": [
        {"name": "p", "initialNodeCount": 1, "config": {"machineType": "e2-standard-4"}}]}})
    described = google.ask("GET", cluster.PARENT + "/clusters/c1")
    url = "https://" + described["endpoint"]
    authorization = f"Host: x\nAuthorization: Bearer {google.token}\nContent-Type: application/json"
    large = json.dumps({"metadata": {"name": "large"}, "data": {"a": "x" * (OBJECT + 1)}}).encode()
    client = Client(url)
    status, text = client.ask(f"POST /api/v1/namespaces/default/configmaps HTTP/1.1\n{authorization}\n"
                              f"Content-Length: {len(large)}", large)
    assert status == 413 and "Request entity too large: limit is 3145728" in text, (status, text[:300])
    client.close()
    watches(url, google.token)
    egress(target, pod_address(target, url, google.token))


def pod_address(target, url, token):
    """Of a pod without a process: what lies in the pods' range."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                         urllib.request.HTTPSHandler(context=Client.context))

    def ask(method, path, body=None):
        request = urllib.request.Request(url + "/api/v1/namespaces/default/pods" + path, body, method=method, headers={
            "Authorization": "Bearer " + token, "Content-Type": "application/json"})
        with opener.open(request, timeout=60) as answer:
            return json.load(answer)
    pod = {"metadata": {"name": "place"}, "spec": {"containers": [{"name": "main", "image": "registry.k8s.io/pause"}]}}
    target.await_true("the pod is taken", lambda: ask("POST", "", json.dumps(pod).encode()))
    target.await_true("the pod has an address", lambda: ask("GET", "/place")["status"]["podIP"])
    return ask("GET", "/place")["status"]["podIP"]


def watches(url, token, count=450):
    """More watches than requests in flight are allowed (400) are taken and told of changes: they are no requests in
    flight. Requests beside them are answered."""
    clients = []
    for _ in range(count):
        client = Client(url)
        client.socket.sendall(f"GET /api/v1/namespaces/default/configmaps?watch=1 HTTP/1.1\r\nHost: x\r\n"
                              f"Authorization: Bearer {token}\r\n\r\n".encode())
        clients.append(client)
    said = []

    def read(client):
        text = b""
        while b'"bounds"' not in text:
            more = client.socket.recv(65536)
            if not more:
                return
            text += more
        said.append(client)
    readers = [threading.Thread(target=read, args=(client,)) for client in clients]
    for reader in readers:
        reader.start()
    body = b'{"metadata": {"name": "bounds"}}'
    status, text = Client(url).ask("POST /api/v1/namespaces/default/configmaps HTTP/1.1\nHost: x\nAuthorization: Bearer "
                                   f"{token}\nContent-Type: application/json\nContent-Length: {len(body)}", body)
    assert status == 201, (status, text)
    end = time.monotonic() + 120
    for reader in readers:
        reader.join(max(0.0, end - time.monotonic()))
    assert len(said) == count, f"{len(said)} of {count} watches saw the change"
    for client in clients:
        client.close()


def connect(path, where):
    """A connection through the egress proxy, or its refusal: socket, status, text."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect(path)
    client.sendall(f"CONNECT {where} HTTP/1.1\r\nHost: {where}\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        more = client.recv(1000)
        assert more, answer
        answer += more
    return client, int(answer.split()[1]), answer.decode()


def egress(target, pod):
    """What the API server sends into the cluster goes through one proxy: so many connections, and then words."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 3 * THROUGH_EGRESS:
        print(f"egress: not tried, for only {hard} files may be open here")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    path = glob.glob(os.path.join(target.root, "t", "clusters", "*", "run", "egress.sock"))[0]
    address = ".".join(pod.split(".")[1:3]) + ".250"
    with socket.create_server(("127." + address, 0), backlog=1024) as server:
        accepted = []

        def accept():
            try:
                while True:
                    accepted.append(server.accept()[0])
            except OSError:
                return
        threading.Thread(target=accept, daemon=True).start()
        where = f"10.{address}:{server.getsockname()[1]}"
        clients = []
        status = 200
        while status == 200 and len(clients) <= THROUGH_EGRESS:
            client, status, text = connect(path, where)
            clients.append(client)
        assert status == 503 and "too many connections into the cluster" in text, (status, text)
        assert THROUGH_EGRESS - 100 <= len(clients), len(clients)  # the server itself has a few
        for end in clients[:50] + accepted[:50]:  # a server that goes on would keep its half of a connection
            end.close()
        target.await_true("their places are given again", lambda: connect(path, where)[1] == 200, 30)
        for client in clients + accepted:
            client.close()


def main():
    with LocalTarget(os.path.abspath(sys.argv[1])) as target:
        target.start()
        google = cluster.Google(target.environment)
        for part in (sizes, connections, kubernetes):
            if sys.argv[2:] and part.__name__ not in sys.argv[2:]:
                continue
            begun = time.monotonic()
            part(target, google)
            print(f"{part.__name__}: {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    run_or_skip(main)

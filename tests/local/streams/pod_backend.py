"""TCP servers that play a pod's, for the tests beside this file."""
import socket
import threading
import time


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


def echo_until(size):
    """A server that sends back what comes, as it comes, and ends after so many bytes: both ways are busy at once."""
    def serve(sock):
        seen = 0
        while seen < size:
            more = sock.recv(65536)
            if not more:
                return
            seen += len(more)
            sock.sendall(more)
        sock.shutdown(socket.SHUT_WR)
        sock.recv(1)
    return serve


def await_true(condition, what):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)

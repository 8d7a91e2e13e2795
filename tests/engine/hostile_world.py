#!/usr/bin/env python3
"""What the world does to a running engine: signals, crowds, lost files, full pipes, too little memory.

usage: hostile_world.py ENGINE MODEL EMBEDDING_MODEL [CASE]
Each function below whose name begins with "when" is a case. 77 without the models.
"""

import json
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

from engine_under_attack import Engine, children, in_threads, wait_for

PROGRAM, MODEL, EMBEDDINGS = (sys.argv[1:4] + [""] * 3)[:3]
ENDLESS = {"model": "m", "prompt": "Once upon a time", "max_tokens": 450, "ignore_eos": True, "stream": True}


def engine(*flags, model=MODEL, **more):
    return Engine(PROGRAM, model, flags, **more)


def post(path, body, more=""):
    data = json.dumps(body).encode()
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n{more}\r\n"
            .encode() + data)


def read_to_end(peer):
    text = b""
    while True:
        part = peer.recv(65536)
        if not part:
            return text.decode()
        text += part


def begun_stream(server, **fields):
    peer = server.connect()
    peer.sendall(post("/v1/completions", {**ENDLESS, **fields}, "Connection: close\r\n"))
    text = b""
    while b"data: {" not in text:
        text += peer.recv(1000)
    return peer


def must_end(arguments, code, words, limits=None, environment=None):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, env=environment,
                          preexec_fn=limits)
    text = done.stdout + done.stderr
    assert done.returncode == code, f"status {done.returncode} instead of {code}: {text[-600:]}"
    assert words in text, text[-600:]


def when_the_runner_is_killed_while_sixteen_clients_stream():
    with engine().wait_ready() as server:
        begun_stream(server)  # one goes at once
        def stream(index):
            with server.connect(120) as peer:
                peer.sendall(post("/v1/completions", {**ENDLESS, "prompt": f"Story {index}"}, "Connection: close\r\n"))
                return read_to_end(peer)
        def kill_soon(index):
            if index < 16:
                return stream(index)
            wait_for(lambda: server.gauge("vllm:num_requests_running") >= 8, 60, "eight run")
            os.kill(server.runner(), signal.SIGKILL)
            return ""
        texts = in_threads(17, kill_soon)
        for text in texts[:16]:
            assert isinstance(text, str), text
            assert '"error"' in text and "was not finished" in text, text[-400:]
            assert '"finish_reason":"length"' not in text and '"finish_reason":"stop"' not in text, text[-400:]
        assert server.ask("/health")[0] in (200, 503)
        wait_for(lambda: server.complete()[0] == 200, 60, "the next request works")
        wait_for(server.is_idle, 30, "nothing is left")
        assert server.stop() == 0


def when_the_runner_is_stopped_in_the_middle():
    with engine(environment={"VLLM_ENGINE_ITERATION_TIMEOUT_S": "3"}).wait_ready() as server:
        with begun_stream(server) as peer:
            os.kill(server.runner(), signal.SIGSTOP)
            text = read_to_end(peer)
        assert "it hung: no step for 3.0 s" in text and '"error"' in text, text[-400:]
        wait_for(lambda: server.complete()[0] == 200, 60, "the next request works")


def when_the_runner_is_killed_again_and_again_while_it_loads():
    with engine() as server:
        for _ in range(10):
            try:
                runner = wait_for(lambda: server.process.poll() is not None or server.runner(), 60, "a runner")
                if runner is True:
                    break
                os.kill(runner, signal.SIGKILL)
            except (ProcessLookupError, OSError):
                pass
            time.sleep(0.05)
        assert server.process.wait(60) == 7, server.log()[-500:]
        assert "could not get ready" in server.log()


def when_the_front_is_killed():
    with engine().wait_ready() as server:
        runner = server.runner()
        begun_stream(server).close()
        server.process.kill()
        server.process.wait()
        wait_for(lambda: not os.path.exists(f"/proc/{runner}") or "Z" in open(f"/proc/{runner}/stat").read().split()[2],
                 20, "the runner went with it")


def when_it_is_asked_to_end_while_it_streams():
    with engine().wait_ready() as server:
        with begun_stream(server) as peer:
            assert server.stop(20) == 0, server.log()[-500:]
            assert '"finish_reason":"length"' not in read_to_end(peer)


def when_it_is_asked_to_end_while_it_loads():
    with engine() as server:
        wait_for(lambda: "loading" in server.log(), 60, "it loads")
        assert server.stop(20) == 0, server.log()[-500:]


def when_two_hundred_ask_at_once():
    with engine().wait_ready() as server:
        answers = in_threads(200, lambda index: server.complete(max_tokens=1, prompt=f"Number {index}", timeout=240))
        wrong = [answer for answer in answers if not isinstance(answer, tuple) or answer[0] != 200]
        assert not wrong, wrong[:3]
        wait_for(server.is_idle, 30, "nothing is left")


def when_two_thousand_say_nothing():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    idle = []
    with engine().wait_ready() as server:
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (300, 300))  # fewer than come
        for _ in range(2000):
            peer = socket.socket()
            peer.setblocking(False)
            peer.connect_ex(("127.0.0.1", server.port))
            idle.append(peer)
        status, text = server.complete(max_tokens=1, timeout=120)
        assert status == 200, text
        for peer in idle:
            peer.close()
        assert server.complete(max_tokens=1)[0] == 200
        assert server.stop() == 0
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def when_clients_send_byte_by_byte():
    with engine().wait_ready() as server:
        slow = [server.connect() for _ in range(50)]
        for peer in slow:
            peer.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nX: ")
        assert server.complete()[0] == 200
        for peer in slow[:3]:  # the rest of the header never comes
            assert "408" in read_to_end(peer).split("\r\n")[0]


def when_clients_do_not_read():
    with engine("--max-num-seqs", "32", "--kv-cache-tokens", "16384").wait_ready() as server:
        silent = []
        for _ in range(16):
            peer = socket.socket()
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            peer.connect(("127.0.0.1", server.port))
            peer.sendall(post("/v1/completions", ENDLESS))
            silent.append(peer)
        assert server.complete()[0] == 200
        for peer in silent:  # a reset, not an end
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.close()
        wait_for(server.is_idle, 60, "nothing is left")


def when_a_client_leaves_behind_a_long_pipeline():
    with engine().wait_ready() as server:
        with server.connect() as peer:
            peer.sendall(post("/v1/completions", ENDLESS) + post("/tokenize", {"prompt": "word " * 40000}))
            wait_for(lambda: server.gauge("vllm:num_requests_running") == 1, 30, "it runs")
        start = time.monotonic()
        wait_for(server.is_idle, 60, "nothing runs for it")
        assert server.gauge("vllm:generation_tokens_total") < 440, time.monotonic() - start


def when_the_model_file_is_deleted():
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(MODEL, folder)
        with engine(model=path).wait_ready() as server:
            os.unlink(path)
            assert server.complete()[0] == 200
            os.kill(server.runner(), signal.SIGKILL)
            assert server.process.wait(60) == 3
            assert path in server.log(), server.log()[-500:]


def when_the_model_file_is_cut_off():
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(MODEL, folder)
        with engine(model=path).wait_ready() as server:
            os.truncate(path, 1 << 20)  # mapped pages are gone: SIGBUS
            for _ in range(3):
                try:
                    server.complete(max_tokens=8)
                except OSError:
                    break
            if server.process.poll() is None and server.runner():
                os.kill(server.runner(), signal.SIGKILL)  # it had all of it in memory
            assert server.process.wait(60) == 3, server.log()[-500:]
            assert path in server.log() and "damaged" in server.log(), server.log()[-800:]


def when_nobody_reads_the_log():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writer, True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with engine("--port", str(port), "--enable-log-requests", stderr=writer) as server:
        server.port = port
        def answers():
            try:
                return server.complete()[0] == 200
            except OSError:
                return False
        wait_for(answers, 60, "it serves")
        os.kill(server.runner(), signal.SIGKILL)
        wait_for(answers, 60, "it serves again")
        assert server.stop(20) == 0
    os.close(reader)
    os.close(writer)


def when_the_log_has_no_room():
    with open("/dev/full", "w") as full, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        with engine("--port", str(port), stderr=full) as server:
            server.port = port
            def answers():
                try:
                    return server.complete()[0] == 200
                except OSError:
                    return False
            wait_for(answers, 60, "it serves")
            assert server.stop(20) == 0


def when_another_has_the_port():
    with engine().wait_ready() as server:
        must_end(["serve", MODEL, "--port", str(server.port)], 4, "the port is in use")


def when_the_host_is_ipv6():
    if not os.path.exists("/proc/net/if_inet6") or not open("/proc/net/if_inet6").read():
        return
    with engine(host="::1").wait_ready() as server:
        assert server.complete()[0] == 200


def when_there_is_no_environment():
    with engine() as server:
        server.process.kill()
    with tempfile.NamedTemporaryFile("w+") as log:
        process = subprocess.Popen([PROGRAM, "serve", MODEL, "--port", "0", "--threads", "1", "--max-model-len", "256"],
                                   stderr=log, env={}, cwd="/")
        try:
            wait_for(lambda: "Listening on" in open(log.name).read(), 60, "it listens")
        finally:
            process.terminate()
        assert process.wait(20) == 0


def when_the_configuration_is_nonsense():
    for text, words in (("a: [1, 2", "config"), ("- 1\n- 2\n", "config"), ("no-such-flag: 5\n", "no-such-flag"),
                        ("port: many\n", "port"), ("\0\1\2", "config"), ("port: {a: b}\n", "port")):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            must_end(["serve", MODEL, "--config", file.name], 2, words)
    must_end(["serve", MODEL, "--config", "/no/such.yaml"], 2, "/no/such.yaml")
    must_end(["serve", MODEL, "--config", "/"], 2, "'/'")


def when_there_is_too_little_memory():
    must_end(["serve", MODEL, "--port", "0", "--kv-cache-tokens", "2000000000"], 5, "memory")
    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))
    must_end(["serve", MODEL, "--port", "0", "--max-model-len", "8192", "--max-num-seqs", "32"], 5, "memory", limits)


def when_more_run_than_a_step_has_room_for():
    for count in ("129", "256"):
        with engine("--max-num-seqs", count).wait_ready() as server:
            answers = in_threads(20, lambda index: server.complete(max_tokens=2, timeout=240))
            assert all(isinstance(answer, tuple) and answer[0] == 200 for answer in answers), answers


def when_clients_of_embeddings_leave():
    with engine("--max-num-queued-reqs", "40", model=EMBEDDINGS).wait_ready() as server:
        texts = ["word " * 200] * 30
        assert server.ask("/v1/embeddings", {"model": "m", "input": texts + texts})[0] == 503
        for _ in range(6):
            with server.connect() as peer:
                peer.sendall(post("/v1/embeddings", {"model": "m", "input": texts}))
                time.sleep(0.05)
        wait_for(lambda: server.ask("/v1/embeddings", {"model": "m", "input": texts})[0] == 200, 60, "the queue is free")
        assert server.stop() == 0


def main():
    for needed in (MODEL, EMBEDDINGS):
        if not os.path.exists(needed):
            print(f"skipped: no model at {needed}")
            return 77
    faults = 0
    for name, case in list(globals().items()):
        if not name.startswith("when_") or (len(sys.argv) > 4 and sys.argv[4] not in name):
            continue
        start = time.monotonic()
        try:
            case()
            print(f"ok    {time.monotonic() - start:5.1f} s  {name}", flush=True)
        except Exception:  # noqa: BLE001: a case that fails must not hide the next
            faults += 1
            print(f"FAULT {time.monotonic() - start:5.1f} s  {name}\n{traceback.format_exc()}", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

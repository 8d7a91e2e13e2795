#!/usr/bin/env python3
"""kubectl run -i, attach and terminals with containers that the node agent runs. Usage: kubectl_attach.py STAND [TEST…]
Exit 77: no kubectl, or no control plane."""
import json
import os
import re
import subprocess
import sys
import unittest

import kubectl_programs as programs
import stand_run as here
from kubectl_programs import each_version, run
from pod_backend import await_true
from terminal import Terminal

IMAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../resources/catalog/images.yaml")
ON_NODE = json.dumps({"spec": {"nodeName": "node-1", "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1}})
numbers = iter(range(1000))


def name_of(test):
    return f"{test}-{next(numbers)}"


def running(pod, container):
    """Makes a pod on the node whose container is as given; returns when it runs."""
    spec = {"nodeName": "node-1", "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1, "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "busybox:1.36", **container}]}
    programs.api("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": pod}, "spec": spec})
    await_true(lambda: phase(pod) == "Running", f"{pod} does not run")


def phase(pod):
    return json.loads(programs.api("GET", f"/api/v1/namespaces/default/pods/{pod}"))["status"].get("phase")


class RunTest(unittest.TestCase):
    @each_version
    def test_input_is_the_containers_and_ends_with_the_clients(self, kubectl):
        done = run(kubectl, "run", "-i", "--rm", "--restart=Never", name_of("once"), "--image=busybox:1.36", "--overrides", ON_NODE,
                   "--override-type=strategic", "--command", "--", "sh", "-c", "cat; echo the end", stdin=b"hello\nworld\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"hello\nworld\nthe end\n", done.stdout)

    @each_version
    def test_the_exit_code_is_kubectls(self, kubectl):
        done = run(kubectl, "run", "-i", "--rm", "--restart=Never", name_of("code"), "--image=busybox:1.36", "--overrides", ON_NODE,
                   "--override-type=strategic", "--command", "--", "sh", "-c", "read x; exit 5", stdin=b"go\n")
        self.assertEqual(done.returncode, 5, done.stderr)

    @each_version
    def test_much_output_comes_whole(self, kubectl):
        script = "read x; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo done"
        done = run(kubectl, "run", "-i", "--rm", "--restart=Never", name_of("much"), "--image=busybox:1.36", "--overrides", ON_NODE,
                   "--override-type=strategic", "--command", "--", "sh", "-c", script, stdin=b"go\n")
        self.assertEqual(done.stdout.count(b"x"), 3000000)
        self.assertIn(b"x\ndone\n", done.stdout)

    @each_version
    def test_a_shell_on_a_terminal(self, kubectl):
        pod = name_of("shell")
        shell = Terminal(kubectl, "run", "-it", "--rm", "--restart=Never", pod, "--image=busybox:1.36", "--overrides", ON_NODE,
                         "--override-type=strategic", "--command", "--", "sh", columns=97, rows=31)
        shell.until(b"31 97", again=b"stty size\n")
        shell.write(b"tty; echo 'e'nd\n")
        shell.until(b"/dev/pts/")
        shell.resize(111, 44)
        shell.until(b"44 111", again=b"stty size\n")
        shell.write(b"exit 6\n")
        self.assertEqual(shell.wait(), 6, shell.seen)
        await_true(lambda: run(kubectl, "get", "pod", pod).returncode != 0, "--rm left it behind")


class AttachTest(unittest.TestCase):
    @each_version
    def test_a_client_that_goes_leaves_the_container_running(self, kubectl):
        pod = name_of("stay")
        running(pod, {"command": ["sh"], "stdin": True, "tty": True})
        first = Terminal(kubectl, "attach", "-it", pod, columns=90, rows=30)
        first.until(b"set-7", again=b"X=7; echo set-$X\n")
        first.kill()
        self.assertEqual(phase(pod), "Running")
        second = Terminal(kubectl, "attach", "-it", pod, columns=120, rows=50)
        second.until(b"still-7", again=b"echo still-$X\n")
        second.until(b"50 120", again=b"stty size\n")
        second.resize(66, 22)
        second.until(b"22 66", again=b"stty size\n")
        second.write(b"exit 3\n")
        second.wait()
        await_true(lambda: phase(pod) == "Failed", "the shell's end is not the pod's")

    @each_version
    def test_input_that_is_not_once_outlives_a_client(self, kubectl):
        pod = name_of("fed")
        running(pod, {"command": ["sh", "-c", "while read line; do echo got $line; done; echo over"], "stdin": True})
        for word in ("one", "two"):
            client = subprocess.Popen([kubectl, "attach", "-i", pod], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            client.stdin.write(word.encode() + b"\n")
            client.stdin.flush()
            self.assertIn(f"got {word}".encode(), client.stdout.readline())
            client.kill()
            client.communicate()
        self.assertEqual(phase(pod), "Running")
        self.assertNotIn(b"over", run(kubectl, "logs", pod).stdout)

    @each_version
    def test_output_goes_to_all_who_are_attached_and_to_the_log(self, kubectl):
        pod = name_of("loud")
        running(pod, {"command": ["sh", "-c", "while :; do echo out; echo err >&2; sleep 0.1; done"]})
        clients = [subprocess.Popen([kubectl, "attach", pod], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
        for client in clients:
            self.assertEqual(client.stdout.readline(), b"out\n")
            while client.stderr.readline() != b"err\n":
                pass
        for client in clients:
            client.kill()
            client.communicate()
        self.assertRegex(run(kubectl, "logs", pod, "--tail=4").stdout.decode(), re.compile("out.*err|err.*out", re.S))

    @each_version
    def test_without_an_input_of_its_own_it_ends_at_once(self, kubectl):
        pod = name_of("deaf")
        running(pod, {"command": ["sh", "-c", "cat; echo end of input; exec sleep 1000"]})
        await_true(lambda: b"end of input" in run(kubectl, "logs", pod).stdout, "it had an input")


def prepare(folder):
    programs.use_kubeconfig(folder)
    programs.make_node()


if __name__ == "__main__":
    programs.find()
    sys.exit(here.run(sys.argv[1], ["__main__"], "--control-plane", "yes", "--agent", IMAGES, prepare=prepare))

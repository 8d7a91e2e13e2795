"""kubectl logs, exec, attach and cp."""
import hashlib
import os
import shutil
import subprocess
import tempfile
import unittest

import stand_run as here
from kubectl_programs import each_version, run
from terminal import Terminal


class LogTest(unittest.TestCase):
    def write(self, text, mode="w"):
        with open(os.path.join(here.stand.folder, "logs", "default_web_main.log"), mode) as file:
            file.write(text)

    @each_version
    def test_logs(self, kubectl):
        self.write("one\ntwo\n")
        self.assertEqual(run(kubectl, "logs", "web").stdout, b"one\ntwo\n")
        self.assertEqual(run(kubectl, "logs", "web", "--tail=1").stdout, b"two\n")

    @each_version
    def test_logs_followed_to_the_end(self, kubectl):
        self.write("first\n")
        ended = os.path.join(here.stand.folder, "logs", "default_web_main.log.ended")
        process = subprocess.Popen([kubectl, "logs", "-f", "web"], stdout=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), b"first\n")
        for i in range(3):
            self.write(f"more {i}\n", "a")
            self.assertEqual(process.stdout.readline(), f"more {i}\n".encode())
        open(ended, "w").close()
        self.assertEqual(process.stdout.read(), b"")
        self.assertEqual(process.wait(60), 0)
        os.unlink(ended)


class ExecTest(unittest.TestCase):
    @each_version
    def test_exit_code_and_streams(self, kubectl):
        done = run(kubectl, "exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
        self.assertEqual((done.returncode, done.stdout), (3, b"out\n"))
        self.assertTrue(done.stderr.startswith(b"err\n"), done.stderr)
        self.assertEqual(run(kubectl, "exec", "web", "--", "true").returncode, 0)

    @each_version
    def test_input_to_its_end(self, kubectl):
        text = os.urandom(3 << 20)
        done = run(kubectl, "exec", "-i", "web", "--", "sha256sum", stdin=text)
        self.assertEqual(done.stdout.split()[0].decode(), hashlib.sha256(text).hexdigest())

    @each_version
    def test_much_output(self, kubectl):
        done = run(kubectl, "exec", "web", "--", "head", "-c", "30000000", "/dev/zero")
        self.assertEqual((done.returncode, len(done.stdout)), (0, 30000000))

    @each_version
    def test_a_terminal(self, kubectl):
        shell = Terminal(kubectl, "exec", "-it", "web", "--", "sh")
        shell.until(b"hello", again=b"echo hel''lo; tty\n")
        shell.until(b"/dev/pts/")
        shell.write(b"exit 6\n")
        self.assertEqual(shell.wait(), 6)

    @each_version
    def test_attach(self, kubectl):
        done = run(kubectl, "attach", "-i", "web", stdin=b"hello\n")
        self.assertEqual(done.stdout, b"attached\nhello\n")

    @unittest.skipUnless(shutil.which("tar"), "no tar")
    @each_version
    def test_copies_there_and_back(self, kubectl):
        with tempfile.TemporaryDirectory() as folder:
            text = os.urandom(2 << 20)
            with open(os.path.join(folder, "a"), "wb") as file:
                file.write(text)
            there = os.path.join(folder, "there")
            done = run(kubectl, "cp", os.path.join(folder, "a"), f"web:{there}")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(there, "rb") as file:
                self.assertTrue(file.read() == text)
            done = run(kubectl, "cp", f"web:{there}", os.path.join(folder, "back"))
            with open(os.path.join(folder, "back"), "rb") as file:
                self.assertTrue(file.read() == text, done.stderr)

    @each_version
    def test_a_pod_that_the_kubelet_does_not_have(self, kubectl):
        done = run(kubectl, "exec", "web", "-c", "main", "--", "/no/such/program")
        self.assertNotEqual(done.returncode, 0)

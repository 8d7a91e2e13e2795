"""A local target of a test's own: started from the built programs in a temporary folder, and ended with the test."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time


class Skip(Exception):
    """The machine lacks something that the test needs; says what."""


def need_programs(*names):
    for name in names:
        if not shutil.which(name):
            raise Skip(f"{name} is not on this machine")


def run_or_skip(main, *arguments):
    """Ends the script with what `main` returns, or with 77, which CTest takes for skipped."""
    try:
        sys.exit(main(*arguments))
    except Skip as reason:
        print("skipped:", reason)
        sys.exit(77)


class LocalTarget:
    def __init__(self, bin_dir, speed=100000):
        self.bin = bin_dir
        self.root = tempfile.mkdtemp(prefix="sw-", dir="/tmp")  # short: there are sockets in it
        self.home = os.path.join(self.root, "home")
        os.mkdir(self.home)
        self.speed = speed
        self.environment = dict(os.environ, HOME=self.home, SLIPWAY_LOCAL_DIR=os.path.join(self.root, "t"))
        self.environment["PATH"] = bin_dir + ":" + os.environ["PATH"]
        self.environment.pop("KUBECONFIG", None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("slipwayctl", "local", "stop", check=False)
        shutil.rmtree(self.root, ignore_errors=True)

    def run(self, *command, check=True, timeout=300, stdin=None):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=timeout,
                              input=stdin)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}\n{done.stderr}\n"
                                 + self.daemon_log())
        return done

    def daemon_log(self):
        try:
            with open(os.path.join(self.root, "t", "slipwayd.log")) as log:
                return "".join(log.readlines()[-40:])
        except OSError:
            return "(no log of slipwayd)"

    def start(self, *options):
        self.run("slipwayctl", "local", "start", "--speed", str(self.speed), *options)
        env = self.run("slipwayctl", "-o", "json", "local", "env").stdout
        self.environment.update(json.loads(env))
        self.environment["CLOUDSDK_CORE_DISABLE_PROMPTS"] = "1"

    def status(self):
        return json.loads(self.run("slipwayctl", "-o", "json", "local", "status").stdout)

    def need_control_plane(self):
        missing = self.status()["missing"]
        if missing:
            raise Skip(missing)

    def gcloud(self, *words, **options):
        return self.run("gcloud", *words, **options)

    def kubectl(self, *words, **options):
        return self.run("kubectl", *words, **options)

    def await_true(self, what, condition, limit=120):
        """`condition` may raise while it is not yet time."""
        end = time.monotonic() + limit
        last = None
        while time.monotonic() < end:
            try:
                if condition():
                    return
            except (AssertionError, OSError, ValueError, KeyError) as error:
                last = error
            time.sleep(0.2)
        raise AssertionError(f"after {limit} s still not: {what} ({last})\n{self.daemon_log()}")

"""One version of kubectl in a namespace of its own, and the few ways in which the tests ask it."""
import contextlib
import glob
import json
import os
import shutil
import subprocess
import time


def versions():
    """The oldest and the newest kubectl of this machine: programs called kubectl.1.27 and so on, beside the one of the
    path or where that leads to; else that one alone."""
    plain = shutil.which("kubectl")
    if not plain:
        return []
    places = [place for place in (plain, shutil.which("gcloud")) if place]
    folders = {os.path.dirname(path) for place in places for path in (place, os.path.realpath(place))}
    found = sorted((path for folder in folders for path in glob.glob(os.path.join(folder, "kubectl.1.*"))),
                   key=lambda path: int(path.rsplit(".", 1)[1]))
    return [found[0], found[-1]] if len(found) > 1 else [plain]


def same(seen, wanted, what=""):
    assert seen == wanted, f"{what}\nwanted: {wanted!r}\nseen:   {seen!r}"


def has(text, *parts):
    for part in parts:
        assert part in text, f"no {part!r} in:\n{text}"


def lacks(text, *parts):
    for part in parts:
        assert part not in text, f"{part!r} is in:\n{text}"


class Kubectl:
    def __init__(self, program, folder, kubeconfig):
        self.program = program
        self.name = os.path.basename(program)
        self.environment = dict(os.environ, HOME=folder, KUBECONFIG=kubeconfig)
        client = json.loads(self.bare("version", "--client", "-o", "json").stdout)["clientVersion"]
        self.minor = int(client["minor"].rstrip("+"))
        self.namespace = f"by-1-{self.minor}"
        self.nodes = []  # two ordinary ones for this version alone

    def bare(self, *words, stdin=None, check=True, timeout=120):
        done = subprocess.run([self.program, *words], env=self.environment, input=stdin, capture_output=True,
                              text=True, timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"{self.name} {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def run(self, *words, **options):
        return self.bare("-n", self.namespace, *words, **options)

    def text(self, *words, **options):
        return self.run(*words, **options).stdout

    def json(self, *words):
        return json.loads(self.text(*words, "-o", "json"))

    def get(self, what, path):
        """One value by JSONPath: get("pod/web", ".status.phase")."""
        return self.text("get", what, "-o", f"jsonpath={{{path}}}")

    def refused(self, *words, stdin=None, status=1):
        """What a command that must fail says."""
        done = self.run(*words, stdin=stdin, check=False)
        same(done.returncode, status, f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stderr

    def apply(self, manifest, *options):
        return self.text("apply", *options, "-f", "-", stdin=manifest)

    def await_value(self, what, path, wanted, limit=120):
        end = time.monotonic() + limit
        seen = None
        while time.monotonic() < end:
            done = self.run("get", what, "-o", f"jsonpath={{{path}}}", check=False)
            seen = done.stdout if done.returncode == 0 else done.stderr
            if wanted(seen) if callable(wanted) else seen == wanted:
                return seen
            time.sleep(0.1)
        described = self.run("describe", what, check=False).stdout
        raise AssertionError(f"{what} {path} is {seen!r} after {limit} s\n{described}")

    def await_gone(self, what, limit=120):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if "NotFound" in self.run("get", what, check=False).stderr:
                return
            time.sleep(0.1)
        raise AssertionError(f"{what} is still there after {limit} s")

    @contextlib.contextmanager
    def behind(self, *words):
        """A command that goes on; its lines by stdout.readline()."""
        process = subprocess.Popen([self.program, "-n", self.namespace, *words], env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(60)
            process.stdout.close()


def pod(name, script, labels="", policy="Always", more=""):
    """A pod of one shell that runs on this machine. `labels` and `more` are YAML of one line."""
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{{labels}}}}}
spec:
  restartPolicy: {policy}
  terminationGracePeriodSeconds: 1
  {more}
  containers:
  - name: main
    image: busybox
    command: [sh, -c, {json.dumps(script)}]
---"""

"""A tutorial's own commands on the local target, one after the other, told as they go.

A step is a command as the text has it, run by a shell that keeps what the ones before it exported. What the text tells
its reader to put in the place of a word (PROJECT_ID, REGION ...) is put there, nothing else is changed. A step that
can't run on one machine is replaced by the nearest one that can, and printed and counted as that, with the reason."""
import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "local", "e2e"))
from local_target import LocalTarget, Skip, need_programs
from processes_of_target import command_line, processes_of

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "tutorials")


class StepFailed(Exception):
    pass


class Tutorial:
    def __init__(self, target, values):
        self.target = target
        self.values = values  # what stands in the text -> what is put in its place
        self.folder = os.path.join(target.root, "reader")  # where the reader's files are
        os.mkdir(self.folder)
        self.environment = dict(target.environment)
        self.background = []  # processes that the text leaves running
        self.steps = self.replaced = 0

    def file(self, name, of=(), change=None):
        """A manifest of the text, saved by its name, or made of several; `change` is what the text says to put into it."""
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            for part in of or [name]:
                with open(os.path.join(DATA, part), encoding="utf-8") as source:
                    file.write(source.read() + "\n---\n" if of else source.read())
        if change:
            self.edit(name, change)

    def edit(self, name, change):
        path = os.path.join(self.folder, name)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for old, new in change.items():
            if old not in text:
                raise StepFailed(f"{name} has no '{old}'")
            text = text.replace(old, new)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def fill(self, command):
        for name, value in self.values.items():
            command = re.sub(r"(?<![\w${])" + name + r"(?!\w|=)", value, command)
        return command

    def do(self, command, says=None, exit_code=0, in_place_of=None, because=None, timeout=300):
        """Runs a step and returns what it printed. `says`: regular expressions, each found in it, in this order."""
        command = self.fill(command)
        self.tell(command, in_place_of, because)
        kept = os.path.join(self.target.root, "kept-environment")
        script = f"cd '{self.folder}'\n{command}\nresult=$?\nenv -0 >'{kept}'\nexit $result"
        done = subprocess.run(["bash", "-c", script], env=self.environment, capture_output=True, text=True,
                              timeout=timeout)
        output = done.stdout + done.stderr
        self.show(output)
        if os.path.exists(kept):
            with open(kept, encoding="utf-8", errors="replace") as file:
                self.environment = dict(entry.split("=", 1) for entry in file.read().split("\0") if "=" in entry)
        if done.returncode != exit_code:
            raise StepFailed(f"exit code {done.returncode}, not {exit_code}: {command}")
        self.compare(done.stdout if exit_code == 0 else output, says)
        return done.stdout

    def again(self, command, says, limit=180):
        """A step whose answer the reader waits for: repeated until it says so."""
        command = self.fill(command)
        self.tell(command, None, None)
        end = time.monotonic() + limit
        while True:
            done = subprocess.run(["bash", "-c", f"cd '{self.folder}'\n{command}"], env=self.environment,
                                  capture_output=True, text=True, timeout=120)
            try:
                if done.returncode == 0:
                    self.compare(done.stdout, says)
                    self.show(done.stdout)
                    return done.stdout
            except StepFailed:
                pass
            if time.monotonic() > end:
                self.show(done.stdout + done.stderr)
                raise StepFailed(f"after {limit} s still not {says}: {command}")
            time.sleep(0.5)

    def start(self, command, says):
        """A step that the text leaves running in a terminal of its own, when it has said `says`."""
        command = self.fill(command)
        self.tell(command, None, None)
        log = os.path.join(self.target.root, f"background-{len(self.background)}")
        with open(log, "w", encoding="utf-8") as file:
            process = subprocess.Popen(["bash", "-c", f"cd '{self.folder}'\nexec {command}"], env=self.environment,
                                       stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        self.background.append(process)
        end = time.monotonic() + 60
        while True:
            with open(log, encoding="utf-8") as file:
                text = file.read()
            if re.search(says, text):
                self.show(text)
                return process
            if process.poll() is not None or time.monotonic() > end:
                self.show(text)
                raise StepFailed(f"it does not say '{says}': {command}")
            time.sleep(0.1)

    def stop(self, process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()

    def stop_all(self):
        for process in self.background:
            self.stop(process)

    def compare(self, output, says):
        at = 0
        for wanted in [says] if isinstance(says, str) else says or []:
            found = re.compile(wanted, re.MULTILINE).search(output, at)
            if not found:
                raise StepFailed(f"the text shows '{wanted}' here")
            at = found.end()

    def tell(self, command, in_place_of, because):
        self.steps += 1
        lines = command.strip().splitlines()
        print(f"\n[{self.steps}] $ " + "\n      ".join(lines), flush=True)
        if in_place_of:
            self.replaced += 1
            print(f"    in place of: {in_place_of}\n    because: {because}", flush=True)

    @staticmethod
    def show(output):
        lines = output.rstrip().splitlines()
        for line in lines[:40]:
            print("    " + line[:200])
        if len(lines) > 40:
            print(f"    ... ({len(lines) - 40} more lines)")
        sys.stdout.flush()

    def nothing_is_left(self):
        """What the text's last part promises; here also that none of the cluster's processes runs any more."""
        self.do("gcloud container clusters list --format='value(name)'", says=r"\A\s*\Z")
        status = self.target.status()
        if status["clusters"]:
            raise StepFailed(f"the target still has {status['clusters']}")
        self.target.await_true("no process of a cluster is left", lambda: not self.cluster_processes(status["pid"]), 30)

    def cluster_processes(self, daemon):
        names = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kuberay-operator", "slipway-pod-init",
                 "slipway-engine", "slipway-lws", "slipway-ray", "slipway-metrics-adapter")
        running = [command_line(pid) for pid in processes_of(self.environment["SLIPWAY_LOCAL_DIR"], daemon)]
        return [line for line in running if os.path.basename(line.split(" ")[0]) in names]


def run(name, values, play, programs=("gcloud", "kubectl", "gke-gcloud-auth-plugin", "curl"), speed=100000):
    """`play(tutorial)` does the steps. The exit status: 0 every step passed, 1 one failed, 77 something is missing."""
    begun = time.monotonic()
    try:
        need_programs(*programs)
        with LocalTarget(os.path.abspath(sys.argv[1]), speed=speed) as target:
            target.start()
            target.need_control_plane()
            tutorial = Tutorial(target, values)
            try:
                play(tutorial)
            except StepFailed as failure:
                print(f"\n{name}: step {tutorial.steps} FAILED: {failure}\n{target.daemon_log()}")
                return 1
            finally:
                tutorial.stop_all()
            print(f"\n{name}: {tutorial.steps} steps passed, {tutorial.replaced} of them in place of ones that can't run "
                  f"here, in {time.monotonic() - begun:.0f} s")
            return 0
    except Skip as reason:
        print("skipped:", reason)
        return 77

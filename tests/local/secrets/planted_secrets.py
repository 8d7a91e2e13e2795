#!/usr/bin/env python3
"""Secrets are planted in every way that they get into a local target, with requests that succeed, fail and crash what
serves them; none may be in a log or on a command line, and nobody else may read the target's files.
   planted_secrets.py BIN_DIR
Exit status 77: skipped, with the reason."""
import base64
import os
import secrets
import signal
import stat
import sys
import urllib.parse

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "kubectl"), os.path.join(here, "..", "e2e"), here]
import cluster
import plants
from local_target import LocalTarget, Skip, run_or_skip
from session import Kubectl, versions


class Planted:
    """The secrets by where they were planted."""

    def __init__(self):
        self.words = {}

    def new(self, place):
        word = "Zq" + secrets.token_hex(12)
        self.words[place] = word
        return word

    def known(self, place, word):
        """One that the target itself made."""
        assert len(word) >= 16, place
        self.words[place] = word


def forms(word):
    """How it may be written: as it is, in base64 wherever it begins in a triple, in percent signs."""
    data = word.encode()
    yield data
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data)
        yield text[4 if before else 0:-4]  # without what its neighbours change
    if urllib.parse.quote(word, safe="") != word:
        yield urllib.parse.quote(word, safe="").encode()


def logs_of(root):
    """All of them but those that the pods' own programs write."""
    for folder, _, names in os.walk(root):
        if f"{os.sep}pods{os.sep}pods{os.sep}" in folder + os.sep:
            continue
        for name in names:
            if ".log" in name:
                yield os.path.join(folder, name)


def search(what, data, planted, found):
    for place, word in planted.words.items():
        for form in forms(word):
            at = data.find(form)
            if at >= 0:
                line = data[data.rfind(b"\n", 0, at) + 1:].split(b"\n", 1)[0]
                found.append(f"{place}: in {what}: {line[:400]!r}")
                break


def descendants(daemon):
    """Processes of the target, by the chain of parents."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                parents[int(entry)] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    wanted = {daemon}
    while True:
        more = {pid for pid, parent in parents.items() if parent in wanted} - wanted
        if not more:
            return wanted
        wanted |= more


def look_everywhere(target, planted, found):
    root = os.path.join(target.root, "t")
    count = 0
    for path in logs_of(root):
        count += 1
        with open(path, "rb") as file:
            search(os.path.relpath(path, root), file.read(), planted, found)
    assert count >= 5, f"only {count} logs: slipwayd's and those of etcd and Kubernetes were expected"
    processes = descendants(target.status()["pid"])
    assert len(processes) >= 6, processes
    for pid in processes:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                search(f"the command line of {pid}", file.read(), planted, found)
        except OSError:
            continue


def check_modes(target):
    """The folder itself keeps everybody out; within it only containers' own files may have wider modes."""
    root = os.path.join(target.root, "t")
    wide = []
    for folder, _, names in os.walk(root):
        if f"{os.sep}pods{os.sep}pods{os.sep}" in folder + os.sep:
            continue
        for path in [folder] + [os.path.join(folder, name) for name in names]:
            try:
                mode = os.lstat(path).st_mode
            except OSError:
                continue
            if not stat.S_ISLNK(mode) and mode & 0o077:
                wide.append(f"{oct(mode & 0o777)} {os.path.relpath(path, root)}")
    assert not wide, "others may read:\n" + "\n".join(wide)


def private_keys(root, planted):
    """One line out of the middle of each key."""
    for folder, _, names in os.walk(root):
        for name in filter(lambda name: name.endswith(".key"), names):
            with open(os.path.join(folder, name)) as file:
                lines = [line.strip() for line in file if not line.startswith("-----")]
            planted.known(f"the private key {name}", lines[len(lines) // 2])


def main():
    if not versions():
        raise Skip("kubectl is not on this machine")
    planted, found = Planted(), []
    with LocalTarget(os.path.abspath(sys.argv[1])) as target:
        target.start("--allow-processes")
        target.need_control_plane()
        google = cluster.Google(target.environment)
        described = cluster.make_cluster(google)
        kubeconfig = os.path.join(target.root, "kubeconfig")
        cluster.write_kubeconfig(kubeconfig, described, google.token)
        k = Kubectl(versions()[-1], target.home, kubeconfig)
        k.bare("create", "namespace", k.namespace)
        planted.known("the target's token", google.token)
        private_keys(os.path.join(target.root, "t"), planted)
        for plant in plants.ALL:
            plant(target, google, k, planted)
        assert len(planted.words) >= 20, sorted(planted.words)
        look_everywhere(target, planted, found)
        check_modes(target)
        # Once more after everything was killed and came back: what is said of an end must not tell either.
        for state in target.status()["clusters"][0]["processes"]:
            if state["pid"] > 0:
                os.kill(state["pid"], signal.SIGKILL)
        target.await_true("the cluster runs again",
                          lambda: k.bare("get", "namespaces", check=False).returncode == 0)
        look_everywhere(target, planted, found)
        print(f"{len(planted.words)} secrets: " + ", ".join(sorted(planted.words)))
    if found:
        return "found:\n" + "\n".join(sorted(set(found)))
    return 0


if __name__ == "__main__":
    run_or_skip(main)

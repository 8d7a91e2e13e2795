#!/usr/bin/env python3
"""The real kubectl, the oldest and the newest of this machine, against a running local target. Both at a time, each in
a namespace and with two nodes of its own.   every_command.py BIN_DIR [PART ...]
Exit status 77: skipped, with the reason."""
import os
import sys
import threading
import time
import traceback

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "e2e")]
import cluster
import nodes
import pods
import reading
import workloads
import writing
from local_target import LocalTarget, Skip, run_or_skip
from session import Kubectl, versions

PARTS = [workloads.begun, writing.create, writing.apply_client_side, writing.apply_server_side, reading.outputs,
         reading.selections, reading.watching, reading.explained, reading.access, pods.described, pods.logs,
         pods.commands, pods.forwarded_ports, pods.restart_policies, pods.unknown_image, pods.gone,
         writing.wait_for_things, writing.delete_with_cascade, workloads.scaled, workloads.rolled, nodes.tpu_node,
         nodes.top, nodes.drained, workloads.jobs, workloads.cron]


def run_all(kubectl, wanted, failures):
    for part in PARTS:
        name = f"{part.__module__}.{part.__name__}"
        if wanted and name not in wanted:
            continue
        begun = time.monotonic()
        try:
            part(kubectl)
            print(f"{kubectl.name} {name}: {time.monotonic() - begun:.1f} s", flush=True)
        except Exception:  # one part's failure must not hide the others'
            failures.append(f"{kubectl.name} {name}")
            print(f"{kubectl.name} {name}: FAILED\n{traceback.format_exc()}", flush=True)


def prepared(target):
    google = cluster.Google(target.environment)
    described = cluster.make_cluster(google)
    kubeconfig = os.path.join(target.root, "kubeconfig")
    cluster.write_kubeconfig(kubeconfig, described, google.token)
    sessions = []
    for program in versions():
        home = os.path.join(target.root, os.path.basename(program))
        os.mkdir(home)
        sessions.append(Kubectl(program, home, kubeconfig))
    names = sessions[0].bare("get", "nodes", "-l", "cloud.google.com/gke-nodepool=default-pool", "-o",
                             "jsonpath={.items[*].metadata.name}").stdout.split()
    for session in sessions:
        session.nodes = [names.pop(), names.pop()]
        session.bare("create", "namespace", session.namespace)
        session.bare("label", "node", *session.nodes, f"slipway.test/for={session.namespace}")
        session.bare("taint", "node", *session.nodes, f"slipway.test/for={session.namespace}:NoSchedule")
    return sessions


def main():
    if not versions():
        raise Skip("kubectl is not on this machine")
    failures = []
    with LocalTarget(os.path.abspath(sys.argv[1])) as target:
        target.start("--allow-processes")
        target.need_control_plane()
        sessions = prepared(target)
        threads = [threading.Thread(target=run_all, args=(session, sys.argv[2:], failures)) for session in sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            print(target.daemon_log())
    return f"failed: {', '.join(failures)}" if failures else 0


if __name__ == "__main__":
    run_or_skip(main)

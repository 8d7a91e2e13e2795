#!/usr/bin/env python3
"""The kubelet's API behind a real kube-apiserver, used by the real kubectl, the oldest and the newest there is.
Usage: kubectl_streams.py STAND [TEST…]. Exit 77: no kubectl, or no control plane."""
import os
import sys

import kubectl_commands  # noqa: F401
import kubectl_network  # noqa: F401
import kubectl_programs as programs
import stand_run


def prepare(folder):
    programs.use_kubeconfig(folder)
    programs.make_objects()


if __name__ == "__main__":
    programs.find()
    sys.exit(stand_run.run(sys.argv[1], ["kubectl_commands", "kubectl_network"], "--pod", "default/web=20",
                           "--control-plane", "yes", prepare=prepare))

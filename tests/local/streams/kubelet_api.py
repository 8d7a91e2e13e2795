#!/usr/bin/env python3
"""The kubelet's API, egress proxy, service ports and metrics API of the local target, spoken to by clients that were
written for this test. Usage: kubelet_api.py STAND [TEST…]"""
import sys

import kubelet_commands  # noqa: F401
import kubelet_network  # noqa: F401
import stand_run

if __name__ == "__main__":
    sys.exit(stand_run.run(sys.argv[1], ["kubelet_commands", "kubelet_network"], "--pod", "default/web=20"))

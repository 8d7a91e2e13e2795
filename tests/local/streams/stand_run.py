"""Runs the tests of some modules against one stand, which they find here as `stand`."""
import os
import sys
import tempfile
import unittest

from stand_client import NotBuilt, Stand

stand = None


def chosen(modules):
    """The tests that the command line names after the stand."""
    return [f"{module}.{name}" for name in sys.argv[2:] for module in modules
            if hasattr(sys.modules[module], name.split(".")[0])]


def run(program, modules, *arguments, prepare=None):
    """Starts the stand with these arguments; `prepare(folder)` before the tests. The exit code: 77 where it can't run."""
    global stand
    with tempfile.TemporaryDirectory(prefix="streams-") as folder:
        try:
            stand = Stand(os.path.abspath(program), folder, *arguments)
        except NotBuilt:
            print("skipped: no control plane (packaging/setup/controlplane.sh)")
            return 77
        try:
            if prepare:
                prepare(folder)
            suite = unittest.defaultTestLoader.loadTestsFromNames(chosen(modules) or modules)
            result = unittest.TextTestRunner(verbosity=2, warnings="ignore").run(suite)
            memory = next(line for line in open(f"/proc/{stand.process.pid}/status") if line.startswith("VmHWM"))
            print("stand's memory at most:", memory.split()[1], "kB", flush=True)
        finally:
            stand.stop()
        return 0 if result.wasSuccessful() and stand.process.returncode == 0 else 1

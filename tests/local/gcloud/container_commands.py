"""Each container command of the recordings, by the real gcloud: exit code and printed columns.

What is expected lies in tests/data/gcloud/container.json, in an order in which each command finds what it needs.
Arguments: folder of the programs, folder of the data, and "all" for those that are left out by default.
"""
import json
import os
import re
import shutil
import sys
import threading
import time

from gcloud_target import Target


def missing(patterns, text):
    """Patterns that match no place of the text. A blank stands for any white space."""
    return [pattern for pattern in patterns
            if not re.search(re.sub(r" +", r"\\s+", pattern), text, re.MULTILINE)]


def meanwhile(target, requests, patience=120):
    """Sends them once the fault on order has struck: the command's request waits for its answer then."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        _, answer = target.ask("GET", "/slipway/v1/faults")
        if any(fault["struck"] > 0 for fault in answer.get("faults", [])):
            for request in requests:
                target.ask(*request)
            return
        time.sleep(0.05)


def check(target, step):
    faults = step.get("faults", [])
    for fault in faults:
        status, answer = target.ask("POST", "/slipway/v1/faults", fault)
        if status != 200:
            return ["the fault could not be ordered: %s" % answer]
    for request in step.get("before", []):
        target.ask(*request)
    argv = list(step["argv"])
    if "OPERATION" in argv:
        operation = target.last_operation()
        argv = [operation["name"] if word == "OPERATION" else word for word in argv]
    other = threading.Thread(target=meanwhile, args=(target, step.get("meanwhile", [])))
    if "meanwhile" in step:
        other.start()
    code, out, err = target.run(argv, step.get("env"))
    if "meanwhile" in step:
        other.join()
    if faults:
        target.ask("DELETE", "/slipway/v1/faults")
    for request in step.get("after", []):
        target.ask(*request)
    wrong = []
    if code != step.get("exit", 0):
        wrong.append("exit code %d instead of %d" % (code, step.get("exit", 0)))
    wrong += ["stdout has no '%s'" % pattern for pattern in missing(step.get("out", []), out)]
    wrong += ["stderr has no '%s'" % pattern for pattern in missing(step.get("err", []), err)]
    if step.get("silent") and out.strip():
        wrong.append("stdout is not empty")
    if wrong:
        wrong += ["stdout: " + out, "stderr: " + err]
    return wrong


def run_commands(expectations):
    """Runs the commands of a file of expectations; the exit status of the test."""
    bin_dir, data = sys.argv[1:3]
    everything = "all" in sys.argv[3:]
    with open(os.path.join(data, expectations), encoding="utf-8") as file:
        steps = json.load(file)["commands"]
    failed = 0
    done = 0
    with Target(bin_dir) as target:
        for step in steps:
            if not everything and step.get("only") == "all":
                continue
            absent = [name for name in step.get("needs", []) if not shutil.which(name)]
            if absent:
                print("skipped %s: there is no %s" % (step["recording"], ", ".join(absent)))
                continue
            wrong = check(target, step)
            done += 1
            print("%s %s: %s" % ("not ok" if wrong else "ok", step["recording"], " ".join(step["argv"][1:])))
            if "differs" in step:
                print("    differs from the recording: " + step["differs"])
            for line in wrong:
                print("    " + line.replace("\n", "\n    "))
            failed += bool(wrong)
            sys.stdout.flush()
    print("%d commands, %d not as recorded" % (done, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run_commands("container.json"))

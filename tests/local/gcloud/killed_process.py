"""Kills Google's side of the local target in the middle of its work, again and again: what was acknowledged is there
afterwards, and operations come to their end. Needs no gcloud. Argument: folder of the programs."""
import random
import sys
import threading
import time
import urllib.error

from gcloud_target import Target

CLUSTERS = "/container/v1/projects/my-project/locations/us-east5-b/clusters"
ROUNDS = 5


def write_until_killed(target, acknowledged, name):
    """Orders faults one after another; each that was answered counts."""
    number = 0
    while True:
        number += 1
        try:
            status, answer = target.ask("POST", "/slipway/v1/faults",
                                        {"kind": "stockout", "cluster": "%s-%d" % (name, number)})
        except (urllib.error.URLError, ConnectionError, ValueError, OSError):
            return
        if status == 200:
            acknowledged.append(answer["cluster"])


def end_of(target, operation):
    for _ in range(600):
        status, answer = target.ask("GET", "/container/v1/projects/my-project/locations/us-east5-b/operations/"
                                    + operation)
        if status == 200 and answer["status"] == "DONE":
            return answer
        time.sleep(0.1)
    raise SystemExit("operation %s never ends" % operation)


def main():
    random.seed(4)
    acknowledged = []
    operations = []
    with Target(sys.argv[1], time_factor=300, needs_gcloud=False) as target:
        for turn in range(ROUNDS):
            status, answer = target.ask("POST", CLUSTERS, {"cluster": {
                "name": "c%d" % turn, "nodePools": [{"name": "p", "initialNodeCount": 1}]}})
            if status != 200:
                raise SystemExit("no cluster: %s" % answer)
            operations.append(answer["name"])
            writer = threading.Thread(target=write_until_killed, args=(target, acknowledged, "turn%d" % turn))
            writer.start()
            time.sleep(random.uniform(0.05, 0.5))
            target.kill()
            writer.join()
            target.start()
        _, answer = target.ask("GET", "/slipway/v1/faults")
        there = {fault["cluster"] for fault in answer["faults"]}
        lost = [name for name in acknowledged if name not in there]
        ends = [end_of(target, operation) for operation in operations]
        failed = [end for end in ends if "error" in end]
        _, answer = target.ask("GET", CLUSTERS)
        states = {cluster["name"]: cluster["status"] for cluster in answer["clusters"]}
    print("%d acknowledged, %d lost; %d operations, %d failed; %s"
          % (len(acknowledged), len(lost), len(operations), len(failed), states))
    good = not lost and not failed and acknowledged and set(states.values()) == {"RUNNING"} \
        and len(states) == ROUNDS
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

"""Each recorded command for Google's small services, by the real gcloud: exit code and printed columns.

What is expected lies in tests/data/gcloud/services.json, in an order in which each command finds what it needs.
Arguments: folder of the programs, folder of the data, and "all" for those that are left out by default.
"""
import json
import os
import sys

from container_commands import check
from gcloud_target import Target


def main():
    bin_dir, data = sys.argv[1:3]
    everything = "all" in sys.argv[3:]
    with open(os.path.join(data, "services.json"), encoding="utf-8") as file:
        steps = json.load(file)["commands"]
    failed = 0
    done = 0
    with Target(bin_dir) as target:
        for step in steps:
            if not everything and step.get("only") == "all":
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
    sys.exit(main())

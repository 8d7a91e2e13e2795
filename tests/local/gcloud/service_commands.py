"""Each recorded command for Google's small services, by the real gcloud: exit code and printed columns.

What is expected lies in tests/data/gcloud/services.json, in an order in which each command finds what it needs.
Arguments: folder of the programs, folder of the data, and "all" for those that are left out by default.
"""
import sys

from container_commands import run_commands


if __name__ == "__main__":
    sys.exit(run_commands("services.json"))

"""What the processes of a local target cost: memory and CPU time, read from /proc."""

import os

PAGE_MB = os.sysconf("SC_PAGESIZE") / 2**20
TICKS = os.sysconf("SC_CLK_TCK")


def stat_fields(pid):
    """Fields of /proc/PID/stat after the name, which may hold blanks."""
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()


def resident_mb(pid):
    with open(f"/proc/{pid}/statm") as statm:
        return int(statm.read().split()[1]) * PAGE_MB


def cpu_seconds(pid):
    """In user and kernel, of all threads, without children."""
    fields = stat_fields(pid)
    return (int(fields[11]) + int(fields[12])) / TICKS


def descendants(root):
    """Processes below `root`, itself first."""
    children = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            children.setdefault(int(stat_fields(pid)[1]), []).append(int(pid))
        except OSError:
            continue
    found, left = [], [root]
    while left:
        pid = left.pop()
        found.append(pid)
        left += children.get(pid, [])
    return found


def name_of(pid):
    """The program's name; /proc/PID/comm has only 15 letters of it."""
    with open(f"/proc/{pid}/cmdline", "rb") as line:
        return os.path.basename(line.read().split(b"\0")[0].decode(errors="replace"))


def memory_by_program(root):
    """Resident MB by program, of `root` and everything below it."""
    memory = {}
    for pid in descendants(root):
        try:
            memory[name_of(pid)] = memory.get(name_of(pid), 0) + resident_mb(pid)
        except OSError:
            continue
    return memory


def memory_line(name, root):
    parts = sorted(memory_by_program(root).items(), key=lambda part: -part[1])
    return f"{name}.memory_mb " + " ".join(f"{program}={size:.0f}" for program, size in parts)

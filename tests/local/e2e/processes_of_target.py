"""Which processes of this machine belong to a test's own local target: those that name its folder as an argument, in
their environment, or as the folder that they work in, and everything below its slipwayd."""
import os


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _parent(pid):
    stat = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(stat[1]) if len(stat) > 1 and stat[0] != b"Z" else 0


def _names_folder(pid, folder):
    try:
        works_in = os.readlink(f"/proc/{pid}/cwd").encode()
    except OSError:
        works_in = b""
    return any(folder in text for text in (_read(f"/proc/{pid}/cmdline"), _read(f"/proc/{pid}/environ"), works_in))


def _is_below(pid, ancestor):
    while pid > 1:
        if pid == ancestor:
            return True
        pid = _parent(pid)
    return False


def processes_of(folder, daemon=0):
    """Their numbers. `folder`: SLIPWAY_LOCAL_DIR of the target. Without the test itself, and without what ended."""
    own = {os.getpid(), os.getppid()}
    pids = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) not in own]
    return [pid for pid in pids
            if _parent(pid) and (_names_folder(pid, folder.encode()) or (daemon and _is_below(pid, daemon)))]


def command_line(pid):
    return _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace").strip()

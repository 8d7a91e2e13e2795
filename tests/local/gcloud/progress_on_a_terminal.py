"""What gcloud shows on a terminal while an operation runs: the stages. Argument: folder of the programs."""
import fcntl
import os
import pty
import struct
import sys
import termios

from gcloud_target import Target


def main():
    with Target(sys.argv[1], time_factor=20) as target:  # a cluster takes 18 s
        pid, terminal = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
            argv = "gcloud container clusters create-auto hello --location=us-central1".split()
            os.execvpe(argv[0], argv, target.environment({
                "TERM": "xterm", "CLOUDSDK_CORE_DISABLE_PROMPTS": "0"}))
        shown = b""
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
    text = shown.decode(errors="replace")
    stages = [words for words in ("Cluster is being configured", "Cluster is being deployed",
                                  "Cluster is being health-checked") if words in text]
    print("exit code %d, stages: %s" % (os.waitstatus_to_exitcode(status), ", ".join(stages)))
    # Polls come 5 s apart, so that not every stage is seen each time.
    good = os.waitstatus_to_exitcode(status) == 0 and len(stages) >= 2 and "hello" in text
    if not good:
        print(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

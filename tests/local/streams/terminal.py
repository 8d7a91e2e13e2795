"""A program on a terminal of its own, as a user has it."""
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time


class Terminal:
    def __init__(self, *words, columns=80, rows=24):
        self.seen = b""
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execv(words[0], words)

    def write(self, text):
        os.write(self.master, text)

    def resize(self, columns, rows):
        """The kernel tells the program by SIGWINCH."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, timeout):
        """False at the end."""
        ready, _, _ = select.select([self.master], [], [], timeout)
        if not ready:
            return True
        try:
            more = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += more
        return bool(more)

    def until(self, *texts, patience=60, again=None):
        """Reads until one of the texts is there. `again`: written once a second until then."""
        end, next_time = time.monotonic() + patience, time.monotonic()
        while not any(text in self.seen for text in texts):
            assert time.monotonic() < end, self.seen
            if again is not None and time.monotonic() >= next_time:
                self.write(again)
                next_time += 1
            assert self.read(0.2) or any(text in self.seen for text in texts), self.seen

    def wait(self):
        """The exit code."""
        while self.read(60):
            pass
        os.close(self.master)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

"""The window on a display of its own (Xvfb): start-up time, memory, and what a fast answer costs."""

import json
import os
import re
import subprocess
import tempfile
import time


class Display:
    def __enter__(self):
        self.home = tempfile.TemporaryDirectory(prefix="bench-home-")
        read, write = os.pipe()
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1440x900x24"],
                                       pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as number:
            self.name = ":" + number.readline().strip()
        if self.name == ":":
            raise RuntimeError("Xvfb did not start")
        self.environment = {**os.environ, "DISPLAY": self.name, "HOME": self.home.name, "QT_QPA_PLATFORM": "xcb",
                            "XDG_CONFIG_HOME": self.home.name, "XDG_DATA_HOME": self.home.name,
                            "XDG_CACHE_HOME": self.home.name}
        self.manager = subprocess.Popen(["openbox"], env=self.environment, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        time.sleep(0.5)  # openbox says nothing when it is ready
        return self

    def __exit__(self, *_):
        for process in (self.manager, self.server):
            process.terminate()
            process.wait()
        self.home.cleanup()


class WindowBench:
    reference = None
    reference_name = None
    higher_is_better = False

    def __init__(self, options, limit, measure):
        self.options, self.limit, self.measure = options, limit, measure
        self.display = Display()

    def __enter__(self):
        self.display.__enter__()
        self.ours()  # the first start reads the program and the fonts from disk
        return self

    def __exit__(self, *failure):
        self.display.__exit__(*failure)

    def run(self, program, *arguments):
        done = subprocess.run([os.path.join(self.options.build_bin, program), *arguments], capture_output=True,
                              text=True, timeout=120, env=self.display.environment, check=True)
        return done.stdout.strip().splitlines()[-1]

    def startup(self, figure):
        return json.loads(self.run("slipway", "--startup-report"))[figure]

    def chat_cpu(self):
        return float(re.search(r"ours=([0-9.]+)", self.run("bench_chat_cpu")).group(1))

    def ours(self):
        return self.measure(self)


BENCHES = {
    "window.first_paint_ms": lambda options: WindowBench(
        options, 400, lambda bench: bench.startup("first_paint_ms")),
    "window.memory_mb": lambda options: WindowBench(
        options, 70, lambda bench: bench.startup("rss_mb")),
    "chat.cpu_at_200tps": lambda options: WindowBench(
        options, 12, lambda bench: bench.chat_cpu()),
}

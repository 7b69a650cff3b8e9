"""Instructions of a running program, on machines that count them. Most virtual machines do not: see Benchmarks/instructions."""

import functools
import re
import signal
import subprocess

from harness.program import Programs

EVENT = "instructions:u"
WORDS = ["perf", "stat", "-x,", "-e", EVENT]


def counted(text: str) -> int | None:
    found = re.search(rf"^(\d+),[^,]*,{EVENT}", text, re.MULTILINE)
    return int(found[1]) if found else None


@functools.cache
def is_there() -> bool:
    try:
        return counted(subprocess.run([*WORDS, "true"], capture_output=True, text=True).stderr) is not None
    except OSError:
        return False


class Counter:
    """Counts from now on, what all threads do outside of the kernel."""

    def __init__(self, pid: int, programs: Programs) -> None:
        self.perf = subprocess.Popen([*WORDS, "-p", str(pid)], stderr=subprocess.PIPE, text=True)
        programs.add(self.perf)

    def end(self) -> int:
        self.perf.send_signal(signal.SIGINT)
        return counted(self.perf.communicate()[1]) or 0

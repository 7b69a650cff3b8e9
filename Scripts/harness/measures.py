"""How slow this machine is at this moment, and the kernel's figures of a process. Limits on time are multiples of the
slowness, so that a verdict depends on the program and not on the machine or on the work beside it."""

import json
import os
import time
import zlib
from collections.abc import Callable
from typing import TextIO, TypeVar

# A fixed piece of work: text that is parsed, and bytes that are compressed. It evicts caches as a gateway's work does.
_TEXT = json.dumps([{"number": number, "text": "the quick brown fox " * 3} for number in range(30_000)])
# Its processor seconds on an idle core of an Intel Xeon (Sapphire Rapids).
_USUAL = 0.020


def _work() -> int:
    return len(json.loads(_TEXT)) + len(zlib.compress(_TEXT.encode(), 1))


def slowness(tries: int = 3) -> float:
    """How many times the usual processor time this machine needs now; at least 1. It is the median of several tries,
    so measure it right before or after the work that is judged."""
    return max(1.0, sorted(_measured(time.thread_time) for _ in range(tries))[tries // 2])


def delay(tries: int = 3) -> float:
    """Like `slowness`, but for time on the clock: other work that takes the cores counts too. Returns the longest."""
    return max(1.0, *(_measured(time.monotonic) for _ in range(tries)))


def _measured(clock: Callable[[], float]) -> float:
    began = clock()
    _work()
    return (clock() - began) / _USUAL


Value = TypeVar("Value")
# Seconds of computing and of waiting for a processor, by thread.
Times = dict[str, tuple[float, ...]]


def cpu_seconds(pid: int) -> float:
    """Processor seconds so far of all its threads, ended ones included."""
    # The clock of another process; clock_getcpuclockid(3) computes its number in the same way.
    return time.clock_gettime((~pid << 3) | 2)


def machine_times() -> list[int]:
    """The first line of proc_stat(5): ticks of all processors as a user, nice, in the kernel, idle, waiting for a disk, ..."""
    with open("/proc/stat") as file:
        return [int(word) for word in file.readline().split()[1:9]]


def memory(pid: int, name: str = "VmHWM") -> float:
    """MiB: the peak resident memory, or with VmRSS the current one."""
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) / 1024
    return 0.0


def per_thread(pid: int, name: str, read: Callable[[TextIO], Value]) -> dict[str, Value]:
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/{name}") as file:
                found[thread] = read(file)
        except OSError:
            continue  # The thread has ended meanwhile.
    return found


def busy(pid: int) -> Times:
    """Seconds that each thread has computed and has waited for a processor."""
    return per_thread(pid, "schedstat", lambda file: tuple(int(word) / 1e9 for word in file.read().split()[:2]))


def thread_seconds(pid: int, prefix: str) -> dict[str, float]:
    """Processor seconds so far of the threads whose names begin so, by name."""
    names = per_thread(pid, "comm", lambda file: file.read().strip())
    spent = busy(pid)
    return {name: spent[thread][0] for thread, name in names.items() if name.startswith(prefix) and thread in spent}


def context_switches(pid: int) -> dict[str, int]:
    """How often each thread gave up its processor voluntarily: each wait counts, and each call that strace stops."""
    find = lambda file: next(int(line.split()[1]) for line in file if line.startswith("voluntary"))
    return per_thread(pid, "status", find)


# A machine with more contention proves nothing about time, and must not pass.
CROWDED = 10


def contention(before: Times, after: Times) -> float:
    """How much waiting for a processor slowed down the busiest thread between two calls of `busy`."""
    grown = [[now - then for now, then in zip(after[thread], before.get(thread, (0, 0)))] for thread in after]
    ran, waited = max(grown)
    return min(CROWDED, (ran + waited) / max(ran, 0.001))

"""What the kernel says of a process: the time it computed, and the most memory it had."""

import os
from collections.abc import Callable
from typing import TextIO, TypeVar

Value = TypeVar("Value")
# Seconds of computing and of waiting for a processor, by thread.
Times = dict[str, tuple[float, ...]]


TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Seconds of processor time so far, of all its threads."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pid: int, name: str = "VmHWM") -> float:
    """MiB: the most that there was, or with VmRSS what there is."""
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) / 1024
    return 0.0


def of_each_thread(pid: int, name: str, read: Callable[[TextIO], Value]) -> dict[str, Value]:
    """What `read` finds in the file of each thread, by thread."""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/{name}") as file:
                found[thread] = read(file)
        except OSError:
            continue  # It has ended meanwhile.
    return found


def busy(pid: int) -> Times:
    """Seconds for which each thread computed so far, and for which it waited for a processor, by thread."""
    return of_each_thread(pid, "schedstat", lambda file: tuple(int(word) / 1e9 for word in file.read().split()[:2]))


def context_switches(pid: int) -> dict[str, int]:
    """How often each thread gave its processor away so far: each wait is one, and each call that strace holds up."""
    return of_each_thread(
        pid, "status", lambda file: next(int(line.split()[1]) for line in file if line.startswith("voluntary"))
    )


# A machine that is more crowded than that proves nothing about time, and must not pass for it.
CROWDED = 10


def strain(before: Times, after: Times) -> float:
    """How many times as long as on a machine of its own the busiest thread took, by what `busy` said before and after:
    waits for a processor count, and no others."""
    grown = [[now - then for now, then in zip(after[thread], before.get(thread, (0, 0)))] for thread in after]
    ran, waited = max(grown)
    return min(CROWDED, (ran + waited) / max(ran, 0.001))

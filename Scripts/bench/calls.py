"""Counts a gateway's system calls with strace."""

import collections
import dataclasses
import pathlib
import re

from harness.measures import per_thread

LINE = re.compile(r"(\d+) +(\d+\.\d+) (?:<\.\.\. (\w+) resumed>|(\w+)\()(?:.*<(\d+\.\d+)>$)?")


@dataclasses.dataclass
class Calls:
    """How often each thread made each call, and the seconds of each call of fdatasync."""

    counts: dict[tuple[str, str], int]
    syncs: list[float]


def before(file: pathlib.Path) -> list[str]:
    """A command prefix. It lists all calls with their times, so that those of a load can be told from the start's."""
    return ["strace", "-D", "-f", "-qq", "-s", "0", "-ttt", "-T", "-o", str(file)]


def names(pid: int) -> dict[str, str]:
    """The names of threads by their ids, without the numbers at their ends: `http` for `http-0` and `http-1`."""
    found = per_thread(pid, "comm", lambda comm: re.sub(r"-\d+$", "", comm.read().strip()))
    return {**found, str(pid): "main"}


def read(file: pathlib.Path, names: dict[str, str], began: float, ended: float) -> Calls:
    """The calls between two times of the day."""
    calls = Calls(collections.Counter(), [])
    for line in file.read_text(errors="replace").splitlines():
        if not (match := LINE.match(line)) or not began <= float(match[2]) <= ended:
            continue
        thread, _, resumed, begun, seconds = match.groups()
        if begun:
            calls.counts[names.get(thread, "ended"), begun] += 1
        if seconds and (resumed or begun) == "fdatasync":
            calls.syncs.append(float(seconds))
    return calls

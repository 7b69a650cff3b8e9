"""Finds the calls of a run at which a kill can leave a different state on the disk."""

import collections
import pathlib
import re

from harness.sandbox import Sandbox
from proof.disk import syscalls
from proof.disk.syscalls import Call
from proof.scenarios.kills.killed_run import KilledRun, KillScene
from proof.trial import Trial

# A file, a call on it, and the number of the call.
Point = tuple[str, str, int]


# Calls that change what a killed program leaves behind. Between two of them nothing changes.
CALLS = ("openat", "mkdir", "pwrite64", "write", "fdatasync", "fsync", "ftruncate", "rename", "link", "unlink")


def points(trial: Trial, scene: KillScene, sandbox: Sandbox) -> tuple[list[Point], list[str]]:
    """The points at which a run can be killed, and the calls that no kill can reach."""
    case = KilledRun(trial, scene, sandbox, scene.name)
    there = {entry.name for entry in case.data.iterdir()} if scene.base[0] else set()
    case.is_counted = True
    case.expect(not case.run(syscalls.listing(case.trace)), "it was killed without a kill point")
    found, missed = list_points(case, there)
    case.check()
    return found, missed


def list_points(case: KilledRun, there: set[str]) -> tuple[list[Point], list[str]]:
    counts: collections.Counter[tuple[str, str, str]] = collections.Counter()
    aims: dict[int, tuple[syscalls.Call, Point | None]] = {}
    taken: set[Point] = set()
    found: list[Point] = []
    missed: list[str] = []
    for moment, call in syscalls.parse(syscalls.finished(case.trace, case.gateway.process)):
        if not (names := names_in(case.data, call)) or (case.scene.files and names[0] not in case.scene.files):
            continue
        if moment == "begin":
            if call.name in CALLS:
                # The n-th call of the thread that reaches its n-th first.
                counts.update((call.thread, name, call.name) for name in names)
                numbered = [(name, call.name, counts[call.thread, name, call.name]) for name in names]
                aims[id(call)] = call, next((aim for aim in numbered if aim not in taken), None)
                taken |= set(numbered)
        elif call.name not in (*CALLS, "close"):
            case.expect(call.result < 0, f"kill points do not cover {call.name}({', '.join(call.words)[:200]})")
        elif id(call) in aims and call.result >= 0 and changes(call, names, there):
            aim = aims[id(call)][1]
            found.append(aim) if aim else missed.append(f"{call.name} {names[0]}")
    return found, missed


def names_in(data: pathlib.Path, call: Call) -> list[str]:
    """The files of the data directory that the call is about; the empty name is the directory itself."""
    paths = [found[1] for word in call.words if (found := re.search(r'[<"](/[^>"]*)[>"]', word))]
    return [
        path[len(str(data)) :].lstrip("/")
        for path in paths
        if f"{path}/".startswith(f"{data}/") and "(deleted)" not in path
    ]


def changes(call: Call, names: list[str], there: set[str]) -> bool:
    """True if the call changes anything on the disk. Opening an existing file does not."""
    if call.name == "openat":
        is_new = "O_CREAT" in call.words[2] and names[0] not in there
        there.add(names[0])
        return is_new or "O_TRUNC" in call.words[2]
    if call.name in ("unlink", "rename"):
        there.discard(names[0])
    if call.name in ("link", "rename"):
        there.add(names[1])
    return True

"""One run of a scene up to a kill, the check of what is left, and the calls at which a kill leaves something else."""

import collections
import dataclasses
import http.client
import itertools
import pathlib
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import Any

from harness.gateway import Sandbox
from harness.program import DidNotStart
from harness.waiting import wait_until
from proof import fan_out, queues
from proof.clients.device import ConnectionLost
from proof.clients.writer import Writer, arrivals_by_name, check_left
from proof.disk import syscalls
from proof.disk.syscalls import Call
from proof.trial import Case, Trial

# A file name with a timestamp.
STAMPED = re.compile(r"^queue\.corrupt-\d{14}")
KILLED = -9


@dataclasses.dataclass
class KillScene:
    name: str
    base: tuple[pathlib.Path | None, Writer]  # A data directory, and the device that wrote its content.
    steps: Callable[[Any], object]  # The steps during which it is killed. They set `result` for the check.
    delivers: bool = True
    settings: str = ""
    destination: str = ""  # Settings that make it store each log once.
    makes_token: bool = False
    fans_out: bool = False  # A filter, and a file as a second destination.
    gone: frozenset[str] = frozenset()  # Logs that cannot be salvaged.
    files: tuple[str, ...] = ()  # Only calls on these files are kill points.
    prepare: Callable[[Sandbox], object] = lambda sandbox: None
    after: Callable[[Any], object] = lambda case: None


class KilledRun(Case):
    """One run of a scene up to the kill, and the check of what is left."""

    numbers = itertools.count(1)

    def __init__(self, trial: Trial, scene: KillScene, sandbox: Sandbox, where: str) -> None:
        self.trial, self.scene, self.sandbox = trial, scene, sandbox
        # What the steps found, for the check afterwards.
        self.result: Any = None
        self.number = next(KilledRun.numbers)
        self.data = trial.work / f"case-{self.number}"
        self.trace = trial.work / f"case-{self.number}.calls"
        self.fan_out = fan_out.FanOut.beside(self.data) if scene.fans_out else None
        self.writer = Writer(random.Random(trial.seed + self.number), f"case{self.number}")
        self.is_counted = self.has_stopped = False
        if scene.base[0]:
            shutil.copytree(scene.base[0], self.data)
            fan_out.FanOut.beside(scene.base[0]).copy_to(self.data)
        self.name = where

    def start(self, where: Sandbox | str, before: Sequence[str] = (), wait: bool = True) -> None:
        scene = self.scene
        options: dict[str, Any] = {"token": None} if scene.makes_token else {}
        options |= {"settings": scene.settings, "destination": scene.destination, "before": before, "wait": wait}
        if self.fan_out:
            options |= {"settings": fan_out.SETTINGS, "others": self.fan_out.destination}
        self.gateway = self.trial.gateway(where, data=self.data, **options)

    def stop(self) -> None:
        self.has_stopped = self.gateway.stop() == 0

    def begin(self, before: Sequence[str]) -> None:
        self.scene.prepare(self.sandbox)
        self.sandbox.control("DELETE", "/logs")
        self.start(self.sandbox if self.scene.delivers else queues.NOWHERE, before, wait=False)

    def act(self) -> None:
        self.gateway.wait_for("sluice is ready")
        self.gateway.wait_until_ready()
        self.scene.steps(self)

    def run(self, before: Sequence[str]) -> bool:
        """True if the program was killed during the steps. It may not end otherwise, unless it is asked to."""
        self.begin(before)
        try:
            self.act()
            code = self.gateway.process.poll()
        except (DidNotStart, ConnectionLost, OSError, http.client.HTTPException) as error:
            try:
                # All its threads need a moment to end.
                code = self.gateway.process.wait(20)
            except subprocess.TimeoutExpired:
                raise error from None  # The program is alive and does not answer.
        self.gateway.kill()
        is_asked = code == 0 and self.has_stopped
        self.expect(code in (None, KILLED) or is_asked, f"the gateway ended by itself with {code}")
        return code == KILLED

    def check(self) -> None:
        self.start(self.sandbox)
        ledger = check_left(self.trial, self.gateway, self.name, len(self.scene.gone), "salvage" in self.scene.name)
        arrivals = arrivals_by_name(self.trial, self.sandbox, (self.writer, self.scene.base[1]), self.name)
        answered = (self.writer.answered | self.scene.base[1].answered) - self.scene.gone
        if self.fan_out:
            wait_until(self.fan_out.is_repaired, what="the torn line is still in the file")
            self.wrong(*self.fan_out.wrong(self.gateway, self.sandbox.logs(), answered))
            answered = {name for name in answered if not fan_out.is_dropped(name)}
        missing = answered - set(arrivals)
        self.expect(not missing, f"{len(missing)} of {len(answered)} answered logs did not arrive: {ledger}")
        twice = [name for name, count in arrivals.items() if count > 1]
        self.expect(not twice or not self.scene.destination, f"{len(twice)} logs were stored twice")
        self.scene.after(self)
        self.gateway.kill()
        shutil.rmtree(self.data)
        self.trace.unlink(missing_ok=True)

    def killing(self, name: str, call: str, number: int) -> list[str]:
        """A command prefix that kills the program in place of the n-th such call on this file."""
        names = [name]
        if stamp := STAMPED.match(name):
            seconds = [time.strftime("%Y%m%d%H%M%S", time.gmtime(time.time() + n)) for n in range(40)]
            names = [f"queue.corrupt-{second}{name[stamp.end() :]}" for second in seconds]
        return syscalls.killing(self.trace, [self.data / name for name in names], call, number)


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
    ours = (path for path in paths if f"{path}/".startswith(f"{data}/") and "(deleted)" not in path)
    return [path[len(str(data)) :].lstrip("/") for path in ours]


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

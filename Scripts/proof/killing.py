"""A scene from its beginning to a kill, and what is left of it."""

import collections
import dataclasses
import http.client
import itertools
import random
import shutil
import typing

import calls
import scenes
from device import Lost
from program import DidNotStart

# What of a program is left when it ends: between two of these nothing is.
CALLS = ("pwrite64", "write", "fdatasync", "fsync", "ftruncate", "rename", "link", "unlink")
NAMES = [f"queue{kind}.db{end}" for kind in ("", ".salvage") for end in ("", "-wal", "-journal", "-shm")]
NAMES += ["admin-token", "admin-token.new"]


@dataclasses.dataclass
class Scene:
    name: str
    base: tuple  # A data directory, and who wrote what is in it.
    steps: typing.Callable  # Does what is to be interrupted; `result` is what the check is to know.
    delivers: bool = True
    settings: str = ""
    destination: str = ""  # What makes it store each log once.
    makes_token: bool = False
    gone: frozenset = frozenset()  # Logs that cannot be saved.
    files: tuple = ()  # Kills concern these only.
    prepare: typing.Callable = lambda sandbox: None
    after: typing.Callable = lambda case: None


class Case:
    """A scene from its beginning to the kill, and what is left of it."""

    numbers = itertools.count(1)

    def __init__(self, trial, scene, sandbox, where):
        self.trial, self.scene, self.sandbox, self.result = trial, scene, sandbox, None
        self.number = next(Case.numbers)
        self.data = trial.work / f"case-{self.number}"
        self.trace = trial.work / f"case-{self.number}.calls"
        self.writer = scenes.Writer(random.Random(trial.seed + self.number), f"case{self.number}")
        if scene.base[0]:
            shutil.copytree(scene.base[0], self.data)
        self.paths = [self.data / name for name in scene.files or NAMES] + [self.data]
        self.where = where

    def expect(self, holds, line):
        return self.trial.expect(holds, f"{self.where}: {line}")

    def start(self, where, before=()):
        scene, options = self.scene, {"token": None} if self.scene.makes_token else {}
        options |= {"settings": scene.settings, "destination": scene.destination, "before": before}
        self.gateway = self.trial.gateway(where, data=self.data, **options)

    def run(self, before):
        """Whether the program was killed on the way."""
        self.scene.prepare(self.sandbox)
        self.sandbox.control("DELETE", "/logs")
        try:
            self.start(self.sandbox if self.scene.delivers else scenes.NOWHERE, before)
            self.scene.steps(self)
        except (Lost, OSError, http.client.HTTPException):
            # It takes a moment until all its threads are gone.
            return self.gateway.process.wait(10) == -9
        except DidNotStart:
            return True
        was_killed = self.gateway.process.poll() == -9
        self.gateway.kill()
        return was_killed

    def check(self):
        """Starts it again and compares."""
        self.start(self.sandbox)
        ledger = self.gateway.drained(20)
        arrivals = scenes.arrivals(self.trial, self.sandbox, (self.writer, self.scene.base[1]), self.where)
        answered = (self.writer.answered | self.scene.base[1].answered) - self.scene.gone
        missing = answered - set(arrivals)
        self.expect(not missing, f"{len(missing)} of {len(answered)} answered logs did not arrive: {ledger}")
        self.expect(ledger["closed"] and ledger["ledger"]["queued"] == 0, f"the ledger is not closed: {ledger}")
        self.expect(ledger["ledger"]["discarded"] == len(self.scene.gone), f"logs were discarded: {ledger}")
        for line in self.gateway.lines():
            self.expect(line["level"] != "error" or "salvage" in self.scene.name, f"the journal has an error: {line}")
        twice = [name for name, count in arrivals.items() if count > 1]
        self.expect(not twice or not self.scene.destination, f"{len(twice)} logs were stored twice")
        self.scene.after(self)
        self.gateway.kill()
        self.end()

    def end(self):
        shutil.rmtree(self.data)
        self.trace.unlink(missing_ok=True)


def points(trial, scene, sandbox):
    """Each call that a run makes, as its name and its number: nothing is killed."""
    case = Case(trial, scene, sandbox, scene.name)
    case.run(calls.counting(case.trace, case.paths, CALLS))
    counts = collections.Counter()
    for line in calls.finished(case.trace, case.gateway.process):
        if (match := calls.LINE.match(line)) and match[3]:
            counts[match[1], match[3]] += 1
    case.check()
    most = collections.Counter()
    for (_, call), count in counts.items():
        most[call] = max(most[call], count)
    return [(call, number) for call, count in most.items() for number in range(1, count + 1)]

"""Recorded runs: every system call on the disk, every answer of the gateway and of SLS."""

import bisect
import copy
import hashlib
import itertools
import pathlib
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from random import Random

from harness.gateway import Gateway, Sandbox
from proof import fan_out
from proof.clients.writer import Writer
from proof.disk import syscalls
from proof.disk.posix_files import RecordedDisk
from proof.disk.syscalls import Call, Event
from proof.fan_out import FanOut
from proof.queues import Base
from proof.trial import Trial

# The call before which the power is cut, and in which order names reach the disk.
Cut = tuple[int, str]
Run = Callable[[Gateway, Writer, Sandbox], None]
numbers = itertools.count(1)


class Recording:
    """Runs of a gateway on one disk, each from where the last one ended. Each run is killed unless it stopped."""

    def __init__(
        self,
        trial: Trial,
        name: str,
        base: Base | None,
        runs: Sequence[Run],
        durability: str = "full",
        destination: str = "",
        gone: frozenset[str] = frozenset(),
        fans_out: bool = False,
    ) -> None:
        self.trial, self.name, self.durability, self.destination = trial, name, durability, destination
        self.gone, self.fans_out = gone, fans_out
        self.root = trial.work / f"recording-{name}"
        self.root.mkdir()
        routes = fan_out.SETTINGS if fans_out else ""
        self.settings = f"queue: {{ durability: {durability} }}\ndrain_timeout: 1s\n{routes}"
        self.writer = copy.deepcopy(base[1]) if base else Writer(trial.random, name)
        if base:
            shutil.copytree(base[0], self.root / "data")
            FanOut.beside(base[0]).copy_to(self.root / "data")
        # Everything from before the recording is synced.
        self.machine = RecordedDisk(self.root)
        self.before = frozenset(self.writer.answered) - gone
        self.events: list[Event] = []
        self.images: set[bytes] = set()
        self.seen: set[tuple[bytes, int]] = set()
        sandbox = trial.sandbox()
        data = self.root / "data"
        options = {"settings": self.settings, "destination": destination, "others": self.others(data)}
        for number, run in enumerate(runs):
            file = trial.work / f"recording-{name}-{number}.calls"
            gateway = trial.gateway(sandbox, data=data, token=None, before=syscalls.recording(file), **options)
            run(gateway, self.writer, sandbox)
            code = gateway.process.poll()
            trial.expect(code in (None, 0), f"{name}, recorded: the gateway ended by itself with {code}")
            gateway.kill()
            self.events += syscalls.parse(syscalls.finished(file, gateway.process))
            self.events.append(("ended", None))
            file.unlink()
        self.token = gateway.token
        self.delivered: dict[bytes, set[str]] = {}
        for log in sandbox.logs():
            self.delivered.setdefault(log["__request_id__"].encode(), set()).add(log["name"])
        sandbox.kill()
        self.index_events()

    def others(self, data: pathlib.Path) -> str:
        """With a fan-out a file is the second destination. It is on the recorded disk."""
        return FanOut.beside(data).destination if self.fans_out else ""

    def index_events(self) -> None:
        """Finds answers, acknowledgements, syncs and name changes among the calls."""
        self.answers: list[tuple[int, set[str]]] = []
        self.acknowledged: list[tuple[int, set[str]]] = []
        self.log_syncs: list[tuple[int, int]] = []
        self.ready: int | None = None
        self.boundaries: list[int] = []
        self.changes: list[int] = []
        names: dict[int, str] = {}
        begins: dict[int, int] = {}
        for index, (moment, call) in enumerate(self.events):
            if call is None:
                names.clear()
            elif moment == "begin" and call.name == "sendto" and (logs := self.writer.answered_by(call.bytes(1))):
                self.answers.append((index, logs))
            elif moment == "begin" and call.name == "write" and b"sluice is ready" in call.bytes(1):
                self.ready = self.ready or index
            elif moment == "begin":
                begins[id(call)] = index
            elif call.name == "recvfrom" and (found := re.search(rb"x-log-requestid: (\w+)", received(call))):
                self.acknowledged.append((index, self.delivered.get(found[1], set())))
            elif call.name in ("rename", "unlink", "link") and call.result == 0:
                self.changes.append(index + 1)
            elif call.name == "openat":
                names[call.result] = pathlib.Path(call.text(1)).name
            elif call.name in ("fdatasync", "fsync") and call.result == 0:
                self.boundaries += [index, index + 1]
                if names.get(call.number(0)) == "queue.db-wal":
                    self.log_syncs.append((index, begins[id(call)]))

    def answered(self, place: int) -> frozenset[str]:
        return self.before.union(*(logs for index, logs in self.answers if index < place))

    def promised(self, place: int) -> frozenset[str]:
        """Logs that must be on the disk or at SLS after a cut at this place."""
        if self.durability == "full":
            return self.answered(place)
        # Logs that were answered before the last sync of the WAL began.
        return self.answered(max((begin for end, begin in self.log_syncs if end < place), default=-1))

    def known(self, place: int) -> set[str]:
        """Logs that SLS is known to have."""
        return set().union(*(logs for index, logs in self.acknowledged if index < place))

    def places(self, random: Random, count: int) -> list[Cut]:
        """The places of the power cuts, each with the order in which names reach the disk."""
        # Each name change reaches the disk before the earlier changes of the program.
        forced = [(index, "last") for index in self.changes]
        # The last answers of each run, and some others, rely on synced data alone.
        ends = [index for index, (moment, _) in enumerate(self.events) if moment == "ended"]
        behind = [index + 1 for index, _ in self.answers]
        forced += {(max(index for index in behind if index <= end), "synced") for end in ends}
        forced += {(random.choice(behind), "synced") for _ in range(count // 10)}
        if self.trial.is_long:
            forced += [(index, "synced") for index in self.boundaries]
        kinds, orders = (self.boundaries, behind, range(len(self.events))), ("kept", "any")
        return sorted(forced + [(random.choice(random.choice(kinds)), random.choice(orders)) for _ in range(count)])

    def cuts(self, random: Random, places: list[Cut], moves: bool = False) -> Iterator[tuple[int, pathlib.Path]]:
        """Writes a disk image at each place. A cut that would prove nothing new moves on, a few times."""
        places, moved, most = sorted(places), 0, 3 * len(places)
        for index, (moment, call) in enumerate(self.events):
            while places and places[0][0] == index:
                _, order = places.pop(0)
                may_move = moves and order in ("kept", "any") and moved < most
                if image := self.image(random, index, order, may_move):
                    yield index, image
                else:
                    moved += 1
                    bisect.insort(places, (random.randint(index + 1, len(self.events)), order))
            if call is None:
                self.machine.restart()
            else:
                self.machine.do(moment, call)
        wrong = list(self.machine.disk.differences(self.root))
        self.trial.expect(not wrong, f"{self.name}: the model of the disk differs from the disk: {wrong}")
        for place, order in places:
            image = self.image(random, place, order)
            assert image is not None
            yield place, image

    def image(self, random: Random, place: int, order: str, is_new: bool = False) -> pathlib.Path | None:
        """Writes an image that the disk may have; None when it must be new and was met with the same answers."""
        path = self.trial.work / f"image-{self.name.replace(' ', '-')}-{place}-{next(numbers)}"
        for _ in range(2):
            self.machine.disk.write_image(path, random, order)
            image = digest(path)
            meeting = image, sum(index < place for index, _ in self.answers)
            if not is_new or meeting not in self.seen:
                self.images.add(image)
                self.seen.add(meeting)
                return path
            shutil.rmtree(path)
        return None


def digest(path: pathlib.Path) -> bytes:
    """A digest of everything that a start reads. The lock and the WAL index are created again at each start."""
    files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.endswith(("-shm", ".lock")))
    whole = hashlib.blake2b(digest_size=16)
    for file in files:
        whole.update(f"{file.relative_to(path)} {file.stat().st_size}\n".encode() + file.read_bytes())
    return whole.digest()


def received(call: Call) -> bytes:
    return call.bytes(1) if call.result and '"' in call.words[1] else b""

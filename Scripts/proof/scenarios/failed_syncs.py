"""Each sync of a program fails once: nothing that it covered may count before it was written again."""

import collections
import http.client
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from harness.gateway import Sandbox
from harness.program import DidNotStart
from harness.waiting import wait_until
from proof import queues
from proof.clients.device import ConnectionLost
from proof.clients.writer import Writer
from proof.disk import syscalls
from proof.disk.syscalls import Call
from proof.queues import DATABASE, PAGE, WAL, Base, frames
from proof.scenarios import kill_points
from proof.scenarios.killed_run import STAMPED, KilledRun, KillScene, Point, names_in
from proof.trial import Trial

# Offset and length of a write.
Place = tuple[int, int]

SYNCS = ("fdatasync", "fsync")
NEVER = "fsync", 9999
# SQLite writes a frame in two calls. Only a WAL that is written again is written in whole frames.
FRAME = 24 + PAGE
# A damaged file that was moved aside, without the timestamp in its name.
ASIDE = "queue.corrupt"


def check(trial: Trial) -> None:
    # A sandbox of its own: a late log of one run must not count for another part.
    sandbox = trial.sandbox()
    fresh, backlog = queues.fresh(trial), queues.backlog(trial)
    harmed = queues.damaged(trial, backlog)
    for scene in [
        KillScene("syncs of a first start", (None, Writer(trial.random)), first_start, makes_token=True),
        KillScene("syncs of a life", fresh, deliver),
        KillScene("syncs of a checkpoint", fresh, fill, delivers=False),
        KillScene("syncs behind a torn log", torn(trial), deliver),
        KillScene("syncs of a salvage", harmed[:2], deliver, gone=frozenset(harmed[2])),
        *[KillScene("syncs of a migration", queue, deliver) for queue in queues.older(trial, backlog)[:1]],
    ]:
        syncs = attempt(trial, scene, sandbox, *NEVER)[0].syncs
        # First the n-th sync of each thread; then, by file, the syncs that these runs do not reach because another
        # thread's failure ended the program.
        most = {call: sum(sync[1] == call for sync in syncs) for call in SYNCS}
        found = [(call, number) for call in SYNCS for number in range(1, most[call] + 1)]
        results = [attempt(trial, scene, sandbox, *point) for point in kill_points.sample(trial, found, 3)]
        failed = {sync for disk, _ in results for sync in disk.failed}
        # Files with a timestamp in the name can only be reached through the thread.
        others = sorted(sync for sync in syncs - failed if not sync[0].startswith(ASIDE))
        if not trial.is_long:
            own = [sync for sync in others if sync[0] not in (WAL, DATABASE)]
            others = trial.random.sample(own or others, min(1, len(others)))
        for name, call, number in others:
            results.append(attempt(trial, scene, sandbox, call, number, name))
        failed = {sync for disk, _ in results for sync in disk.failed} & syncs
        told = f"{scene.name}: {len(failed)} of {len(syncs)} syncs failed in {len(results)} runs"
        trial.say(f"{told}; {sum(ended for _, ended in results)} runs ended the program")
        # On a busy machine a run may make fewer syncs.
        trial.expect(len(failed) >= (0.9 * len(syncs) if trial.is_long else 2), told)


def first_start(case: KilledRun) -> None:
    kill_points.first_start(case)
    recover(case)


def fill(case: KilledRun) -> None:
    kill_points.fill(case)
    recover(case)


def deliver(case: KilledRun) -> None:
    case.writer.post(case.gateway)
    recover(case)
    case.gateway.drain(5)
    case.stop()


def recover(case: KilledRun) -> None:
    """Waits until the gateway accepts logs again. By then it has moved the WAL and begun a new one."""
    wait_until(lambda: case.writer.post(case.gateway) == 200, what="the gateway does not recover")
    case.writer.post(case.gateway)


def torn(trial: Trial) -> Base:
    """A queue whose WAL ends in a torn transaction, as a power cut leaves it."""
    data, writer = trial.work / "torn", Writer(trial.random, "whole")
    gateway = trial.gateway(queues.NOWHERE, data=data)
    for _ in range(5):
        writer.post(gateway)
    kept = set(writer.answered)
    writer.post(gateway, 3, "torn", 20_000)
    gateway.kill()
    writer.answered = kept
    *_, (last, _, _) = frames((data / WAL).read_bytes())
    with open(data / WAL, "r+b") as log:
        log.seek(last + 24)
        log.write(bytes(PAGE))
    return data, writer


class FailingRun(KilledRun):
    """A scene in which a sync fails. The gateway goes on or ends."""

    def live(self, before: Sequence[str]) -> bool:
        self.is_counted = True
        self.begin(before)
        try:
            self.act()
        except (ConnectionLost, OSError, http.client.HTTPException) as error:
            self.expect(False, f"the gateway is alive and does not answer: {error}")
        except DidNotStart as error:
            self.expect(not self.gateway.is_running, f"it neither starts nor ends: {error}")
        code = self.gateway.process.poll()
        self.gateway.kill()
        return code is not None and not self.has_stopped


def attempt(
    trial: Trial, scene: KillScene, sandbox: Sandbox, call: str, number: int, name: str | None = None
) -> tuple["SyncedState", bool]:
    """Lets one sync fail. Returns the state of the disk according to the calls, and whether the program ended. Then
    it is started again, as a supervisor would."""
    where = f"{call} {number} fails" if name is None else f"{call} {number} of {name or 'the directory'} fails"
    case, endings = FailingRun(trial, scene, sandbox, f"{scene.name}: {where}"), []
    disk = SyncedState(case)
    for point in ((call, number, None if name is None else case.data / name), NEVER):
        endings.append(case.live(syscalls.failing(case.trace, *point)))
        last = case.gateway.journal.read_text()[-500:]
        disk.follow(syscalls.parse(syscalls.finished(case.trace, case.gateway.process)))
        if not endings[-1]:
            break
        case.expect(str(case.data) in last and "check the disk" in last, f"it ended without a reason: {last}")
    case.expect(len(endings) == 1 or not endings[1], "it ended again, without a fault")
    # SQLite ignores the failure of a directory's sync. After a name came or went, another sync must follow.
    case.expect(not disk.lost[""], "names changed, and the directory was not synced again")
    case.check()
    return disk, endings[0]


class SyncedState:
    """The writes of a program that may not be on the disk, because the sync that covered them failed."""

    def __init__(self, case: KilledRun) -> None:
        self.case = case
        self.syncs: set[Point] = set()
        self.failed: set[Point] = set()
        self.names = {entry.name for entry in case.data.iterdir()} if case.data.exists() else set()
        self.counts: collections.Counter[tuple[str, str, str]] = collections.Counter()
        self.written: dict[str, set[Any]] = collections.defaultdict(set)
        self.lost: dict[str, set[Any]] = collections.defaultdict(set)

    def follow(self, events: Iterable[tuple[str, Call]]) -> None:
        self.counts.clear()
        for moment, call in events:
            names = names_in(self.case.data, call)
            if moment == "end" and names:
                self.see(call, *names)

    def see(self, call: Call, name: str, other: str | None = None) -> None:
        if call.name in SYNCS:
            return self.sync(call, name)
        if call.result < 0:
            return
        self.expect(call.name not in syscalls.OTHERS.split(","), f"the model does not know {call.name} of {name}")
        if call.name == "pwrite64":
            self.write(name, int(call.words[3]), int(call.words[2]))
        elif call.name == "write":
            # Nothing writes such a place again.
            self.written[name].add((-1, len(self.written[name])))
        elif call.name == "ftruncate":
            self.dropped(name)
            self.keep(name, lambda place: place[0] < int(call.words[1]))
        elif call.name in ("rename", "link"):
            self.expect(not self.lost[name] or name in (WAL, DATABASE), f"{name} was renamed though its sync failed")
        is_new = call.name == "openat" and "O_CREAT" in call.words[2] and name not in self.names
        if is_new or call.name in ("link", "rename", "unlink"):
            self.written[""].add((call.name, name))
            self.names |= {other or name}
        if call.name in ("unlink", "rename"):
            self.names.discard(name)
            self.dropped(name)
            written, lost = self.written.pop(name, set()), self.lost.pop(name, set())
            if other is not None:
                self.written[other], self.lost[other] = written, lost

    def sync(self, call: Call, name: str) -> None:
        self.counts[call.thread, name, call.name] += 1
        this = STAMPED.sub(ASIDE, name), call.name, self.counts[call.thread, name, call.name]
        self.syncs.add(this)
        if call.result < 0:
            self.failed.add(this)
            self.lost[name] |= self.written[name]
        elif name == "":
            self.lost[""].clear()
        elif name not in (WAL, DATABASE):
            self.expect(not self.lost[name], f"{name} was synced again without being written again")
        self.written[name].clear()

    def write(self, name: str, begin: int, count: int) -> None:
        before = len(self.lost[name])
        self.keep(name, lambda place: not (begin <= place[0] and place[0] + place[1] <= begin + count))
        if name == WAL and begin == 0 and count < FRAME:
            self.dropped(WAL)
            # From here on the old WAL does not count.
            self.lost[WAL].clear()
        # A whole frame is the same bytes again, in the same place.
        elif name == WAL and count < FRAME:
            self.expect(len(self.lost[WAL]) < before or not before, f"the WAL is extended, {before} writes are lost")
        self.written[name].add((begin, count))

    def dropped(self, name: str) -> None:
        """When the WAL goes its content must be in the database."""
        missing = self.lost[DATABASE] | self.written[DATABASE]
        told = f"the WAL is dropped, and {len(missing)} writes of the database are not on the disk"
        self.expect(name != WAL or not missing, told)

    def keep(self, name: str, is_kept: Callable[[Place], bool]) -> None:
        for places in (self.written, self.lost):
            places[name] = set(filter(is_kept, places[name]))

    def expect(self, holds: object, line: str) -> None:
        self.case.expect(holds or not self.failed, line)

"""Each sync of a program fails once, also those of its start: nothing that it covered may count before it was written again."""

import collections
import http.client

import calls
import kill_points
import points
import scenes
from bases import until
from device import Lost
from killing import Case, Scene
from program import DidNotStart

LOG, DATABASE = "queue.db-wal", "queue.db"
SYNCS = ("fdatasync", "fsync")
NEVER = "fsync", 9999


def check(trial):
    # A late log of one life must not be taken for one of another part.
    sandbox = trial.sandbox()
    fresh, backlog = scenes.fresh(trial), scenes.backlog(trial)
    harmed = scenes.damaged(trial, backlog)
    for scene in [
        Scene("syncs of a first start", (None, scenes.Writer(trial.random)), first_start, makes_token=True),
        Scene("syncs of a life", fresh, deliver),
        Scene("syncs of a checkpoint", fresh, fill, delivers=False),
        Scene("syncs behind a torn log", torn(trial), deliver),
        Scene("syncs of a salvage", harmed[:2], deliver, gone=frozenset(harmed[2])),
        Scene("syncs of a migration", scenes.older(trial, backlog), deliver),
    ]:
        _, _, syncs = attempt(trial, scene, sandbox, *NEVER)
        most = {call: max((count for (_, name), count in syncs.items() if name == call), default=0) for call in SYNCS}
        found = [(call, number) for call in SYNCS for number in range(1, most[call] + 1)]
        chosen = points.sample(trial, found, 3)
        results = [attempt(trial, scene, sandbox, *point) for point in chosen]
        hits, ends = sum(failures > 0 for failures, _, _ in results), sum(ended for _, ended, _ in results)
        trial.say(f"{scene.name}: {hits} of {len(found)} failed, {ends} of them ended the program")
        # On a busy machine a run may need fewer.
        missing = max(1, len(chosen) // 10)
        trial.expect(len(found) > 1 and hits >= len(chosen) - missing, f"{scene.name}: {hits} of {len(chosen)} failed that should")


def first_start(case):
    points.first_start(case)
    well(case)


def deliver(case):
    case.writer.post(case.gateway)
    well(case)
    case.gateway.drained(5)
    case.stop()


def fill(case):
    points.fill(case)
    well(case)


def well(case):
    """Until it takes logs again. It read the log into the database meanwhile, and begins it anew."""
    until(lambda: case.writer.post(case.gateway) == 200, what="it does not recover")


def torn(trial):
    """A queue whose log ends in a transaction that the power's end cut off, in its last frame."""
    data, writer = trial.work / "torn", scenes.Writer(trial.random, "whole")
    gateway = trial.gateway(scenes.NOWHERE, data=data)
    for _ in range(5):
        writer.post(gateway)
    kept = set(writer.answered)
    writer.post(gateway, 3, "torn", 20_000)
    gateway.kill()
    writer.answered = kept
    with open(data / LOG, "r+b") as log:
        size = int.from_bytes(log.read(12)[8:], "big")
        frames = (log.seek(0, 2) - 32) // (24 + size)
        log.seek(0)
        # Of its round, not what an earlier one has left.
        salt, last = log.read(32)[16:24], 0
        for frame in range(frames):
            log.seek(32 + frame * (24 + size) + 8)
            last = frame if log.read(8) == salt else last
        log.seek(32 + last * (24 + size) + 24)
        log.write(b"\0" * size)
    return data, writer


class Life(Case):
    """A scene that goes on when a sync fails, or ends of it."""

    def live(self, before):
        """Whether it ended by itself."""
        self.scene.prepare(self.sandbox)
        self.sandbox.control("DELETE", "/logs")
        self.is_counted = True
        self.start(self.sandbox if self.scene.delivers else scenes.NOWHERE, before, wait=False)
        try:
            self.gateway.said("sluice is ready")
            self.gateway.ready()
            self.scene.steps(self)
        except (Lost, OSError, http.client.HTTPException) as error:
            self.expect(False, f"it does not do what it is there for: {error}")
        except DidNotStart as error:
            self.expect(not self.gateway.is_running, f"it neither starts nor ends: {error}")
        code = self.gateway.process.poll()
        self.gateway.kill()
        return code is not None and not self.has_stopped


def attempt(trial, scene, sandbox, call, number):
    """How many syncs failed, whether the program ended of it, and the syncs that it made, by thread."""
    case = Life(trial, scene, sandbox, f"{scene.name}: {call} {number} fails")
    ended = case.live(calls.failing(case.trace, call, number))
    last, disk = case.gateway.journal.read_text()[-500:], Disk(case)
    disk.follow(calls.parse(calls.finished(case.trace, case.gateway.process)))
    if ended:
        case.expect(str(case.data) in last and "look at the disk" in last, f"it ended and did not say why: {last}")
    case.check()
    return disk.failures, ended, disk.syncs


class Disk:
    """What of a program's writes may be on no disk, because the sync that was to tell failed."""

    def __init__(self, case):
        self.case, self.failures, self.syncs = case, 0, collections.Counter()
        self.written, self.lost = collections.defaultdict(set), collections.defaultdict(set)

    def follow(self, events):
        for moment, call in events:
            names = kill_points.names_in(self.case.data, call)
            if moment == "end" and names:
                self.see(call, *names)

    def see(self, call, name, other=None):
        if call.name in SYNCS:
            self.syncs[call.thread, call.name] += 1
            return self.sync(name, call.result < 0)
        if call.result < 0:
            return
        if call.name == "pwrite64":
            self.write(name, int(call.words[3]), int(call.words[2]))
        elif call.name == "write":
            # Nothing writes such a place again.
            self.written[name].add((-1, len(self.written[name])))
        elif call.name == "ftruncate":
            self.keep(name, lambda place: place[0] < int(call.words[1]))
        elif call.name in ("rename", "link"):
            self.expect(not self.lost[name] or name in (LOG, DATABASE), f"{name} has another name though its sync failed")
        if call.name in ("unlink", "rename"):
            self.expect(name != LOG or not self.lost[DATABASE], "the log is gone, and what it held is not in the database")
            self.written[other], self.lost[other] = self.written.pop(name, set()), self.lost.pop(name, set())

    def sync(self, name, is_failed):
        if is_failed:
            self.failures += 1
            self.lost[name] |= self.written[name]
        elif name not in (LOG, DATABASE):
            self.expect(not self.lost[name], f"{name} was synced again, and not written")
        self.written[name].clear()

    def write(self, name, begin, count):
        before = len(self.lost[name])
        self.keep(name, lambda place: not (begin <= place[0] and place[0] + place[1] <= begin + count))
        if name == LOG and begin == 0:
            # It counts for nothing from here on.
            self.lost[LOG].clear()
            self.expect(not self.lost[DATABASE], "the log begins anew, and what it held is not in the database")
        elif name == LOG:
            self.expect(len(self.lost[LOG]) < before or not before, f"the log goes on, and {before} writes before it are lost")
        self.written[name].add((begin, count))

    def keep(self, name, is_kept):
        for places in (self.written, self.lost):
            places[name] = set(filter(is_kept, places[name]))

    def expect(self, holds, line):
        self.case.expect(holds or not self.failures, line)

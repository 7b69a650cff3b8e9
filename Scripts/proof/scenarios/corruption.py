"""A damaged queue delivers no altered log, counts the unreadable ones, and accepts new ones."""

import contextlib
import json
import os
import pathlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

from harness.gateway import Gateway, Sandbox, status_of
from harness.waiting import wait_until
from proof.clients.device import Device
from proof.clients.promised_logs import PromisedLogs
from proof.queues import DATABASE, PAGE, WAL, first_pages, last_commit, last_of, length, wipe
from proof.trial import Case, Trial

SETTINGS = "drain_timeout: 100ms"
BAD = 5

# After each answer: the WAL's salt, which differs for each WAL in the file, its length, and the names that were promised.
History = list[tuple[bytes, int, set[str]]]


class PreparedQueue:
    """A queue's files, the log names in it, the names that were delivered before, and where the ledger is stored."""

    def __init__(
        self, data: pathlib.Path, name: str, promises: PromisedLogs, delivered: set[str], history: History
    ) -> None:
        self.name, self.data = name, data.with_name(name)
        shutil.copytree(data, self.data)
        (self.data / "queue.db-shm").unlink(missing_ok=True)
        self.delivered = delivered
        self.queued = promises.answered - delivered
        self.first_pages = first_pages(self.data)
        log = (self.data / WAL).read_bytes() if (self.data / WAL).exists() else b""
        # The names with the length of the WAL that holds them; 0 for those that are in the database by now.
        salt, _ = length(log)
        self.history = [(end if other == salt else 0, names) for other, end, names in history]
        # Without the ledger's page the number of logs is unknown. That page is in the WAL, or else in the database.
        self.ledger_frame = last_of(log, self.first_pages["ledger"])
        self.ledger_pages = set() if self.ledger_frame else {self.first_pages["ledger"]}
        # The checksum of the previous frame, which is needed to verify this one.
        start = self.ledger_frame.start - PAGE - 24
        self.frame_before = range(max(0, start), max(0, start + 24))
        self.last_commit = last_commit(log) if log else 0

    def names_before(self, place: int) -> set[str]:
        """Names that must survive when the WAL is intact up to a place."""
        return {name for end, names in self.history if end <= place for name in names} & self.queued


def prepare(trial: Trial, sandbox: Sandbox) -> tuple[PromisedLogs, list[PreparedQueue]]:
    """The same names in three queues with dead letters and packets: in the WAL, in the database, and in both."""
    promises = PromisedLogs(trial.random, topics=12)
    sandbox.control("POST", "/poisons", {"key": "bad", "code": "PostBodyInvalid", "message": "so it is"})
    gateway = trial.gateway(sandbox, settings=SETTINGS)
    device = Device(gateway.devices)
    for _ in range(BAD):
        logs = promises.logs(4)
        logs[0]["bad"] = "yes"
        promises.post(device, logs)
    wait_until(lambda: (ledger := gateway.ledger()["ledger"])["queued"] == 0 and ledger["dead"] == BAD)
    delivered = promises.arrived(sandbox).names
    sandbox.fault(status=503)
    history: History = []
    queues: list[PreparedQueue] = []
    for name, requests, end in (
        ("in-log", 60, Gateway.kill),
        ("in-database", 30, Gateway.stop),
        ("in-both", 30, Gateway.kill),
    ):
        if queues:
            gateway = trial.gateway(sandbox, settings=SETTINGS)
        fill_queue(promises, gateway, requests, history)
        end(gateway)
        queues.append(PreparedQueue(gateway.data, name, promises, delivered, history))
    sandbox.clear_faults()
    sandbox.control("DELETE", "/poisons")
    return promises, queues


def fill_queue(promises: PromisedLogs, gateway: Gateway, requests: int, history: History) -> None:
    device = Device(gateway.devices)
    for _ in range(requests):
        logs = promises.logs(promises.random.randint(1, 8), promises.random.choice((60, 300, 3000)))
        if promises.post(device, logs) == 200:
            history.append((*length((gateway.data / WAL).read_bytes()), {log["name"] for log in logs}))


# Changes the content of the named file, and says how.
Way = Callable[[bytearray, str], str]


class Damage:
    """The damaged database pages, the damaged byte ranges of the WAL, whether the WAL was cut, and whether a page is
    there twice."""

    def __init__(self, random: Random, directory: pathlib.Path) -> None:
        self.random, self.directory = random, directory
        self.pages: set[int] = set()
        self.wal: list[tuple[int, int]] = []
        self.is_cut = False
        self.is_repeated = False
        self.said: list[str] = []

    # What is done to a queue.

    def anywhere(self) -> None:
        ways: list[Way] = [self.flip, self.flip, self.flip_many, self.cut, self.zero, self.scribble, self.misplace]
        files = [name for name in (DATABASE, WAL) if (self.directory / name).exists()]
        for name in self.random.sample(files, self.random.randint(1, len(files))):
            with self.content_of(name) as content:
                self.said.append(f"{name}: {self.random.choice(ways)(content, name)}")

    def zero_first_page(self, table: str, page: int) -> None:
        """Without the first page of a table its other pages cannot be found."""
        self.pages = {page}
        wipe(self.directory / DATABASE, page)
        self.said.append(f"{DATABASE}: the first page of {table} zeroed")

    def flip_in_first_page(self, table: str, page: int) -> None:
        self.pages = {page}
        with self.content_of(DATABASE) as content:
            place = self.random.choice([at for at in range((page - 1) * PAGE, page * PAGE) if content[at]])
            content[place] ^= 1 << self.random.randrange(8)
        self.said.append(f"{DATABASE}: a bit flipped at {place}, in {table}")

    def cut_off(self) -> None:
        """Truncates the database. Its WAL may restore the old length."""
        size = (self.directory / DATABASE).stat().st_size
        self.truncate(size, self.random.randrange(size // 8, size))

    def cut_and_damage(self) -> None:
        """Truncates the database, possibly to nothing, and damages the WAL as well."""
        random, size = self.random, (self.directory / DATABASE).stat().st_size
        length = random.choice([random.randrange(size), random.randrange(2 * PAGE), random.randrange(3)])
        self.truncate(size, length)
        self.note(DATABASE, length, size - length)
        ways: list[Way] = [self.flip, self.flip_many, self.zero, self.scribble, self.misplace]
        with self.content_of(WAL) as content:
            said = [random.choice(ways)(content, WAL) for _ in range(random.choice([1, 1, 2, 3]))]
        self.said.append(f"{WAL}: {', '.join(said)}")

    def flip_head(self) -> None:
        """Flips a byte of the WAL header, without which none of the WAL can be read."""
        place = self.random.randrange(32)
        self.note(WAL, place, 1)
        with self.content_of(WAL) as content:
            content[place] ^= self.random.randrange(1, 256)
        self.said.append(f"{WAL}: a byte flipped at {place}")

    # Ways to damage a file.

    def flip(self, content: bytearray, name: str, times: int = 1) -> str:
        places = [self.random.randrange(len(content)) for _ in range(times)]
        for place in places:
            content[place] ^= self.random.randrange(1, 256)
            self.note(name, place, 1)
        return f"bytes flipped at {places}"

    def flip_many(self, content: bytearray, name: str) -> str:
        return self.flip(content, name, self.random.randint(2, 16))

    def cut(self, content: bytearray, name: str) -> str:
        length = self.random.randrange(len(content))
        self.note(name, length, len(content) - length)
        self.is_cut = self.is_cut or name == WAL
        del content[length:]
        return f"cut off at {length}"

    def zero(self, content: bytearray, name: str) -> str:
        return self.overwrite(content, name, "zeroed", bytes(PAGE))

    def scribble(self, content: bytearray, name: str) -> str:
        return self.overwrite(content, name, "overwritten with noise", self.random.randbytes(PAGE))

    def misplace(self, content: bytearray, name: str) -> str:
        other = self.random.randrange(len(content) // PAGE) * PAGE
        new = bytes(content[other : other + PAGE])
        self.is_repeated = True
        return self.overwrite(content, name, f"overwritten with what is at {other}", new)

    def overwrite(self, content: bytearray, name: str, what: str, new: bytes) -> str:
        start = self.random.randrange(len(content) // PAGE) * PAGE
        self.note(name, start, PAGE)
        content[start : start + PAGE] = new
        return f"page at {start} {what}"

    def truncate(self, size: int, length: int) -> None:
        os.truncate(self.directory / DATABASE, length)
        self.said.append(f"{DATABASE}: cut off at {length} of {size}")

    @contextlib.contextmanager
    def content_of(self, name: str) -> Iterator[bytearray]:
        """The content of a file, which gets what the block makes of it."""
        content = bytearray((self.directory / name).read_bytes())
        yield content
        (self.directory / name).write_bytes(content)

    def note(self, name: str, start: int, length: int) -> None:
        if name == WAL:
            self.wal.append((start, start + length))
        else:
            self.pages |= set(range(start // PAGE + 1, (start + length - 1) // PAGE + 2))


# How many bit flips small tables get; random damage would hardly hit them.
FLIPS = {"streams": 3, "packets": 2, "dead": 2}


def check(trial: Trial) -> None:
    sandbox = trial.sandbox()
    promises, queues = prepare(trial, sandbox)
    tally, at_rest, in_log = Tally(), queues[1], [queues[0], queues[2]]

    def damage(queue: PreparedQueue, name: str, harm: Callable[[Damage], object]) -> None:
        DamageCase(trial, sandbox, promises, queue, name).run(tally, harm)

    for table, page in at_rest.first_pages.items():
        damage(at_rest, table, lambda damage: damage.zero_first_page(table, page))
        for number in range(FLIPS.get(table, 0) * (10 if trial.is_long else 1)):
            damage(at_rest, f"{table} {number}", lambda damage: damage.flip_in_first_page(table, page))
    for name, short, long, chosen, harm in (
        ("cut", 3, 15, queues[2:], Damage.cut_off),
        ("both", 4, 200, in_log, Damage.cut_and_damage),
        ("head", 2, 40, in_log, Damage.flip_head),
        ("any", 12, 500, trial.random.sample(queues, len(queues)), Damage.anywhere),
    ):
        for number in range(long if trial.is_long else short):
            damage(chosen[number % len(chosen)], f"{name} {number}", harm)
    for where, cases in tally.silent.items():
        trial.expect(not cases, f"losses in {where} are miscounted in {len(cases)} cases: {'; '.join(cases[:2])}")
    trial.say(", ".join(f"{count} {what}" for what, count in tally.counts.items()))


class Tally:
    """Totals over all cases, and the cases whose losses were not counted exactly, by the damaged file."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.silent: dict[str, list[str]] = {"the WAL": [], "the database": []}


class DamageCase(Case):
    """One damaged copy of a queue, one start, and the comparison."""

    def __init__(
        self, trial: Trial, sandbox: Sandbox, promises: PromisedLogs, queue: PreparedQueue, name: object
    ) -> None:
        self.trial, self.sandbox, self.promises, self.queue = trial, sandbox, promises, queue
        self.random = Random(f"{trial.seed}/{name}")
        self.name = f"case {name}, {queue.name}"
        self.data = trial.work / f"case-{name}".replace(" ", "-")
        shutil.copytree(queue.data, self.data)

    def run(self, tally: Tally, harm: Callable[[Damage], object]) -> None:
        self.sandbox.control("DELETE", "/logs")
        self.damage = Damage(self.random, self.data)
        harm(self.damage)
        self.name += f", {'; '.join(self.damage.said)}"
        tally.counts["cases"] += 1
        gateway = None
        try:
            gateway = self.trial.gateway(self.sandbox, settings=SETTINGS, data=self.data)
            self.check(gateway, tally)
        except Exception as error:
            tally.counts["failed"] += 1
            self.wrong(f"{type(error).__name__}: {error}")
        finally:
            if gateway:
                gateway.kill()
            shutil.rmtree(self.data, ignore_errors=True)

    def check(self, gateway: Gateway, tally: Tally) -> None:
        new = PromisedLogs(self.random)
        new.next = self.promises.next + 1_000_000
        device = Device(gateway.devices)
        for _ in range(3):
            # While the gateway rebuilds the queue it refuses logs, and devices retry.
            wait_until(lambda: new.post(device, new.logs(3)) == 200, what="new logs are refused")
        gateway.drain(20)
        wait_until(lambda: replay_dead_letters(gateway), what="dead letters cannot be replayed")
        document = gateway.drain(20)
        ledger = document["ledger"]
        arrived = new.arrived(self.sandbox)
        lost = self.queue.queued - arrived.names
        self.expect(document["closed"], f"the ledger is not closed: {document}")
        self.expect(not ledger["queued"], f"logs stay in the queue: {document}")
        self.expect(not arrived.altered, f"{len(arrived.altered)} logs are altered: {json.dumps(arrived.altered[:1])}")
        self.expect(not new.answered - arrived.names, f"{len(new.answered - arrived.names)} new logs are lost")
        sent = arrived.names - self.queue.queued - self.queue.delivered
        self.expect(
            sent <= new.answered | new.unanswered,
            f"arrived without having been sent: {list(sent - new.answered - new.unanswered)[:3]}",
        )
        copies = arrived.count - len(arrived.names) - len(arrived.altered)
        self.count(tally, gateway, ledger, lost, len(sent), copies)

    def count(
        self, tally: Tally, gateway: Gateway, ledger: dict[str, int], lost: set[str], new: int, copies: int
    ) -> None:
        # A damaged dead letter stays one: it is listed as damaged and cannot be replayed.
        counted = ledger["discarded"] + ledger["expired"] + ledger["dead"]
        salvages = int(gateway.metric("sluice_queue_salvages_total"))
        tally.counts.update(
            {"rebuilt": salvages, "logs": len(self.queue.queued), "lost": len(lost), "of them counted": counted}
        )
        accepted = len(self.queue.delivered) + len(self.queue.queued) + new
        ledger_places = [place for place in (self.queue.ledger_frame, self.queue.frame_before) if place]
        if self.damage.pages & self.queue.ledger_pages or any(
            start < place.stop and end > place.start for start, end in self.damage.wal for place in ledger_places
        ):
            tally.counts["without the ledger's page"] += 1
            self.expect(len(lost) >= counted, f"{len(lost)} logs are lost, {counted} are counted: {ledger}")
            # The rows themselves are on other pages.
            only = self.damage.pages == {self.queue.first_pages["ledger"]} and not self.damage.wal
            self.expect(
                not only or not lost, f"{len(lost)} logs are lost with damage to the ledger's page only: {ledger}"
            )
            if self.damage.wal and not self.damage.pages:
                self.check_logs_before_damage(tally, ledger, lost, 0)
        elif self.damage.is_cut or any(end > self.queue.last_commit for _, end in self.damage.wal):
            tally.counts["without the WAL's end"] += 1
            # Nothing on the disk tells how long the WAL was. Its content before the damage must survive.
            self.expect(len(lost) >= counted, f"{len(lost)} logs are lost, {counted} are counted: {ledger}")
            self.check_logs_before_damage(tally, ledger, lost, counted if self.damage.pages else 0)
        else:
            told = (ledger["accepted"], counted) == (accepted, len(lost))
            if self.damage.is_repeated and copies and not told:
                # A second copy of a page brings delivered logs back, and as many lost ones go unnoticed.
                tally.counts["with logs that came back"] += 1
                told = ledger["accepted"] - counted == accepted - len(lost) + copies
            where = "the WAL" if self.damage.wal else "the database"
            if not told:
                tally.silent[where].append(f"{self.name}: of {accepted} logs {len(lost)} are lost: {ledger}")

    def check_logs_before_damage(self, tally: Tally, ledger: dict[str, int], lost: set[str], allowed: int) -> None:
        """Logs that were stored before the damaged place in the WAL must survive."""
        whole = self.queue.names_before(min(begin for begin, _ in self.damage.wal))
        tally.counts["of them before the damage"] += len(whole)
        what = f"{self.name}: of {len(whole)} logs from before the damaged place in the WAL ({ledger}) are lost"
        self.trial.at_most(what, len(lost & whole), allowed, "logs")


def replay_dead_letters(gateway: Gateway) -> bool:
    status = status_of(gateway.admin, "/admin/dead-letters/replay?all=true", method="POST", token=gateway.token)
    if status not in (200, 503):
        raise OSError(f"a replay is answered with {status}")
    return status == 200

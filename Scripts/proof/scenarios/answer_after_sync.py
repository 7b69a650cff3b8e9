"""A log, or an operator's change, is synced before its 200 leaves."""

import concurrent.futures
import pathlib
import random
import sqlite3
from collections.abc import Iterable

from harness.encodings import unlz4
from harness.gateway import Gateway, Log
from proof import queues
from proof.clients.writer import DEVICES, Writer, post_together
from proof.disk import syscalls
from proof.disk.posix_files import File, RecordedDisk
from proof.disk.syscalls import Call
from proof.trial import Trial

CHANGES = "SELECT count(*) FROM audit WHERE action IN ('pause', 'resume')"


class SyncedQueue:
    """The content of the queue on a disk that kept only synced data."""

    def __init__(self, machine: RecordedDisk, directory: pathlib.Path) -> None:
        self.machine, self.directory = machine, directory
        self.syncs: int | None = None
        directory.mkdir(exist_ok=True)

    def refresh(self) -> None:
        if self.syncs == self.machine.syncs:
            return
        self.syncs, self.logs, self.changes = self.machine.syncs, b"", 0
        for file in self.directory.iterdir():
            file.unlink()
        for name, node in self.machine.disk.synced.items():
            if isinstance(node, File):
                (self.directory / name).write_bytes(node.synced)
        database = sqlite3.connect(self.directory / "queue.db")
        try:
            self.logs = b"".join(unlz4(*row) for row in database.execute("SELECT payload, raw FROM rows"))
            self.changes = database.execute(CHANGES).fetchone()[0]
        except sqlite3.Error:
            pass  # No tables yet.
        finally:
            database.close()

    def has(self, logs: Iterable[Log]) -> bool:
        """True if all logs are in it. Each is found by its noise, which is unique."""
        self.refresh()
        return all(log["noise"].encode() in self.logs for log in logs)


def unsynced(trial: Trial, durability: str, posts: int, name: str = "") -> tuple[int, int, int]:
    """Records several devices and an operator. Returns the number of answers, how many of them left before their
    content was synced, and how many answered batches arrived during a sync that began too early for them."""
    data, file = trial.work / f"order-{durability}{name}", trial.work / f"order-{durability}{name}.calls"
    data.mkdir(mode=0o700)
    machine = RecordedDisk(data)
    settings = f"queue: {{ durability: {durability} }}"
    gateway = trial.gateway(queues.NOWHERE, data=data, settings=settings, before=syscalls.recording(file))
    writer = Writer(random.Random(trial.seed))
    with concurrent.futures.ThreadPoolExecutor(1) as operator:
        steering = operator.submit(operate, gateway, posts)
        post_together(gateway, writer, posts)
        steering.result()
    trial.expect(gateway.is_running, f"order, {durability}: the gateway ended by itself with {gateway.process.poll()}")
    gateway.kill()
    events = list(syscalls.parse(syscalls.finished(file, gateway.process)))
    answers, disk, early, changed = answered(events, writer), SyncedQueue(machine, trial.work / "synced"), 0, 0
    # The same batch may be answered twice: each answer is checked below, each batch counts once here.
    batches = {frozenset(map(id, logs)) for _, _, logs in answers}
    seen, made = (len(batches), sum(map(is_change, events))), (posts * DEVICES, posts)
    trial.expect(seen == made, f"order, {durability}: the trace has {seen} of {made} answers to devices and operators")
    leaving = {left: logs for _, left, logs in answers}
    begins: dict[int, int] = {}
    strangers: set[int] = set()
    for index, (moment, call) in enumerate(events):
        if index in leaving:
            early += not disk.has(leaving[index])
        elif is_change((moment, call)):
            changed += 1
            disk.refresh()
            early += disk.changes < changed
        machine.do(moment, call)
        if call.name == "fdatasync":
            begins.setdefault(id(call), index)
        if call.name == "fdatasync" and moment == "end":
            meanwhile = [(left, logs) for heard, left, logs in answers if begins[id(call)] < heard < index < left]
            strangers |= {left for left, logs in meanwhile if not disk.has(logs)}
    return len(answers) + changed, early, len(strangers)


def operate(gateway: Gateway, changes: int) -> None:
    for number in range(changes):
        gateway.ask(f"/admin/destinations/app/{'resume' if number % 2 else 'pause'}", "POST")


def answered(events: list[tuple[str, Call]], writer: Writer) -> list[tuple[int, int, list[Log]]]:
    """For each request of a device where it arrived, where its answer left, and its logs."""
    heard, answers = {}, []
    for index, (moment, call) in enumerate(events):
        if moment == "end" and call.name == "recvfrom" and call.result > 0:
            heard[call.words[0]] = index
        elif moment == "begin" and call.name == "sendto" and (names := writer.answered_by(call.bytes(1))):
            answers.append((heard[call.words[0]], index, [writer.posted[name] for name in names]))
    return answers


def is_change(event: tuple[str, Call]) -> bool:
    moment, call = event
    return moment == "begin" and call.name == "sendto" and b'"settings":' in call.bytes(1)


def check(trial: Trial) -> None:
    posts = 40 if trial.is_long else 6
    for number in range(3):
        answers, early, strangers = unsynced(trial, "full", posts, f"-{number}")
        trial.expect(early == 0, f"{early} of {answers} answers left before their content was synced")
        # A batch that arrives during another sync and is answered after that sync would be noticed here. On a busy
        # machine there are few of these.
        if strangers >= posts:
            break
    trial.expect(strangers >= posts, f"only {strangers} batches arrived during another sync, which proves little")
    # The same check must notice unsynced answers, or it proves nothing.
    count, unsafe, _ = unsynced(trial, "normal", posts)
    trial.expect(unsafe > count / 2, f"without syncs {count - unsafe} of {count} look synced: the check is blind")
    trial.say(f"{answers} answers, all after their sync; {strangers} of the batches arrived during another sync")
    trial.say(f"with durability normal {unsafe} of {count} answers left before a sync")

"""A gateway that is killed in place of any write, sync, rename or unlink loses no log, and syncs each before its 200."""

import concurrent.futures
import json
import pathlib
import random
import shutil
import sqlite3
import stat
from collections.abc import Iterable, Iterator
from typing import TypeVar

from harness.encodings import unlz4
from harness.gateway import Gateway, Log, Sandbox
from proof import queues
from proof.clients.writer import DEVICES, Writer, post_together
from proof.disk import syscalls
from proof.disk.posix_files import File, RecordedDisk
from proof.disk.syscalls import Call
from proof.fan_out import FanOut
from proof.queues import Base
from proof.scenarios.killed_run import KilledRun, KillScene, Point, points
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


def check_order(trial: Trial) -> None:
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


Chosen = TypeVar("Chosen")
TRIES = 3
KEEPS_KEYS = f"credentials: {{ encryption_key: {'5a' * 32}, default: {{ from: admin }} }}"
FIRST = {"AccessKeyId": "first-id", "AccessKeySecret": "first-secret"}
SECOND = {"AccessKeyId": "second-id", "AccessKeySecret": "second-secret"}


def scenario(trial: Trial) -> Iterator[KillScene]:
    fresh, backlog = queues.fresh(trial), queues.backlog(trial)
    harmed = queues.damaged(trial, backlog)
    yield KillScene("first start", (None, Writer(trial.random)), first_start, makes_token=True, after=same_token)
    yield KillScene("enqueue", fresh, lambda case: [case.writer.post(case.gateway) for _ in range(4)], delivers=False)
    yield KillScene("several at a time", fresh, several, delivers=False)
    yield KillScene("deliver and stop", backlog, deliver)
    yield KillScene("exactly once", fresh, deliver, destination=", exactly_once: true")
    yield KillScene("fan-out", almost_full(trial, fresh), deliver_and_rotate, fans_out=True)
    yield KillScene("checkpoint", fresh, fill, delivers=False, files=("queue.db",))
    yield KillScene("new WAL", fresh, new_wal, delivers=False)
    yield KillScene(
        "rotation", rotated(trial), rotate, settings=KEEPS_KEYS, prepare=give_keys, after=signs_with_the_second
    )
    yield KillScene("salvage", harmed[:2], deliver, gone=frozenset(harmed[2]))
    if trial.is_long:
        yield KillScene("salvage with a log", queues.damaged_behind_log(trial), deliver)
    for older in queues.older(trial, backlog)[: 2 if trial.is_long else 1]:
        yield KillScene(f"migration of {older[0].name}", older, deliver)


def first_start(case: KilledRun) -> None:
    case.result = case.gateway.token
    case.writer.post(case.gateway)


def same_token(case: KilledRun) -> None:
    mode = stat.S_IMODE((case.data / "admin-token").stat().st_mode)
    case.expect(len(case.gateway.token) == 64 and mode == 0o600, "the admin token is incomplete or readable by others")
    case.expect(case.result in (None, case.gateway.token), "the admin token has changed")


def deliver(case: KilledRun) -> None:
    case.writer.post(case.gateway)
    case.gateway.drain(5)
    case.writer.post(case.gateway)
    case.stop()


def almost_full(trial: Trial, base: Base) -> Base:
    """A fresh queue beside a file that rotates soon."""
    data = pathlib.Path(shutil.copytree(base[0], trial.work / "almost-full"))
    FanOut.beside(data).fill(trial.random)
    return data, Writer(trial.random)


def deliver_and_rotate(case: KilledRun) -> None:
    for _ in range(3):
        case.writer.post(case.gateway, 8)
        case.gateway.drain(5)
    case.writer.post(case.gateway)
    case.stop()


def several(case: KilledRun) -> None:
    # The order of these requests differs. In a run that is to be killed they go on until the kill.
    post_together(case.gateway, case.writer, 2 if case.is_counted else 100)


def fill(case: KilledRun) -> None:
    # More than the 4 MiB that may wait before a checkpoint runs for each 4 MiB.
    for _ in range(5):
        case.writer.post(case.gateway, 36, "large", 40_000)
    # Answered after the checkpoint.
    case.writer.post(case.gateway)


def new_wal(case: KilledRun) -> None:
    # An idle WAL is moved into the database. The next write begins a new WAL.
    queues.checkpointed(case.gateway, lambda: case.writer.post(case.gateway))
    for _ in range(2):
        case.writer.post(case.gateway)


def rotated(trial: Trial) -> Base:
    data, sandbox = trial.work / "rotated", trial.sandbox()
    give_keys(sandbox)
    gateway = trial.gateway(sandbox, data=data, settings=KEEPS_KEYS)
    push(gateway, FIRST)
    gateway.stop()
    sandbox.kill()
    return data, Writer(trial.random)


def give_keys(sandbox: Sandbox) -> None:
    for key in (FIRST, SECOND):
        given = {"access_key_id": key["AccessKeyId"], "access_key_secret": key["AccessKeySecret"]}
        sandbox.control("POST", "/keys", given)


def push(gateway: Gateway, key: dict[str, str]) -> str:
    return json.loads(gateway.ask("/admin/credentials/default", "PUT", json.dumps(key).encode()))["fingerprint"]


def rotate(case: KilledRun) -> None:
    case.writer.post(case.gateway)
    case.result = push(case.gateway, SECOND)
    # After the answer the first key must not be needed.
    case.sandbox.control("DELETE", "/keys?access_key_id=first-id")
    case.writer.post(case.gateway)
    case.gateway.drain(5)


def signs_with_the_second(case: KilledRun) -> None:
    fingerprint, now = case.result, json.loads(case.gateway.ask("/admin/credentials/default"))["fingerprint"]
    audit = case.gateway.ask("/admin/audit").decode()
    case.expect(fingerprint in (None, now), "a credential is lost though its push was answered")
    case.expect(fingerprint is None or fingerprint in audit, "an answered push is missing in the audit log")


def sample(trial: Trial, all_points: list[Chosen], count: int) -> list[Chosen]:
    """An even selection of them, another one with each seed."""
    if trial.is_long or len(all_points) <= count:
        return all_points
    begin, step = trial.random.random(), len(all_points) / count
    return [all_points[int((begin + n) * step) % len(all_points)] for n in range(count)]


def check(trial: Trial) -> None:
    check_order(trial)

    def attempt(scene: KillScene, point: Point) -> bool:
        """True if the kill happened. The calls differ a little in each run, so it may need several tries."""
        name, call, number = point
        where = f"{scene.name}, killed at {call} {number} of {name or 'the directory'}"
        try:
            for _ in range(TRIES):
                case = KilledRun(trial, scene, sandbox(), where)
                was_killed = case.run(case.killing(*point))
                case.check()
                if was_killed:
                    break
            return was_killed
        except Exception as error:
            trial.wrong(f"{where}: {type(error).__name__}: {error}")
            return True

    with trial.pool() as (pool, sandbox):
        for scene in scenario(trial):
            found, missed = points(trial, scene, sandbox())
            chosen = sample(trial, found, 11)
            results = list(pool.map(lambda point: attempt(scene, point), chosen))
            # Under load one commit may do what two did, so failed kills are tried once more alone.
            results = [was_killed or attempt(scene, point) for point, was_killed in zip(chosen, results)]
            alive = [f"{call} {number} of {name}" for (name, call, number), dead in zip(chosen, results) if not dead]
            told = f"{len(found)} calls, killed at {sum(results)} of {len(chosen)} that were chosen"
            trial.say(f"{scene.name}: {told}, not at {alive}; out of reach are {missed}")
            trial.expect(len(found) >= 25, f"{scene.name}: only {len(found)} calls were seen")
            # One of a dozen may be a call that only an idle machine makes.
            most = max(1, len(chosen) // 20)
            trial.expect(len(alive) <= most, f"{scene.name}: {len(alive)} of {len(chosen)} kills did not happen")
            trial.expect(len(missed) <= max(2, len(found) // 20), f"{scene.name}: {len(missed)} calls are out of reach")

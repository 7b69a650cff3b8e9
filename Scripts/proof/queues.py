"""The files of a queue, the layout of its WAL, and the queues with which kills and power cuts begin."""

import pathlib
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator

from harness.gateway import Gateway
from harness.sources import swift_source
from harness.waiting import wait_until
from proof.clients.writer import Writer
from proof.trial import Trial

PAGE = 8192
DATABASE, WAL = "queue.db", "queue.db-wal"


def first_pages(directory: pathlib.Path) -> dict[str, int]:
    """The first page of each table and index, from a copy: a look at the files themselves would change them."""
    with tempfile.TemporaryDirectory() as place:
        copy = shutil.copytree(directory, f"{place}/look")
        connection = sqlite3.connect(f"{copy}/{DATABASE}")
        pages = dict(connection.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0"))
        connection.close()
    return {"the schema": 1} | pages


def wipe(file: pathlib.Path, page: int, byte: bytes = b"\0") -> None:
    with open(file, "r+b") as database:
        database.seek((page - 1) * PAGE)
        database.write(byte * PAGE)


def frames(log: bytes) -> Iterator[tuple[int, int, bool]]:
    """Where each frame of a WAL begins, its page, and whether it ends a transaction. Older frames may follow."""
    place = 32
    while log and log[place + 8 : place + 16] == log[16:24]:
        yield place, int.from_bytes(log[place : place + 4], "big"), log[place + 4 : place + 8] != bytes(4)
        place += 24 + PAGE


def last_commit(log: bytes) -> int:
    """Where the last transaction begins. A power cut may remove everything behind that place, too."""
    begins, last = 32, 32
    for place, _, is_commit in frames(log):
        if is_commit:
            begins, last = place + 24 + PAGE, begins
    return last


def last_of(log: bytes, page: int) -> range:
    """The bytes of a page's last frame; empty when the WAL has none."""
    places = [place for place, found, _ in frames(log) if found == page]
    return range(places[-1], places[-1] + 24 + PAGE) if places else range(0)


def length(log: bytes) -> tuple[bytes, int]:
    """The salt of a WAL, and where its last transaction ends."""
    return log[16:24], max((place + 24 + PAGE for place, _, is_commit in frames(log) if is_commit), default=0)


# A data directory, and the device that wrote its content.
Base = tuple[pathlib.Path, Writer]
NOWHERE = "http://localhost:1"


def checkpointed(gateway: Gateway, work: Callable[[], object]) -> None:
    """Does the work, and waits for the checkpoint that moves an idle WAL into the database."""
    before = gateway.metric("sluice_queue_checkpoints_total")
    work()
    wait_until(lambda: gateway.metric("sluice_queue_checkpoints_total") > before, 60, "no checkpoint of the idle WAL")


def fresh(trial: Trial) -> Base:
    data = trial.work / "fresh"
    trial.gateway(NOWHERE, data=data).stop()
    return data, Writer(trial.random)


def backlog(trial: Trial, batches: int = 12) -> Base:
    """A queue with a backlog, its WAL moved into the database."""
    data, writer = trial.work / "backlog", Writer(trial.random, "old")
    gateway = trial.gateway(NOWHERE, data=data)
    for _ in range(batches):
        writer.post(gateway)
    writer.post(gateway, 2, "victim", 3000)
    gateway.kill()
    checkpoint(data)
    return data, writer


def damaged(trial: Trial, base: Base) -> tuple[pathlib.Path, Writer, set[str]]:
    """The backlog with an index page lost and the payload of two logs altered. The third value names these logs."""
    data = pathlib.Path(shutil.copytree(base[0], trial.work / "damaged"))
    root = first_pages(data)["rows_by_stream"]
    database = sqlite3.connect(data / DATABASE)
    payload = database.execute("SELECT payload FROM rows ORDER BY length(payload) DESC").fetchone()[0]
    database.close()
    wipe(data / DATABASE, root, b"\xa5")
    content = bytearray((data / DATABASE).read_bytes())
    content[content.index(payload[:500]) + 400] ^= 0x10
    (data / DATABASE).write_bytes(content)
    victims = base[1].receipts[list(base[1].receipts)[-1]]
    return data, base[1], victims


def damaged_behind_log(trial: Trial) -> Base:
    """A queue that was larger once: some logs are in the WAL only, and a page outside the WAL is lost."""
    data, writer, sandbox = trial.work / "damaged-behind-log", Writer(trial.random, "kept"), trial.sandbox()
    sandbox.fault(status=503, logstore="game")
    gateway = trial.gateway(sandbox, data=data)
    for logstore in ("app", "game"):
        for _ in range(20):
            writer.post(gateway, 3, logstore, 3_000)
    wait_until(lambda: len({log["name"] for log in sandbox.logs()}) == 60, 60)
    gone = {log["name"] for log in sandbox.logs()}
    gateway.kill()
    sandbox.kill()
    checkpoint(data)
    root = first_pages(data)["repeats"]
    gateway = trial.gateway(NOWHERE, data=data)
    # These logs use pages that became free, and that another database with the same logs uses otherwise.
    for _ in range(8):
        writer.post(gateway, 3, "game", 3_000)
    gateway.kill()
    wipe(data / DATABASE, root, b"\xa5")
    writer.answered -= gone
    return data, writer


def checkpoint(data: pathlib.Path) -> None:
    database = sqlite3.connect(data / DATABASE)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def schema_steps() -> list[str]:
    """The steps of the queue's schema, read from the Swift source. Their number is its version."""
    text = swift_source("QueueSchema.swift")
    return re.findall(r'^        """\n(.*?)^        """,?$', text, re.MULTILINE | re.DOTALL)


def older(trial: Trial, base: Base) -> list[Base]:
    """The same queue as the first and the previous version of Sluice wrote it. The first version has none."""
    newest = len(schema_steps())
    return [migrated_back(trial, base, version) for version in sorted({1, newest - 1} - {0, newest})]


def migrated_back(trial: Trial, base: Base, version: int) -> Base:
    data = pathlib.Path(shutil.copytree(base[0], trial.work / f"older-{version}"))
    (data / DATABASE).unlink()
    database = sqlite3.connect(data / DATABASE)
    database.executescript(f"PRAGMA page_size = {PAGE}; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
    for step in schema_steps()[:version]:
        database.executescript(step.replace("\\(applicationID)", str(0x534C_5543)))
    database.execute(f"PRAGMA user_version = {version}")
    database.execute("ATTACH ? AS newer", (str(base[0] / "queue.db"),))
    for (table,) in database.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall():
        columns = ", ".join(row[1] for row in database.execute(f"PRAGMA main.table_info({table})"))
        database.execute(f"INSERT INTO main.{table} SELECT {columns} FROM newer.{table}")
    database.commit()
    database.close()
    return data, base[1]

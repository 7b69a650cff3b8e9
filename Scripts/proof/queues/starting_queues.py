"""The queues with which kills and power cuts begin."""

import pathlib
import re
import shutil
import sqlite3
from collections.abc import Callable

from harness.gateway import Gateway
from harness.sources import swift_source
from harness.waiting import wait_until
from proof.clients.writer import Writer
from proof.queues.queue_files import DATABASE, PAGE, first_pages, wipe
from proof.trial import Trial

# A data directory, and the device that wrote its content.
Base = tuple[pathlib.Path, Writer]


NOWHERE = "http://localhost:1"


def checkpointed(gateway: Gateway, work: Callable[[], object]) -> None:
    """Does the work, and waits for the checkpoint that moves an idle WAL into the database."""
    before = gateway.metric("sluice_queue_checkpoints_total")
    work()
    wait_until(lambda: gateway.metric("sluice_queue_checkpoints_total") > before, 60, "no checkpoint of the idle WAL")


def fresh(trial: Trial) -> Base:
    """A queue that was started and stopped once."""
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
    """Moves the WAL into the database."""
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

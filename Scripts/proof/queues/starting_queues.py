"""The queues with which kills and power cuts begin."""

import pathlib
import shutil
import sqlite3
from collections.abc import Callable

from harness.gateway import Gateway
from harness.waiting import wait_until
from proof.clients.writer import Writer
from proof.queues.schema import schema_steps, schema_version
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
    database = sqlite3.connect(data / "queue.db")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return data, writer


def damaged(trial: Trial, base: Base) -> tuple[pathlib.Path, Writer, set[str]]:
    """The backlog with an index page lost and the payload of two logs altered. The third value names these logs."""
    data = pathlib.Path(shutil.copytree(base[0], trial.work / "damaged"))
    database = sqlite3.connect(data / "queue.db")
    root, size = root_page(database, "rows_by_stream")
    payload = database.execute("SELECT payload FROM rows ORDER BY length(payload) DESC").fetchone()[0]
    database.close()
    wipe(data / "queue.db", root, size)
    content = bytearray((data / "queue.db").read_bytes())
    content[content.index(payload[:500]) + 400] ^= 0x10
    (data / "queue.db").write_bytes(content)
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
    database = sqlite3.connect(data / "queue.db")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    root, size = root_page(database, "repeats")
    database.close()
    gateway = trial.gateway(NOWHERE, data=data)
    # These logs use pages that became free, and that another database with the same logs uses otherwise.
    for _ in range(8):
        writer.post(gateway, 3, "game", 3_000)
    gateway.kill()
    wipe(data / "queue.db", root, size)
    writer.answered -= gone
    return data, writer


def root_page(database: sqlite3.Connection, name: str) -> tuple[int, int]:
    """The first page of a table or index, and the page size."""
    root = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
    return root, database.execute("PRAGMA page_size").fetchone()[0]


def wipe(file: pathlib.Path, page: int, size: int) -> None:
    with open(file, "r+b") as database:
        database.seek((page - 1) * size)
        database.write(b"\xa5" * size)


def older(trial: Trial, base: Base) -> list[Base]:
    """The same queue as the first and the previous version of Sluice wrote it. The first version has none."""
    return [
        migrated_back(trial, base, version) for version in sorted({1, schema_version() - 1} - {0, schema_version()})
    ]


def migrated_back(trial: Trial, base: Base, version: int) -> Base:
    data = pathlib.Path(shutil.copytree(base[0], trial.work / f"older-{version}"))
    (data / "queue.db").unlink()
    database = sqlite3.connect(data / "queue.db")
    database.executescript("PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
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

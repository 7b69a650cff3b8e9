"""Queues at rest whose content is known."""

import pathlib
import shutil

from harness.gateway import Gateway
from harness.sandbox import Sandbox
from harness.waiting import wait_until
from proof.clients.device import Device
from proof.clients.promised_logs import PromisedLogs
from proof.queues.queue_files import PAGE, WAL, first_pages, last_commit, last_of, length
from proof.trial import Trial

SETTINGS = "drain_timeout: 100ms"
BAD = 5


class History:
    """The content of a WAL at each length, noted after each answer."""

    def __init__(self) -> None:
        # The WAL's salt, which differs for each WAL in the file; its length; the names that were answered by then.
        self.answers: list[tuple[bytes, int, set[str]]] = []

    def note(self, directory: pathlib.Path, names: set[str]) -> None:
        self.answers.append((*length((directory / WAL).read_bytes()), names))

    def in_queue(self, directory: pathlib.Path) -> list[tuple[int, set[str]]]:
        """For a queue at rest: names with the WAL length that holds them. Names of earlier WALs are in the database
        by now."""
        file = directory / WAL
        salt, _ = length(file.read_bytes() if file.exists() else b"")
        return [(end if other == salt else 0, names) for other, end, names in self.answers]


class PreparedQueue:
    """A queue's files, the log names in it, the names that were delivered before, and where the ledger is stored."""

    def __init__(
        self, data: pathlib.Path, name: str, promises: PromisedLogs, delivered: set[str], history: History
    ) -> None:
        self.name, self.data = name, data.with_name(name)
        shutil.copytree(data, self.data)
        (self.data / "queue.db-shm").unlink(missing_ok=True)
        self.history = history.in_queue(self.data)
        self.delivered = delivered
        self.queued = promises.answered - delivered
        self.first_pages = first_pages(self.data)
        log = (self.data / WAL).read_bytes() if (self.data / WAL).exists() else b""
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
    """The same names in three queues with dead letters, packets and waiting logs: in the WAL, in the database, and
    in both."""
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
    history = History()
    fill(promises, gateway, 60, history)
    gateway.kill()
    queues = [PreparedQueue(gateway.data, "in-log", promises, delivered, history)]
    gateway = trial.gateway(sandbox, settings=SETTINGS)
    fill(promises, gateway, 30, history)
    gateway.stop()
    queues.append(PreparedQueue(gateway.data, "in-database", promises, delivered, history))
    gateway = trial.gateway(sandbox, settings=SETTINGS)
    fill(promises, gateway, 30, history)
    gateway.kill()
    queues.append(PreparedQueue(gateway.data, "in-both", promises, delivered, history))
    sandbox.clear_faults()
    sandbox.control("DELETE", "/poisons")
    return promises, queues


def fill(promises: PromisedLogs, gateway: Gateway, requests: int, history: History) -> None:
    device = Device(gateway.devices)
    for _ in range(requests):
        logs = promises.logs(promises.random.randint(1, 8), promises.random.choice((60, 300, 3000)))
        if promises.post(device, logs) == 200:
            history.note(gateway.data, {log["name"] for log in logs})

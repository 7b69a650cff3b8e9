"""The queue that each earlier release left behind is delivered whole, with its dead letters and decisions; and the release
named by SLUICE_BEFORE delivers what this one leaves behind.

`python3 -m proof.scenarios.upgrades DIRECTORY` writes the queue of $SLUICE as `DIRECTORY/VERSION.tar.gz`.
"""

import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

from harness.gateway import Sandbox
from harness.waiting import wait_until
from proof.clients.device import Device
from proof.clients.promised_logs import PromisedLogs
from proof.trial import Trial

KEPT = pathlib.Path(__file__).parents[3] / "Tests/Queues"
BAD, REQUESTS = 3, 12


def leave(trial: Trial, sandbox: Sandbox, data: pathlib.Path) -> None:
    """Fills a queue with dead letters, logs in the database and in its WAL, and an operator's decision; then kills the
    gateway. The names of the logs are in `promised.json`."""
    gateway, promises = trial.gateway(sandbox, data=data), PromisedLogs(trial.random)
    device = Device(gateway.devices)
    sandbox.control("POST", "/poisons", {"key": "bad", "code": "PostBodyInvalid", "message": "so it is"})
    for _ in range(BAD):
        promises.post(device, promises.logs(1, bad="yes"))
    wait_until(lambda: gateway.ledger()["ledger"]["dead"] == BAD, what="bad logs do not become dead letters")
    sandbox.control("DELETE", "/poisons")
    gateway.ask("/admin/destinations/app/pause", method="POST")
    post(promises, device, 1)
    gateway.signal(15)
    gateway.process.wait(30)
    gateway = trial.gateway(sandbox, data=data)
    post(promises, Device(gateway.devices), REQUESTS)
    gateway.kill()
    (data / "promised.json").write_text(json.dumps(sorted(promises.answered)))


def post(promises: PromisedLogs, device: Device, requests: int) -> None:
    for _ in range(requests):
        if promises.post(device, promises.logs(4)) != 200:
            raise ConnectionError("a request was refused")


def take(trial: Trial, name: str, data: pathlib.Path, binary: str) -> None:
    """A gateway finds everything that another release left in the directory."""
    sandbox = trial.sandbox()
    promises = PromisedLogs(trial.random)
    promises.answered = set(json.loads((data / "promised.json").read_text()))
    gateway = trial.gateway(sandbox, data=data, binary=binary)
    before = gateway.ledger()["ledger"]
    expected = {"dead": BAD, "queued": len(promises.answered) - BAD}
    trial.expect(expected.items() <= before.items(), f"{name}: {expected} were left, {before} are found")
    shown = json.loads(gateway.ask("/admin/destinations"))["destinations"]
    trial.expect(shown[0]["paused"], f"{name}: the operator's pause is gone: {shown[0]}")
    gateway.ask("/admin/destinations/app/resume", method="POST")
    gateway.ask("/admin/dead-letters/replay?all=true", method="POST")
    after = gateway.require_drained()
    trial.expect(after["closed"], f"{name}: the ledger is not closed: {after}")
    arrived = promises.arrived(sandbox)
    trial.expect(not arrived.missing, f"{name}: {len(arrived.missing)} logs do not arrive")
    trial.expect(not arrived.altered, f"{name}: {len(arrived.altered)} logs are altered")
    trial.say(f"{name}: {arrived.count} logs arrived")
    gateway.kill()


def check(trial: Trial) -> None:
    this, before = os.environ["SLUICE"], os.environ.get("SLUICE_BEFORE")
    queues = sorted(KEPT.glob("*.tar.gz"))
    trial.expect(queues, f"{KEPT} has no queue of a release")
    for kept in queues:
        data = trial.work / kept.name
        with tarfile.open(kept) as archive:
            archive.extractall(data, filter="data")
        take(trial, f"from {kept.name}", data, this)
    data = trial.work / "back"
    leave(trial, trial.sandbox(), data)
    take(trial, "back to the release before" if before else "from this release", data, before or this)


def main() -> None:
    with tempfile.TemporaryDirectory() as work:
        trial, data = Trial("upgrades", pathlib.Path(work), 1, is_long=False), pathlib.Path(work, "kept")
        try:
            leave(trial, trial.sandbox(), data)
        finally:
            trial.programs.end()
        words = [os.environ["SLUICE"], "--version"]
        version = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()[-1]
        with tarfile.open(pathlib.Path(sys.argv[1], f"{version}.tar.gz"), "w:gz") as archive:
            for name in ("queue.db", "queue.db-wal", "promised.json"):
                archive.add(data / name, name)


if __name__ == "__main__":
    main()

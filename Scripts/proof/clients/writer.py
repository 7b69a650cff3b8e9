"""Devices that remember what they wrote and which of it was answered."""

import collections
import concurrent.futures
import json
import random
import time
from collections.abc import Iterable
from random import Random
from typing import Any

from harness.gateway import Gateway, Log, Sandbox
from proof.clients.device import body, log, post_once
from proof.disk.syscalls import SYNC_US
from proof.trial import Trial

LOGSTORES = ("app", "web", "game")
DEVICES = 8


class Writer:
    """A device, with the logs it wrote and those that were answered."""

    def __init__(self, random: Random, prefix: str = "log") -> None:
        self.random, self.prefix = random, prefix
        self.posted: dict[str, Log] = {}
        self.answered: set[str] = set()
        self.receipts: dict[str, set[str]] = {}

    def post(self, gateway: Gateway, count: int = 3, logstore: str | None = None, size: int = 60) -> int:
        logs = [log(f"{self.prefix}-{len(self.posted) + n}", self.random, size) for n in range(count)]
        self.posted |= {each["name"]: each for each in logs}
        path = f"/logs/{logstore or self.random.choice(LOGSTORES)}"
        status, answer = post_once(gateway.devices, path, body(logs), "Content-Type: application/json", seconds=10)
        if status == 200:
            names = {each["name"] for each in logs}
            self.answered |= names
            self.receipts[json.loads(answer)["receipt"]] = names
        return status

    def answered_by(self, response: bytes) -> set[str] | None:
        """The names of the logs that this response acknowledges; None unless it is a receipt for this writer."""
        head, _, body = response.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 ") or not body.startswith(b'{"receipt"'):
            return None
        return self.receipts.get(json.loads(body)["receipt"])


def post_together(gateway: Gateway, writer: Writer, posts: int, logstore: str | None = None) -> None:
    """Several devices post at a time, so that batches arrive during syncs. Their logs are added to the writer."""
    seeds = [writer.random.random() for _ in range(DEVICES)]
    devices = [Writer(random.Random(seed), f"{writer.prefix}-{len(writer.posted)}-{n}") for n, seed in enumerate(seeds)]

    def work(device: Writer) -> None:
        for _ in range(posts):
            # Without a pause, batches that were answered together would arrive together again.
            time.sleep(device.random.uniform(0, 2 * SYNC_US / 1e6))
            device.post(gateway, device.random.randint(1, 5), logstore)

    with concurrent.futures.ThreadPoolExecutor(DEVICES) as pool:
        results = [pool.submit(work, device) for device in devices]
    for device in devices:
        writer.posted |= device.posted
        writer.answered |= device.answered
        writer.receipts |= device.receipts
    for result in results:
        result.result()


def arrivals_by_name(trial: Trial, sandbox: Sandbox, writers: Iterable[Writer], where: str) -> collections.Counter[str]:
    """Counts the arrived logs by name. A log that was never written is a complaint."""
    names: collections.Counter[str] = collections.Counter()
    written = {name: sent for writer in writers for name, sent in writer.posted.items()}
    for stored in sandbox.logs():
        name = str(stored.get("name"))
        shown = {key: stored.get(key) for key in ("name", "noise", "sum")}
        trial.expect(written.get(name) == shown, f"{where}: a log was never written like this: {str(stored)[:200]}")
        names[name] += 1
    return names


def check_left(trial: Trial, gateway: Gateway, where: str, gone: int, is_salvaged: bool) -> dict[str, Any]:
    """A gateway that was started on what a kill or a power cut left delivers all. Its ledger adds up, only `gone` logs
    were discarded, and unless a damaged queue was salvaged the journal has no error."""
    ledger = gateway.drain(20)
    counts = ledger["ledger"]
    trial.expect(ledger["closed"] and counts["queued"] == 0, f"{where}: the ledger is not closed: {ledger}")
    trial.expect(counts["discarded"] == gone, f"{where}: logs were discarded: {ledger}")
    errors = [] if is_salvaged else [line for line in gateway.events() if line["level"] == "error"]
    trial.wrong(*(f"{where}: the journal has an error: {line}" for line in errors))
    trial.expect(gateway.is_running, f"{where}: the gateway ended by itself with {gateway.process.poll()}")
    return ledger

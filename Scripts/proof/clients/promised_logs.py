"""What devices were promised, and whether it arrived. Each log names its own place."""

import json
import pathlib
import time
from collections.abc import Iterable
from random import Random
from typing import Any

from harness.gateway import Log, Sandbox
from proof.clients.device import ConnectionLost, Device, is_whole, log
from proof.trial import Case, Trial

ORIGINAL_TIME = "__original_time__"


class PromisedLogs:
    """Log names, by what devices know of them. A name holds topic, source, tag and time, so that none of these can
    change unseen."""

    def __init__(self, random: Random, topics: int = 4) -> None:
        self.random = random
        self.topics = topics
        # A gateway whose clock is far behind takes a log's time for wrong: the log then keeps it in another field.
        self.may_keep_time_aside = False
        self.answered: set[str] = set()  # Answered with 200: these must arrive or be accounted for.
        self.unanswered: set[str] = set()  # Refused or without an answer: these may arrive.
        self.next = 0

    def logs(self, count: int, size: int = 60, noise: str | None = None, **fields: str) -> list[Log]:
        """New logs with one topic and one second, each with noise of its own unless it is given."""
        topic, then = self.random.randrange(self.topics), int(time.time())
        made = []
        for _ in range(count):
            self.next += 1
            made.append(log(f"{self.next}|t{topic}|s{topic}|u{topic}|{then}", self.random, size, noise) | fields)
        return made

    def note_sent(self, logs: list[Log]) -> None:
        self.unanswered |= {each["name"] for each in logs}

    def note_answered(self, logs: list[Log]) -> None:
        names = {each["name"] for each in logs}
        self.unanswered -= names
        self.answered |= names

    def post(self, device: Device, logs: list[Log]) -> int | None:
        """The status, or None without an answer. Notes the logs accordingly."""
        self.note_sent(logs)
        try:
            status, _ = device.post(*request(logs))
        except ConnectionLost:
            return None
        if status == 200:
            self.note_answered(logs)
        return status

    def arrived(self, sandbox: Sandbox) -> "Arrived":
        return Arrived(self, sandbox.logs())


class Arrived:
    def __init__(self, promises: PromisedLogs, logs: Iterable[Log]) -> None:
        self.count = 0
        self.names = set()
        self.altered = []
        self.kept_aside = 0
        for each in logs:
            self.count += 1
            if promises.may_keep_time_aside and ORIGINAL_TIME in each:
                each["__time__"] = each[ORIGINAL_TIME]
                self.kept_aside += 1
            if is_as_sent(each):
                self.names.add(each["name"])
            else:
                self.altered.append(each)
        self.strangers = self.names - promises.answered - promises.unanswered
        self.missing = promises.answered - self.names


def request(logs: list[Log]) -> tuple[str, bytes]:
    """Path and body for web tracking, which carries a topic, a source and tags beside the logs."""
    _, topic, source, unit, then = logs[0]["name"].split("|")
    sent = [{**each, "__time__": int(then)} for each in logs]
    group = {"__topic__": topic, "__source__": source, "__tags__": {"unit": unit}, "__logs__": sent}
    return "/logstores/app/track", json.dumps(group).encode()


def is_as_sent(stored: Log) -> bool:
    name = stored.get("name", "")
    if not is_whole(stored) or name.count("|") != 4:
        return False
    _, topic, source, unit, then = name.split("|")
    keys = ("__topic__", "__source__", "__tag__:unit", "__time__", "__logstore__", "__project__")
    return [stored.get(key) for key in keys] == [topic, source, unit, then, "app", "demo"]


class Life(Case):
    def __init__(
        self,
        trial: Trial,
        sandbox: Sandbox,
        name: str,
        settings: str = "",
        directory: pathlib.Path | None = None,
        **options: Any,
    ) -> None:
        self.trial, self.sandbox, self.name, self.settings = trial, sandbox, name, settings
        self.options = options
        self.data = (directory or trial.work) / name.replace(" ", "-")
        self.promises = PromisedLogs(trial.random)
        self.start()

    def start(self) -> None:
        self.gateway = self.trial.gateway(self.sandbox, data=self.data, settings=self.settings, **self.options)
        self.device = Device(self.gateway.devices, seconds=30)

    def post(self, count: int = 4, size: int = 300) -> int | None:
        status = self.promises.post(self.device, self.promises.logs(count, size))
        if status is None:
            self.device = Device(self.gateway.devices, seconds=30)
        return status

    def state(self) -> tuple[str, str | None, bool]:
        """The queue's admission state and problem, and whether the gateway is ready."""
        status = json.loads(self.gateway.ask("/admin/status"))
        return status["queue"]["admission"], status["queue"]["problem"], status["ready"]

    def check_after_kill(self, keeps_running: bool = False) -> None:
        """Kills and restarts the gateway. It must deliver everything it promised, and its ledger must add up."""
        self.gateway.kill()
        self.start()
        ledger = self.gateway.drain(30)
        arrived = self.promises.arrived(self.sandbox)
        missing = self.promises.answered - arrived.names
        self.expect(not missing, f"{len(missing)} of {len(self.promises.answered)} answered logs are lost")
        self.expect(ledger["closed"] and not ledger["ledger"]["queued"], f"the ledger: {ledger}")
        self.expect(not arrived.altered, f"altered: {arrived.altered[:1]}")
        self.promises.answered.clear()
        if not keeps_running:
            self.gateway.kill()
        self.sandbox.control("DELETE", "/logs")

"""What devices were promised, and whether it arrived. Each log names its own place."""

import contextlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

from harness.gateway import Log, Sandbox
from harness.waiting import Worker, look_until, wait_until
from proof import fan_out
from proof.clients.device import ConnectionLost, Device, is_whole, log
from proof.fan_out import FanOut, is_dropped
from proof.trial import Case, Trial

ORIGINAL_TIME = "__original_time__"


class PromisedLogs:
    """Log names, by what devices know of them, which may be on several threads. A name holds topic, source, tag and time:
    none can change unseen."""

    def __init__(self, random: Random, topics: int = 4) -> None:
        self.random, self.lock = random, threading.Lock()
        self.topics = topics
        # A gateway whose clock is far behind takes a log's time for wrong: the log then keeps it in another field.
        self.may_keep_time_aside = False
        self.answered: set[str] = set()  # Answered with 200: these must arrive or be accounted for.
        self.unanswered: set[str] = set()  # Refused or without an answer: these may arrive.
        self.next = 0

    def logs(self, count: int, size: int = 60, noise: str | None = None, **fields: str) -> list[Log]:
        """New logs with one topic and one second, each with noise of its own unless it is given."""
        with self.lock:
            topic, then = self.random.randrange(self.topics), int(time.time())
            place, first = f"t{topic}|s{topic}|u{topic}|{then}", self.next + 1
            self.next += count
            names = [f"{number}|{place}" for number in range(first, first + count)]
            return [log(name, self.random, size, noise) | fields for name in names]

    def post(self, device: Device, logs: list[Log]) -> int | None:
        """The status, or None without an answer. Notes the logs accordingly."""
        names = {each["name"] for each in logs}
        with self.lock:
            self.unanswered |= names
        try:
            status, _ = device.post(*request(logs))
        except ConnectionLost:
            return None
        if status == 200:
            with self.lock:
                self.unanswered -= names
                self.answered |= names
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
        self, trial: Trial, sandbox: Sandbox, name: str, settings: str = "", work: Path | None = None, **options: Any
    ) -> None:
        self.trial, self.sandbox, self.name, self.settings = trial, sandbox, name, settings
        self.options = options
        self.data = (work or trial.work) / name.replace(" ", "-")
        self.promises = PromisedLogs(trial.random)
        self.start()

    def start(self) -> None:
        self.gateway = self.trial.gateway(self.sandbox, data=self.data, settings=self.settings, **self.options)
        self.device = Device(self.gateway.devices, seconds=30)

    def restart(self) -> None:
        self.gateway.kill()
        self.start()

    def expect_posts(self, count: int, status: int, when: str, *size: int) -> None:
        answers = [self.post(*size) for _ in range(count)]
        self.expect(answers == [status] * count, f"{when} batches are answered with {answers}")

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
        self.restart()
        ledger = self.gateway.drain(30)
        arrived = self.promises.arrived(self.sandbox)
        missing = arrived.missing
        self.expect(not missing, f"{len(missing)} of {len(self.promises.answered)} answered logs are lost")
        self.expect(ledger["closed"] and not ledger["ledger"]["queued"], f"the ledger: {ledger}")
        self.expect(not arrived.altered, f"altered: {arrived.altered[:1]}")
        self.promises.answered.clear()
        if not keeps_running:
            self.gateway.kill()
        self.sandbox.control("DELETE", "/logs")


class ArchivingLife(Life):
    """A gateway that fans out to SLS and to a file below `directory`, which rotates."""

    def __init__(self, trial: Trial, sandbox: Sandbox, name: str, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self.fan_out = FanOut(directory, ", keep: 1000, compress: gzip")
        super().__init__(trial, sandbox, name, fan_out.SETTINGS, others=self.fan_out.destination)

    def expect_all_at_sls(self) -> None:
        """Waits until SLS has all answered logs, while the file takes none."""
        kept = {name for name in self.promises.answered if not is_dropped(name)}
        late = f"{self.name}: SLS does not get all logs while the file cannot be written"
        wait_until(lambda: kept <= self.promises.arrived(self.sandbox).names, what=late, pause=0.1)

    def check_both(self) -> None:
        """Kills and restarts the gateway. Both destinations must have everything that it promised."""
        self.restart()
        ledger = self.gateway.drain(30)
        self.expect(not ledger["ledger"]["queued"], f"logs still wait: {ledger}")
        self.expect(not ledger["ledger"]["discarded"], f"logs were discarded: {ledger}")
        self.wrong(*self.fan_out.wrong(self.gateway, self.sandbox.logs(), self.promises.answered))
        altered = self.promises.arrived(self.sandbox).altered
        self.expect(not altered, f"altered: {altered[:1]}")
        self.gateway.kill()
        self.sandbox.control("DELETE", "/logs")


COUNT = 4
# Answered requests that show that a gateway accepts logs.
GOES_ON = 20


class Senders(Worker):
    """Post logs until they are stopped, and again what was refused or not answered, as devices do."""

    def __init__(
        self, trial: Trial, connect: Callable[[], Device], batch: int, pause: float = 0, requests: int | None = None
    ) -> None:
        """`connect` is called again after each request that was not accepted, and after so many `requests` that were;
        `pause` follows each of those."""
        self.trial, self.connect, self.batch, self.pause, self.requests = trial, connect, batch, pause, requests
        self.promises = PromisedLogs(random.Random(trial.random.getrandbits(64)))
        self.lock = threading.Lock()
        self.answered = self.refused = 0
        self.longest = 0.0
        self.begin(COUNT)

    def work(self, number: int) -> None:
        device: Device | None = None
        posted = 0
        while not self.ended.is_set():
            logs, status = self.promises.logs(self.batch), None
            while status != 200 and not self.ended.is_set():
                with contextlib.suppress(OSError, ConnectionLost):
                    device = device or self.connect()
                    status = self.post(device, logs)
                if status != 200:
                    # A balancer would send it elsewhere.
                    device = None
                    with self.lock:
                        self.refused += 1
                    self.ended.wait(0.1)
            if status == 200:
                posted += 1
                if self.requests is not None and posted % self.requests == 0:
                    device = None
                self.ended.wait(self.pause)

    def post(self, device: Device, logs: list[Log]) -> int | None:
        status = self.promises.post(device, logs)
        with self.lock:
            self.answered += status == 200
        return status

    def post_once(self, connect: Callable[[], Device]) -> int | None:
        """One request beside those of the senders, which is not repeated. None: no answer."""
        with contextlib.suppress(OSError, ConnectionLost), contextlib.closing(connect()) as device:
            return self.post(device, self.promises.logs(self.batch))
        return None

    def go_on(self, what: str, within: float) -> bool:
        began, goal = time.monotonic(), self.answered + GOES_ON
        look_until(lambda: self.answered >= goal, within)
        self.longest = max(self.longest, time.monotonic() - began)
        return self.trial.expect(self.answered >= goal, f"no answers within {within} s: {what}")

    def judge(self, sandbox: Sandbox) -> Arrived:
        arrived = self.promises.arrived(sandbox)
        lost = sorted(arrived.missing)
        self.trial.expect(not lost, f"{len(lost)} answered logs are lost: {lost[:3]}")
        self.trial.expect(not arrived.altered, f"{len(arrived.altered)} logs were altered: {arrived.altered[:2]}")
        self.trial.expect(not arrived.strangers, f"{len(arrived.strangers)} logs arrived that no device sent")
        return arrived

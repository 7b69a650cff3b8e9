"""Devices that post logs all the time, while a proof breaks gateways and the servers of their queues."""

import random
import threading
import time
from collections.abc import Callable

from harness.gateway import Log, Sandbox
from harness.waiting import look_until
from proof.clients.device import ConnectionLost, Device
from proof.clients.promised_logs import Arrived, PromisedLogs, request
from proof.trial import Trial

COUNT = 4
# Answered requests that show that a gateway accepts logs.
GOES_ON = 20


class Senders:
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
        self.is_over = False
        self.threads = [threading.Thread(target=self.send, daemon=True) for _ in range(COUNT)]
        for thread in self.threads:
            thread.start()

    def send(self) -> None:
        device: Device | None = None
        posted = 0
        while not self.is_over:
            logs = self.new_logs()
            status = None
            while status != 200 and not self.is_over:
                try:
                    device = device or self.connect()
                    status, _ = device.post(*request(logs))
                except (ConnectionLost, OSError):
                    pass
                if status != 200:
                    # A balancer would send it elsewhere.
                    device = None
                    with self.lock:
                        self.refused += 1
                    time.sleep(0.1)
            if status == 200:
                self.note_answered(logs)
                posted += 1
                if self.requests is not None and posted % self.requests == 0:
                    device = None
                time.sleep(self.pause)

    def new_logs(self) -> list[Log]:
        with self.lock:
            logs = self.promises.logs(self.batch)
            self.promises.note_sent(logs)
            return logs

    def note_answered(self, logs: list[Log]) -> None:
        with self.lock:
            self.promises.note_answered(logs)
            self.answered += 1

    def post_once(self, connect: Callable[[], Device]) -> int | None:
        """One request beside those of the senders, which is not repeated. None: no answer."""
        logs = self.new_logs()
        try:
            device = connect()
            status, _ = device.post(*request(logs))
            device.close()
        except (ConnectionLost, OSError):
            return None
        if status == 200:
            self.note_answered(logs)
        return status

    def go_on(self, what: str, within: float) -> bool:
        began, goal = time.monotonic(), self.answered + GOES_ON
        look_until(lambda: self.answered >= goal, within)
        self.longest = max(self.longest, time.monotonic() - began)
        return self.trial.expect(self.answered >= goal, f"no answers within {within} s: {what}")

    def stop(self) -> None:
        self.is_over = True
        for thread in self.threads:
            thread.join(40)

    def judge(self, sandbox: Sandbox) -> Arrived:
        arrived = self.promises.arrived(sandbox)
        lost = sorted(arrived.missing)
        self.trial.expect(not lost, f"{len(lost)} answered logs are lost: {lost[:3]}")
        self.trial.expect(not arrived.altered, f"{len(arrived.altered)} logs were altered: {arrived.altered[:2]}")
        self.trial.expect(not arrived.strangers, f"{len(arrived.strangers)} logs arrived that no device sent")
        return arrived

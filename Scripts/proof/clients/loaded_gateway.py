"""A gateway under load while the servers of its queue are broken, and the verdict about its logs."""

import shutil
import threading
import time
from random import Random

from harness.gateway import Gateway
from harness.sandbox import Sandbox
from proof.clients.device import ConnectionLost, Device
from proof.clients.promised_logs import PromisedLogs, request
from proof.trial import Trial

SENDERS = 4
# Seconds after which commits must go on: an election takes 4 to 9, and a request that was refused is sent again.
GOES_ON_WITHIN = 25
# Answered requests that show that commits go on.
GOES_ON = 20


class Sender(threading.Thread):
    """Posts logs until it is stopped, and again what was refused or not answered, as devices do."""

    def __init__(self, promises: PromisedLogs, lock: threading.Lock, gateway: Gateway) -> None:
        super().__init__(daemon=True)
        self.promises, self.lock, self.gateway = promises, lock, gateway
        self.answered = self.refused = 0
        self.is_over = False

    def run(self) -> None:
        device: Device | None = None
        while not self.is_over:
            with self.lock:
                logs = self.promises.logs(20)
                names = {log["name"] for log in logs}
                self.promises.unanswered |= names
            status = None
            while status != 200 and not self.is_over:
                try:
                    device = device or Device(self.gateway.devices, 30)
                    status, _ = device.post(*request(logs))
                except (ConnectionLost, OSError):
                    device = None
                if status != 200:
                    self.refused += 1
                    time.sleep(0.1)
            if status == 200:
                with self.lock:
                    self.promises.unanswered -= names
                    self.promises.answered |= names
                self.answered += 1


class LoadedGateway:
    """A gateway under load while the servers of its queue are broken."""

    def __init__(self, trial: Trial, settings: str) -> None:
        self.trial, self.sandbox, self.settings = trial, trial.sandbox(), settings
        self.promises, self.lock = PromisedLogs(Random(trial.random.getrandbits(64))), threading.Lock()
        self.gateway = self.start()
        self.senders = [Sender(self.promises, self.lock, self.gateway) for _ in range(SENDERS)]
        self.longest = 0.0
        for sender in self.senders:
            sender.start()

    def start(self) -> Gateway:
        return self.trial.gateway(self.sandbox, self.settings, data=self.trial.work / "steady", seconds=60)

    @property
    def answered(self) -> int:
        return sum(sender.answered for sender in self.senders)

    def goes_on(self, what: str) -> None:
        """Waits for answers. The first wait of all is not for an outage."""
        began, goal = time.monotonic(), self.answered + GOES_ON
        while self.answered < goal and time.monotonic() < began + GOES_ON_WITHIN:
            time.sleep(0.02)
        took = time.monotonic() - began
        self.longest = max(self.longest, took)
        if not self.trial.expect(self.answered >= goal, f"no commits within {GOES_ON_WITHIN} s: {what}"):
            self.trial.say("\n".join(str(event) for event in list(self.gateway.events())[-20:]))

    def end(self) -> None:
        for sender in self.senders:
            sender.is_over = True
        for sender in self.senders:
            sender.join(40)
        ledger = self.gateway.drain()
        self.trial.expect(ledger["closed"] and not ledger["ledger"]["queued"], f"the ledger is open: {ledger}")
        self.gateway.kill()
        shutil.rmtree(self.trial.work / "steady")
        again = self.start()
        after = again.ledger()
        self.trial.expect(after == ledger, f"after the loss of its machine the ledger is {after}, before {ledger}")
        judge_arrivals(self.trial, self.promises, self.sandbox)
        refused = sum(sender.refused for sender in self.senders)
        self.trial.say(f"longest wait for commits {self.longest:.1f} s, {refused} requests refused meanwhile")


def judge_arrivals(trial: Trial, promises: PromisedLogs, sandbox: Sandbox) -> None:
    arrived = promises.arrived(sandbox)
    trial.expect(not arrived.missing, f"{len(arrived.missing)} answered logs are lost: {sorted(arrived.missing)[:3]}")
    trial.expect(not arrived.altered, f"{len(arrived.altered)} logs were altered: {arrived.altered[:2]}")
    trial.expect(not arrived.strangers, f"{len(arrived.strangers)} logs arrived that no device sent")
    trial.say(f"{len(promises.answered)} logs answered, {arrived.count} arrived")

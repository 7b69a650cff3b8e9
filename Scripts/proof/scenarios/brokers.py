"""With its queue in JetStream a gateway loses its machine, and brokers die, and no answered log is lost."""

import json
import shutil
import signal
import threading
import time
import urllib.error
from random import Random

from harness.brokers import Brokers
from harness.gateway import Gateway
from harness.sandbox import Sandbox
from proof.clients.device import ConnectionLost, Device
from proof.clients.promised_logs import PromisedLogs, request
from proof.scenarios import judge
from proof.trial import Trial

# Kills of the gateway, each followed by a start on an empty directory.
MOVES = {False: 6, True: 60}
ROUNDS = {False: 1, True: 10}
SENDERS = 4
# Seconds after which commits must go on: an election takes 4 to 9, and a request that was refused is sent again.
GOES_ON_WITHIN = 25
# Answered requests that show that commits go on.
GOES_ON = 20


def check(trial: Trial) -> None:
    brokers = Brokers(trial.work, trial.programs)
    break_brokers(trial, brokers)
    # The last part: a session ends all programs of the trial.
    move(trial, brokers)


def move(trial: Trial, brokers: Brokers) -> None:
    """The judge's session, with a gateway that finds nothing on its disk each time."""
    # Gateways without a directory begin while the log is read and a base is written.
    counts = judge.run_session(trial, 0, MOVES[trial.is_long], brokers.settings("moving", "judge"), moves=True)
    trial.say(f"{counts['kills']} machines lost")


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


class Trouble:
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


def readiness(gateway: Gateway) -> str:
    """The reasons against traffic; empty: it is ready."""
    try:
        text = gateway.ask("/readyz")
    except urllib.error.HTTPError as refusal:
        text = refusal.read()
    return "; ".join(json.loads(text)["reasons"])


def judge_arrivals(trial: Trial, promises: PromisedLogs, sandbox: Sandbox) -> None:
    arrived = promises.arrived(sandbox)
    trial.expect(not arrived.missing, f"{len(arrived.missing)} answered logs are lost: {sorted(arrived.missing)[:3]}")
    trial.expect(not arrived.altered, f"{len(arrived.altered)} logs were altered: {arrived.altered[:2]}")
    trial.expect(not arrived.strangers, f"{len(arrived.strangers)} logs arrived that nobody sent")
    trial.say(f"{len(promises.answered)} logs answered, {arrived.count} arrived")


class BrokerTrouble(Trouble):
    """Brokers are broken one after the other."""

    def __init__(self, trial: Trial, brokers: Brokers) -> None:
        self.brokers = brokers
        super().__init__(trial, brokers.settings("steady", "trouble"))

    def kill(self, count: int) -> None:
        chosen = self.trial.random.sample(self.brokers.all, count)
        for broker in chosen:
            broker.kill()
        if count == 1:
            self.goes_on("one broker is dead")
        else:
            time.sleep(self.trial.random.uniform(0, 1))
        for broker in chosen:
            broker.start()
        self.goes_on(f"{count} brokers were killed and are back")

    def stop_one(self) -> None:
        broker = self.trial.random.choice(self.brokers.all)
        broker.signal(signal.SIGSTOP)
        self.goes_on("one broker hangs")
        broker.signal(signal.SIGCONT)
        self.goes_on("a broker that hung goes on")

    def lose_quorum(self) -> None:
        """Without a quorum nothing is answered with 200, and the gateway says why."""
        broken = self.brokers.all[1:]
        for broker in broken:
            broker.kill()
        deadline = time.monotonic() + 20
        reasons = ""
        while time.monotonic() < deadline and "cannot be written" not in reasons:
            reasons = readiness(self.gateway)
            time.sleep(0.1)
        self.trial.expect("cannot be written" in reasons, f"without a quorum /readyz says {reasons!r}")
        before = self.answered
        time.sleep(1)
        self.trial.expect(self.answered == before, "a request was answered with 200 without a quorum")
        for broker in broken:
            broker.start()
        self.goes_on("the quorum is back")
        while (reasons := readiness(self.gateway)) and time.monotonic() < deadline + 30:
            time.sleep(0.1)
        self.trial.expect(not reasons, f"with a quorum again /readyz says {reasons!r}")


def break_brokers(trial: Trial, brokers: Brokers) -> None:
    trouble = BrokerTrouble(trial, brokers)
    trouble.goes_on("nothing is broken yet")
    for _ in range(ROUNDS[trial.is_long]):
        trouble.kill(1)
        trouble.kill(2)
        trouble.stop_one()
        trouble.lose_quorum()
        trouble.kill(3)
    trouble.end()

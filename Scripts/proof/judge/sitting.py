"""One sitting of the judge: devices send while the rounds of a plan come over the gateway, then all is peace."""

import signal
import time

from judge import plan
from judge.keys import Keys
from judge.network import Network
from judge.senders import Door, Sender

DEVICES = 16
# How long a start may take, and how long the rest when all is well again.
READY_WITHIN, DELIVERED_WITHIN = 2, 30
SETTINGS = """drain_timeout: 1s
credentials: { encryption_key: a-passphrase-of-the-judge-that-is-long-enough, default: { from: environment } }"""


class Life:
    """From a start of the gateway to its end, with the pauses in which it was stopped."""

    def __init__(self):
        self.began, self.ended, self.pauses = time.monotonic(), None, []


class Sitting:
    def __init__(self, trial, number, kills):
        self.trial, self.random = trial, trial.random
        self.work = trial.work / str(number)
        self.work.mkdir()
        self.sandbox = trial.sandbox()
        self.network = trial.remember(Network(self.sandbox.port, self.random))
        self.settings, self.destinations = plan.destinations(self.random, self.network)
        self.rounds = plan.rounds(self.random, kills)
        self.keys = Keys(self.sandbox, self.random)
        self.base, self.door = int(time.time()) - 60, Door()
        self.senders = [
            Sender(index, ["least", "once"], self.door, self.random.getrandbits(64), self.base)
            for index in range(DEVICES)
        ]
        self.lives, self.ready, self.kills, self.pauses = [], [], 0, 0
        self.ledger, self.gateway = {"accepted": 0, "delivered": 0}, None

    def hold(self):
        for sender in self.senders:
            sender.start()
        *lives, last = self.rounds
        for round in lives:
            self.live(round)
        self.rest(last)

    def live(self, round):
        self.arrange(round)
        self.begin(wait=round.end != "blind")
        if round.end != "blind":
            self.suffer(round)
        self.end(round)
        # What the network suffers outlives the gateway.
        for second, kind, detail in round.events:
            if second >= round.seconds and kind == "network":
                self.happen(kind, detail)

    def suffer(self, round):
        self.door.set(self.gateway.devices)
        began = time.monotonic()
        for second, kind, detail in round.events:
            if second < round.seconds:
                time.sleep(max(0, began + second - time.monotonic()))
                self.happen(kind, detail)
        time.sleep(max(0, began + round.seconds - time.monotonic()))

    def arrange(self, round):
        self.sandbox.peace()
        for fault in round.faults:
            self.sandbox.fault(**fault)
        self.sandbox.control("DELETE", "/limits")
        if round.limit:
            self.sandbox.control("POST", "/limits", round.limit)

    def begin(self, wait=True):
        stored = sum(sender.stored for sender in self.senders)
        self.lives.append(Life())
        self.gateway = self.trial.gateway(
            self.sandbox, data=self.work / "data", settings=SETTINGS, destinations=self.destinations, wait=False
        )
        if not wait:
            return
        self.gateway.ready()
        self.ready.append(self.gateway.ready_after)
        self.trial.expect(self.ready[-1] < READY_WITHIN, f"a start took {self.ready[-1]:.1f} s")
        self.look(stored)
        if self.keys.is_amiss:
            self.keys.mend(self.gateway)

    def look(self, stored):
        """The ledger: closed, no smaller than before, and with all that devices were told of."""
        book = self.gateway.ledger()
        ledger, before = book["ledger"], self.ledger
        rest = sum(ledger[name] for name in ("delivered", "queued", "dead", "expired", "discarded"))
        self.trial.expect(book["closed"] and ledger["accepted"] == rest, f"the ledger is open: {ledger}")
        self.trial.expect(ledger["accepted"] >= stored, f"{stored} logs were answered with 200: {ledger}")
        for name in ("accepted", "delivered"):
            self.trial.expect(ledger[name] >= before[name], f"{name} was {before[name]} before the end: {ledger}")
        self.ledger = ledger

    def happen(self, kind, detail):
        if kind == "network":
            self.network.become(detail)
        elif kind == "key":
            self.keys.happen(detail, self.gateway)
        else:
            program = getattr(self, kind.split(" ")[1])
            began = time.monotonic()
            program.signal(signal.SIGSTOP)
            time.sleep(detail)
            program.signal(signal.SIGCONT)
            self.pauses += 1
            if program is self.gateway:
                self.lives[-1].pauses.append((began, time.monotonic()))

    def end(self, round):
        if round.end in ("stop", "drained"):
            self.gateway.signal(signal.SIGTERM)
        if round.end in ("blind", "drained"):
            time.sleep(round.delay)
        self.kills += round.end != "stop" and self.gateway.is_running
        if round.end == "stop":
            code = self.gateway.process.wait(20)
            self.trial.expect(code == 0, f"it was asked to stop and ended with {code}")
        self.gateway.kill()
        self.lives[-1].ended = time.monotonic()
        self.door.set(None)

    def rest(self, last):
        """Whatever the last round does, its gateway stays, and when all is well again everything has to arrive."""
        self.arrange(last)
        self.begin()
        self.suffer(last)
        self.sandbox.peace()
        self.sandbox.control("DELETE", "/limits")
        self.network.become("open")
        self.keys.mend(self.gateway)
        self.trial.expect(not self.keys.is_amiss, "no key could be given to the gateway")
        began = time.monotonic()
        self.door.set(self.gateway.devices, is_over=True)
        for sender in self.senders:
            sender.join(max(0, began + DELIVERED_WITHIN - time.monotonic()))
            self.trial.expect(not sender.is_alive(), "a device still waits for its answer")
        book = self.gateway.drained(max(0, began + DELIVERED_WITHIN - time.monotonic()))
        self.rested = time.monotonic() - began
        self.look(sum(sender.stored for sender in self.senders))
        code = self.gateway.stop()
        self.trial.expect(code == 0, f"the last stop ended with {code}")
        self.lives[-1].ended = time.monotonic()
        self.begin()
        self.trial.expect(self.gateway.ledger() == book, f"after another start the ledger is not {book}")
        self.gateway.kill()

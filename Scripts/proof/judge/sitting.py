"""One sitting of the judge: devices send while the rounds of a plan come over the gateway, then all is peace."""

import json
import os
import signal
import time
from random import Random

from judge import plan
from judge.keys import Keys
from judge.network import Network
from judge.senders import Door, Sender

DEVICES = 16
READY_WITHIN = 2
# When all is well again. The pace that a quota's refusal began ends a minute after the last one: docs/delivery.md.
DELIVERED_WITHIN, DELIVERED_AFTER_QUOTA_WITHIN = 30, 75
SETTINGS = """drain_timeout: 1s
credentials: { encryption_key: a-passphrase-of-the-judge-that-is-long-enough, default: { from: environment } }"""


class Life:
    """From a start of the gateway to its end, with the pauses in which it was stopped."""

    def __init__(self):
        self.began, self.ended, self.pauses = time.monotonic(), None, []


class Sitting:
    def __init__(self, trial, number, kills):
        # What depends on the moment draws from a source of its own, so that it does not change the next plan.
        self.trial, self.random = trial, Random(trial.random.getrandbits(64))
        self.work = trial.work / str(number)
        self.work.mkdir()
        self.sandbox = trial.sandbox()
        self.networks = [trial.remember(Network(self.sandbox.port, self.source())) for _ in range(2)]
        ports = [network.port for network in self.networks]
        self.settings, self.destinations = plan.destinations(self.random, ports)
        self.rounds = plan.rounds(self.random, kills, trial.is_long)
        self.keys = Keys(self.sandbox, self.source())
        self.base, self.door = int(time.time()) - 60, Door()
        self.senders = [
            Sender(index, ["least", "once"], self.door, self.random.getrandbits(64), self.base)
            for index in range(DEVICES)
        ]
        self.lives, self.ready, self.kills, self.pauses = [], [], 0, 0
        self.ledger, self.gateway = {"accepted": 0, "delivered": 0}, None

    def source(self):
        return Random(self.random.getrandbits(64))

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

    def suffer(self, round):
        self.door.set(self.gateway.devices)
        began = time.monotonic()
        for second, kind, detail in round.events:
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
        # Where ten processes share a core, everything takes ten times as long.
        within = READY_WITHIN * max(1, os.getloadavg()[0] / os.cpu_count())
        self.trial.expect(self.ready[-1] < within, f"a start took {self.ready[-1]:.1f} s, {within:.1f} s were allowed")
        self.look(stored)

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
        if kind == "key":
            self.keys.happen(detail, self.gateway)
        elif kind == "pause":
            self.pause(*detail)
        else:
            self.networks[int(kind.split(" ")[1])].become(detail)

    def pause(self, name, seconds):
        began = time.monotonic()
        program = getattr(self, name)
        program.signal(signal.SIGSTOP)
        time.sleep(seconds)
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
        for network in self.networks:
            network.become("open")
        self.keys.is_amiss = True
        for _ in range(5):
            if self.keys.is_amiss:
                self.keys.mend(self.gateway)
        self.trial.expect(not self.keys.is_amiss, "no key could be given to the gateway")
        began = time.monotonic()
        within = DELIVERED_AFTER_QUOTA_WITHIN if last.has_quota else DELIVERED_WITHIN
        self.door.set(self.gateway.devices, is_over=True)
        for sender in self.senders:
            sender.join(max(0, began + within - time.monotonic()))
            self.trial.expect(not sender.is_alive(), "a device still waits for its answer")
        book = self.gateway.drained(max(0, began + within - time.monotonic()))
        self.settled = time.monotonic()
        self.rested = self.settled - began
        left = book["ledger"]["queued"]
        self.trial.expect(not left, f"{left} logs still wait after {within} s of peace: {self.troubles()}")
        self.look(sum(sender.stored for sender in self.senders))
        code = self.gateway.stop()
        self.trial.expect(code == 0, f"the last stop ended with {code}")
        self.lives[-1].ended = time.monotonic()
        if not left:
            self.begin()
            self.trial.expect(self.gateway.ledger() == book, f"after another start the ledger is not {book}")
            self.gateway.kill()

    def troubles(self):
        """What the gateway says of those that wait."""
        status = json.loads(self.gateway.ask("/admin/status"))
        said = []
        for destination in status["destinations"]:
            said.append(f"{destination['name']}: {destination['trouble']}, {destination['delivery']['rate']} a second")
            said += [f"{outlet['logstore']}: {outlet['trouble']}, {outlet['rate']}" for outlet in destination["outlets"]]
        return "; ".join(said)

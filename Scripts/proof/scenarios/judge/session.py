"""One session of the judge: devices send while the rounds of a plan disturb the gateway, then all faults end."""

import json
import shutil
import time
from collections.abc import Iterable
from random import Random
from typing import Any

from harness.gateway import Gateway
from harness.measures import delay, slowness
from proof import fan_out
from proof.fan_out import SEEN, FanOut
from proof.faults.servers import LogServer
from proof.scenarios.judge import plan
from proof.scenarios.judge.disruptions import Disruptions, GatewayRun
from proof.scenarios.judge.plan import Round
from proof.scenarios.judge.senders import GatewayAddress, Sender
from proof.trial import Trial

# The SLS destinations, each with the destination of another kind that gets the same logs.
PAIRS = {"least": "archive", "once": "server"}
ROUTED = f"""filters: [{{ name: proof, steps: [{{ set: {{ seen: {SEEN} }} }}] }}]
routes: [{", ".join(f'{{ match: "{project}-*.**", to: [{project}, {other}] }}' for project, other in PAIRS.items())}]"""


def counted(book: dict[str, Any], names: Iterable[str], count: str) -> int:
    """The sum of one of the ledger's counts. A destination appears in the ledger with its first log."""
    return sum(book["destinations"].get(name, {}).get(count, 0) for name in names)


DEVICES = 16
# Seconds for a start, times the slowness of the machine, and without the time in which the gateway had no core. A
# bound that grew with the load would be none.
READY_WITHIN = 2
# The same where it reads its queue from servers, whose waits for a core are not known.
MOVED_READY_WITHIN = 6
# Seconds for a start with that time included.
READY_AT_LAST = 60
# Seconds for the delivery after all faults ended, times the delay of the machine. The pace that a quota causes ends a
# minute after the last refusal: docs/pacing.md.
DELIVERED_WITHIN, DELIVERED_AFTER_QUOTA_WITHIN = 30, 75
# More seconds for each waiting log: in packets of twenty, one at a time, with a tenth of a core.
A_LOG = 0.005
SETTINGS = f"""{ROUTED}
drain_timeout: 1s
credentials: {{ encryption_key: a-passphrase-of-the-judge-that-is-long-enough, default: {{ from: environment }} }}"""


class Session:
    """`settings` are more lines of the gateway's configuration. With `moves` each process begins on another machine: its
    data directory is empty."""

    def __init__(self, trial: Trial, number: int, kills: int, settings: str = "", moves: bool = False) -> None:
        self.trial, self.random = trial, Random(trial.random.getrandbits(64))
        self.data = trial.work / f"data-{number}"
        self.more_settings, self.moves = settings, moves
        self.sandbox = trial.sandbox()
        directory = trial.work / f"archive-{number}"
        directory.mkdir()
        self.archive = FanOut(directory, ", keep: 10000, compress: gzip")
        self.server = trial.remember(LogServer(self.own_random()))
        self.disruptions = Disruptions(trial, self.sandbox, self.server, self.own_random)
        ports = [network.port for network in self.disruptions.networks]
        self.settings, self.destinations = plan.destinations(self.random, ports, self.server.port)
        self.destinations += self.archive.destination
        self.rounds = plan.rounds(self.random, kills, trial.is_long)
        self.base, self.address = int(time.time()) - 60, GatewayAddress()
        self.senders = [
            Sender(index, list(PAIRS), self.address, self.random.getrandbits(64), self.base) for index in range(DEVICES)
        ]
        self.runs: list[GatewayRun] = []
        self.ready: list[float] = []
        self.kills = 0
        self.ledger = {"accepted": 0, "delivered": 0}
        self.book: dict[str, Any] = {}

    def own_random(self) -> Random:
        """For draws that depend on timing, so that they do not change the next plan."""
        return Random(self.random.getrandbits(64))

    @property
    def stored(self) -> int:
        return sum(sender.stored for sender in self.senders)

    def run_rounds(self) -> None:
        for sender in self.senders:
            sender.start()
        *rounds, last = self.rounds
        for round in rounds:
            self.disruptions.prepare_round(round)
            run = self.begin(wait=round.end != "blind")
            if round.end != "blind":
                self.run_events(round, run)
            self.end(round, run)
        self.run_last_round(last)

    def begin(self, wait: bool = True) -> GatewayRun:
        stored = self.stored
        if self.moves:
            shutil.rmtree(self.data, ignore_errors=True)
        settings = f"{SETTINGS}\n{self.more_settings}"
        gateway = self.trial.gateway(
            self.sandbox, data=self.data, settings=settings, destinations=self.destinations, wait=False
        )
        self.runs.append(GatewayRun(gateway))
        if wait:
            gateway.wait_until_ready(READY_AT_LAST)
            after, starved = gateway.ready_after, self.runs[-1].starved()
            self.ready.append(after - starved)
            told = f"a start took {after:.2f} s, in {starved:.2f} s of them no core was free"
            within = MOVED_READY_WITHIN if self.moves else READY_WITHIN
            self.trial.expect(after - starved < within * slowness(), told)
            self.runs[-1].late = delay()
            self.check_ledger(gateway.ledger(), stored)
            self.disruptions.keys.check_key(gateway)
        return self.runs[-1]

    def check_ledger(self, book: dict[str, Any], stored: int) -> None:
        """Checks the ledger: closed, no smaller than before, and with all answered logs."""
        ledger, before = book["ledger"], self.ledger
        rest = sum(ledger[name] for name in ("delivered", "queued", "dead", "expired", "discarded"))
        self.trial.expect(book["closed"] and ledger["accepted"] == rest, f"the ledger is open: {ledger}")
        at_sls = counted(book, PAIRS, "accepted")
        self.trial.expect(at_sls >= stored, f"{stored} logs were answered, the ledger has fewer: {book}")
        self.trial.wrong(*fan_out.open_sums(book, 0))
        for name in ("accepted", "delivered"):
            self.trial.expect(ledger[name] >= before[name], f"{name} was {before[name]} before, now: {ledger}")
        self.ledger, self.book = ledger, book

    def run_events(self, round: Round, run: GatewayRun) -> None:
        """Plays a round, more slowly on a machine that is late, so that as much happens in it as elsewhere."""
        self.address.set(run.gateway.devices)
        began = time.monotonic()
        for second, kind, detail in round.events:
            time.sleep(max(0, began + second * run.late - time.monotonic()))
            self.disruptions.apply(kind, detail, run)
        time.sleep(max(0, began + round.seconds * run.late - time.monotonic()))

    def end(self, round: Round, run: GatewayRun) -> None:
        if round.end in ("stop", "drained"):
            run.ask_to_end()
        if round.end in ("blind", "drained"):
            time.sleep(round.delay)
        if round.end == "stop":
            run.gateway.process.wait(20)
        self.kills += self.close(run)
        self.address.set(None)

    def close(self, run: GatewayRun) -> bool:
        """Ends a process and checks how it ended. Returns whether it had to be killed."""
        was_alive = run.end()
        self.trial.wrong(*(f"process {self.runs.index(run)}: {line}" for line in run.wrong(was_alive)))
        return was_alive

    def run_last_round(self, last: Round) -> None:
        """The last round has no kill. After it all faults end, and everything must arrive."""
        self.disruptions.prepare_round(last)
        run = self.begin()
        self.run_events(last, run)
        self.disruptions.end(run)
        began = time.monotonic()
        within = DELIVERED_AFTER_QUOTA_WITHIN if last.has_quota else DELIVERED_WITHIN
        within += run.gateway.ledger()["ledger"]["queued"] * A_LOG
        within *= delay()
        self.address.set(run.gateway.devices, is_over=True)
        for sender in self.senders:
            sender.join(max(0, began + within - time.monotonic()))
            self.trial.expect(not sender.is_alive(), "a device is still without an answer")
        book = run.gateway.drain(max(0, began + within - time.monotonic()))
        self.settled = time.monotonic()
        # Packets that SLS had already, found by their sequence numbers.
        self.refusals = self.sandbox.control("GET", "/stats")["errors"].get("InvalidSequenceId", 0)
        self.delivered_after = self.settled - began
        left = book["ledger"]["queued"]
        self.trial.expect(not left, f"{left} logs wait {within:.0f} s after the faults: {troubles(run.gateway)}")
        self.check_ledger(book, self.stored)
        run.ask_to_end()
        run.gateway.process.wait(60)
        self.close(run)
        if not left:
            again = self.begin()
            self.trial.expect(again.gateway.ledger() == book, f"after a restart the ledger differs from {book}")
            self.close(again)


def troubles(gateway: Gateway) -> str:
    said = []
    for destination in json.loads(gateway.ask("/admin/status"))["destinations"]:
        said.append(f"{destination['name']}: {destination['trouble']}, {destination['delivery']['rate']} a second")
        said += [f"{outlet['logstore']}: {outlet['trouble']}, {outlet['rate']}" for outlet in destination["outlets"]]
    return "; ".join(said)

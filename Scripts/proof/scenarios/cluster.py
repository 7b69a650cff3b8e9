"""Gateways of one cluster lose their machines, hang and stop, brokers die, and no answered log is lost: the others deliver
what a dead gateway had."""

import json
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from random import Random

from harness.brokers import Brokers
from harness.database import PROGRAMS, Database
from harness.gateway import Gateway
from proof.clients.device import ConnectionLost, Device
from proof.clients.senders import Senders
from proof.trial import Trial

GATEWAYS = 3
ROUNDS = {False: 1, True: 12}
# Seconds between two requests of a sender: the sandbox keeps a million logs, and all have to be there at the end.
PAUSE = {False: 0.01, True: 0.08}
# A gateway is taken for dead after 12 s, and one that stopped after 15; the rest is for the heir, on a crowded machine.
ADOPTED_WITHIN = 60
GOES_ON_WITHIN = 30


class Member:
    """A place of the cluster: a node with a directory and one gateway after the other."""

    def __init__(self, session: "Session", number: int) -> None:
        self.session, self.node = session, f"gw-{number}"
        self.data = session.trial.work / self.node
        self.gateway: Gateway | None = None

    def start(self) -> None:
        session = self.session
        self.gateway = session.trial.gateway(
            session.sandbox, session.settings(self.node), session.destination, data=self.data, seconds=60
        )

    def kill(self, loses_disk: bool) -> None:
        if self.gateway is not None:
            self.gateway.kill()
            self.gateway = None
        if loses_disk:
            shutil.rmtree(self.data, ignore_errors=True)

    def stop(self) -> None:
        """As an upgrade does. What is left goes to the others if it does not come back."""
        if self.gateway is not None:
            self.gateway.stop()
            self.gateway = None


class Session:
    """A cluster under load while its parts are broken, and the verdict about its logs."""

    def __init__(self, trial: Trial, destination: str, settings: Callable[[str], str]) -> None:
        self.trial, self.destination, self.settings = trial, destination, settings
        self.sandbox = trial.sandbox()
        self.members = [Member(self, number) for number in range(1, GATEWAYS + 1)]
        self.counts: Counter[str] = Counter()
        for member in self.members:
            member.start()
        self.random = Random(trial.random.getrandbits(32))
        self.senders = Senders(trial, self.connect, batch=10, pause=PAUSE[trial.is_long])

    def connect(self) -> Device:
        """To any gateway, as through a balancer."""
        living = [gateway for member in self.members if (gateway := member.gateway) is not None]
        if not living:
            raise ConnectionLost("no gateway is there")
        return Device(self.random.choice(living).devices, 10)

    def goes_on(self, what: str) -> None:
        self.senders.go_on(what, GOES_ON_WITHIN)

    def status(self, member: Member) -> dict[str, object]:
        assert member.gateway is not None
        queue = json.loads(member.gateway.ask("/admin/status"))["queue"]
        fleet: dict[str, object] = queue["fleet"]
        return fleet

    def absorptions(self) -> int:
        living = [member for member in self.members if member.gateway is not None]
        return sum(int(str(self.status(member)["absorptions"])) for member in living)

    def others_empty(self, what: str, began: float, before: int) -> None:
        """Waits until the others have absorbed a shard that was lost at `began`, after `before` absorptions."""
        while time.monotonic() < began + ADOPTED_WITHIN:
            if self.absorptions() > before:
                self.trial.say(f"{what}: its shard was emptied and absorbed after {time.monotonic() - began:.1f} s")
                return
            time.sleep(0.2)
        self.trial.wrong(f"{what}: after {ADOPTED_WITHIN} s its shard is not absorbed")

    def shards_of(self, member: Member, role: str = "") -> set[str]:
        shards = self.status(member)["shards"]
        return {shard["name"] for shard in shards if role in shard["role"]}  # type: ignore[attr-defined]

    # What is done to it.

    def lose_machine(self) -> None:
        """A gateway dies for good. The others deliver what it had; later another one takes its place."""
        member = self.trial.random.choice(self.members)
        member.kill(loses_disk=True)
        began, before = time.monotonic(), self.absorptions()
        self.counts["machines lost"] += 1
        self.goes_on("a gateway is lost")
        self.others_empty("a gateway lost with its disk", began, before)
        member.start()
        self.goes_on("a new gateway has come")

    def restart(self) -> None:
        """A gateway is killed and comes back at once, as after a crash."""
        member = self.trial.random.choice(self.members)
        homes = self.shards_of(member, "home")
        member.kill(loses_disk=self.trial.random.random() < 0.5)
        self.counts["crashes"] += 1
        member.start()
        self.goes_on("a gateway has come back")
        self.trial.expect(
            self.shards_of(member, "home") == homes, "a gateway that came back at once has another home shard"
        )

    def upgrade(self) -> None:
        """Each gateway is stopped and started, one after the other."""
        for member in self.members:
            member.stop()
            self.counts["stops"] += 1
            member.start()
        self.goes_on("all gateways were stopped and started")

    def hang(self) -> None:
        """A gateway stands still for longer than the others wait, wakes, and finds its shards taken."""
        member = self.trial.random.choice(self.members)
        gateway, shards = member.gateway, self.shards_of(member)
        assert gateway is not None
        gateway.signal(signal.SIGSTOP)
        member.gateway = None
        began, before = time.monotonic(), self.absorptions()
        self.counts["hangs"] += 1
        self.others_empty("a gateway that hangs", began, before)
        gateway.signal(signal.SIGCONT)
        member.gateway = gateway
        deadline = time.monotonic() + GOES_ON_WITHIN
        while time.monotonic() < deadline and not self.shards_of(member) - shards:
            time.sleep(0.1)
        self.trial.expect(self.shards_of(member) - shards, "a gateway that hung has no new shard")
        self.goes_on("a gateway that hung goes on")

    def kill_broker(self, brokers: Brokers, count: int) -> None:
        chosen = self.trial.random.sample(brokers.all, count)
        for broker in chosen:
            broker.kill()
        self.counts["brokers killed"] += count
        if count == 1:
            self.goes_on("a broker is dead")
        else:
            time.sleep(self.trial.random.uniform(0, 3))
        for broker in chosen:
            broker.start()
        self.goes_on(f"{count} brokers were killed and are back")

    def kill_both(self, brokers: Brokers) -> None:
        """A gateway and a broker die at the same moment."""
        member, broker = self.trial.random.choice(self.members), self.trial.random.choice(brokers.all)
        broker.kill()
        member.kill(loses_disk=True)
        self.counts["machines lost"] += 1
        self.counts["brokers killed"] += 1
        self.goes_on("a gateway and a broker are lost")
        broker.start()
        member.start()
        self.goes_on("a gateway and a broker are back")

    # The verdict.

    def end(self, exactly_once: bool) -> None:
        self.senders.stop()
        sums: Counter[str] = Counter()
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            sums = Counter()
            for member in self.members:
                assert member.gateway is not None
                whole = member.gateway.ledger()
                self.trial.expect(whole["closed"], f"the ledger of {member.node} is open: {whole}")
                sums.update(whole["ledger"])
            shards = [self.status(member)["cluster_shards"] for member in self.members]
            if sums["queued"] == 0 and all(count == GATEWAYS for count in shards):
                break
            time.sleep(0.2)
        self.trial.expect(sums["queued"] == 0, f"after 90 s the cluster is not empty: {dict(sums)}")
        arrived, answered = self.senders.judge(self.sandbox), len(self.senders.promises.answered)
        # A log that was accepted although its device was told otherwise was sent twice by the device.
        accepted, delivered = sums["accepted"], sums["delivered"]
        self.trial.expect(
            accepted == delivered + sums["expired"] + sums["discarded"] + sums["dead"] and accepted >= answered,
            f"the cluster's ledger does not fit {answered} answered logs: {dict(sums)}",
        )
        twice = arrived.count - delivered
        self.trial.expect(twice >= 0, f"{delivered} logs count as delivered, and {arrived.count} arrived")
        if exactly_once:
            self.trial.expect(twice == 0, f"{twice} logs were stored twice in spite of exactly_once")
        late = sum(int(str(self.status(member)["late_acknowledgements"])) for member in self.members)
        events = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        longest, refused = self.senders.longest, self.senders.refused
        self.trial.say(f"{events}; longest wait for answers {longest:.1f} s, {refused} requests refused")
        self.trial.say(
            f"{answered} logs answered, {accepted} accepted, {arrived.count} arrived, "
            f"{twice} of them twice{' (exactly_once)' if exactly_once else ''}, {late} late acknowledgements"
        )
        for member in self.members:
            member.kill(loses_disk=True)
        self.sandbox.kill()


def check(trial: Trial) -> None:
    both = [True, False]
    for exactly_once in both if trial.is_long else [trial.random.choice(both)]:
        break_brokers(trial, exactly_once)
    if trial.is_long:
        break_gateways(trial)


def break_brokers(trial: Trial, exactly_once: bool) -> None:
    """With JetStream gateways and brokers are broken."""
    brokers = Brokers(trial.work, trial.programs)

    def settings(node: str) -> str:
        return brokers.settings(node, "cluster", more=", max_bytes: 256MiB")

    session = Session(trial, ", exactly_once: true" if exactly_once else "", settings)
    session.goes_on("nothing is broken yet")
    for _ in range(ROUNDS[trial.is_long]):
        session.lose_machine()
        session.restart()
        session.kill_broker(brokers, 1)
        session.hang()
        session.kill_both(brokers)
        session.upgrade()
        session.kill_broker(brokers, 2)
    session.end(exactly_once)
    brokers.kill()


def break_gateways(trial: Trial) -> None:
    """With PostgreSQL gateways are broken; `Scripts/prove database` breaks the servers."""
    if not (PROGRAMS / "initdb").exists():
        return trial.skip("cluster in a database", "PostgreSQL is not installed")
    database = Database(trial.programs)
    session = Session(trial, ", exactly_once: true", database.settings)
    session.goes_on("nothing is broken yet")
    for _ in range(ROUNDS[trial.is_long]):
        session.lose_machine()
        session.restart()
        session.hang()
        session.upgrade()
    session.end(exactly_once=True)
    database.kill()

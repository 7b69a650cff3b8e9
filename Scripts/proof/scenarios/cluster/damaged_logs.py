"""Entries of a cluster's commit logs are damaged on one broker, purged, or damaged on all brokers: what is there is
delivered as it was sent, and a log with a hole is refused by name until it is restored."""

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from harness.program import DidNotStart
from harness.queues import Broker, Brokers, stream_of
from harness.waiting import wait_until
from proof.scenarios.cluster.session import ADOPTED_WITHIN, CLUSTER, Member, Session
from proof.trial import Trial

ROUNDS = 2
ELECTED_WITHIN = 60
# A gateway tries a shard that it refused after longer and longer times.
RESTORED_WITHIN = 180
# Logs that wait in each queue before a log is damaged.
FILLED = 500
# Flipped bytes in each stream of a broker.
FLIPS = 5
# A byte is found in another broker's copy by so many bytes from it on.
NEEDLE = 48
# The reason against a damaged log names what is missing or cannot be read.
NAMES_ENTRIES = re.compile(r"\b(entry|entries|commit|part) \d+")


def check(trial: Trial) -> None:
    brokers = Brokers(trial.work, trial.programs)
    session = DamagedCluster(trial, brokers, trial.random.random() < 0.5)
    for _ in range(ROUNDS if trial.is_long else 1):
        session.purge()
        if trial.is_long:
            session.damage_one_broker()
            session.damage_before_start()
            session.damage_all_brokers()
    session.end()
    brokers.kill()


class Copies:
    """What the brokers have of one shard's stream, with the group that replicates it."""

    def __init__(self, brokers: Brokers, shard: str) -> None:
        self.brokers, self.stream = brokers, stream_of(shard, CLUSTER)
        info = self.info()
        self.first, self.last = info["state"]["first_seq"], info["state"]["last_seq"]
        self.group = info["cluster"]["raft_group"]

    def info(self) -> dict[str, Any]:
        return self.brokers.all[0].ask(f"$JS.API.STREAM.INFO.{self.stream}")

    def end(self) -> int:
        """The last entry, once the brokers have elected a leader for the stream."""
        infos: list[dict[str, Any]] = []

        def has_leader() -> bool:
            with contextlib.suppress(OSError):
                infos.append(self.info())
            return bool(infos and "state" in infos[-1])

        wait_until(has_leader, ELECTED_WITHIN, f"{self.stream} has no leader", pause=0.1)
        return int(infos[-1]["state"]["last_seq"])

    def directories(self, broker: Broker) -> list[Path]:
        return [messages_of(broker) / self.stream, broker.store / "jetstream" / "$SYS" / "_js_" / self.group]

    def blocks(self, broker: Broker) -> list[Path]:
        """The files with the entries: those of the stream, then those of the group, from which the stream is repaired."""
        return [block for directory in self.directories(broker) for block in blocks_in(directory)]

    def save(self, place: Path) -> None:
        for broker in self.brokers.all:
            for directory in self.directories(broker):
                shutil.copytree(directory, place / broker.name / directory.name)

    def restore(self, place: Path) -> None:
        for broker in self.brokers.all:
            for directory in self.directories(broker):
                shutil.rmtree(directory, ignore_errors=True)
                shutil.copytree(place / broker.name / directory.name, directory)
        shutil.rmtree(place)


def messages_of(broker: Broker) -> Path:
    return broker.store / "jetstream" / "$G" / "streams"


def blocks_in(stream: Path) -> list[Path]:
    return sorted((stream / "msgs").glob("*.blk"))


def flip(block: Path, place: int, random: Random) -> None:
    content = bytearray(block.read_bytes())
    content[place] ^= 1 << random.randrange(8)
    block.write_bytes(content)


class DamagedCluster(Session):
    def fill(self) -> None:
        """Logs wait in all shards: SLS is away."""
        self.sandbox.fault(status=503)
        filled = lambda: all(member.ledger()["ledger"]["queued"] >= FILLED for member in self.members)
        self.wait_for(filled, self.goes_on_within, f"not all gateways have {FILLED} waiting logs")

    @contextlib.contextmanager
    def brokers_stopped(self) -> Iterator[None]:
        for broker in self.brokers.all:
            broker.kill()
        yield
        for broker in self.brokers.all:
            broker.start()

    # The damage.

    def purge(self) -> None:
        """The first entries of a dead gateway's log are purged. Single entries cannot be deleted."""

        def purge(copies: Copies) -> str:
            number = self.trial.random.randint(copies.first + 1, copies.last)
            stream, broker = copies.stream, self.brokers.all[0]
            answer = broker.ask(f"$JS.API.STREAM.MSG.DELETE.{stream}", {"seq": number})
            self.trial.expect(answer.get("error"), f"entry {number} of a shard's log can be deleted: {answer}")
            answer = broker.ask(f"$JS.API.STREAM.PURGE.{stream}", {"seq": number})
            self.trial.expect(answer.get("success"), f"the log is not purged: {answer}")
            return f"of entries {copies.first} to {copies.last} those before {number} are purged"

        self.counts["logs purged"] += 1
        self.damage_shard(purge)

    def flip_everywhere(self, copies: Copies) -> str:
        contents = [[copy.read_bytes() for copy in copies.blocks(broker)] for broker in self.brokers.all]
        content = contents[0][0]
        for _ in range(1000):
            place = self.trial.random.randrange(NEEDLE, len(content))
            needle = content[place:][:NEEDLE]
            # Each entry is there once, but many of its bytes are like those of others. A broker may be behind.
            if content.count(needle) == 1 and all(any(needle in one for one in blocks) for blocks in contents):
                break
        found = 0
        with self.brokers_stopped():
            for copy in (copy for broker in self.brokers.all for copy in copies.blocks(broker)):
                if (start := copy.read_bytes().find(needle)) >= 0:
                    flip(copy, start, self.trial.random)
                    found += 1
        self.trial.expect(found >= len(self.brokers.all), f"only {found} copies have the byte that is to be flipped")
        text = f"byte {place} of {len(content)} is flipped in {found} copies"
        return f"{text}, and the log that ended with entry {copies.last} ends with entry {copies.end()}"

    def damage_all_brokers(self) -> None:
        """A dead gateway's log is damaged on all brokers. They cut it off before the damage."""
        self.counts["logs damaged on all brokers"] += 1
        self.damage_shard(self.flip_everywhere, may_be_whole=True)

    def damage_before_start(self) -> None:
        """The same, while the gateway still has its disk, and comes back before others adopt its shard: it knows where the
        log ended, and does not start."""
        self.fill()
        self.counts["logs damaged on all brokers before a start"] += 1
        member, saved = self.trial.random.choice(self.members), self.trial.work / "saved"
        home = member.home()
        member.kill(loses_disk=False)
        copies = Copies(self.brokers, home)
        copies.save(saved)
        what = self.flip_everywhere(copies)
        if copies.end() < copies.last:
            self.counts["logs cut off"] += 1
            self.own_start_is_refused(member, home, what)
        self.trial.say(f"before a start {what}")
        with self.brokers_stopped():
            copies.restore(saved)
        self.sandbox.clear_faults()
        member.start()
        self.each_goes_on("a log was damaged before a start")
        self.settle(ADOPTED_WITHIN)

    def damage_shard(self, damage: Callable[[Copies], str], may_be_whole: bool = False) -> None:
        """The shard of a gateway that lost its machine is damaged. The others refuse it and go on, and so does a start of
        that gateway; when the log is restored they deliver it. Brokers may have repaired it: then they adopt it, and the
        verdict shows whether it was whole."""
        self.fill()
        member = self.trial.random.choice(self.members)
        home, saved = member.home(), self.trial.work / "saved"
        member.kill(loses_disk=True)
        before, adopted = self.absorptions(), self.adoptions()
        copies = Copies(self.brokers, home)
        copies.save(saved)
        what = damage(copies)
        late = f"a shard is neither adopted nor refused: {what}"
        self.wait_for(lambda: self.reasons(home) or self.adoptions() > adopted, ADOPTED_WITHIN, late)
        if self.adoptions() > adopted:
            self.trial.expect(may_be_whole, f"{what}, and the shard is adopted")
            self.counts["damaged logs adopted"] += 1
            self.trial.say(f"{what}; adopted all the same")
            self.sandbox.clear_faults()
            shutil.rmtree(saved)
            began = time.monotonic()
        else:
            reasons = self.refused_by_others(home, what)
            self.trial.say(f"{what}; refused: {'; '.join(sorted(reasons))}")
            self.sandbox.clear_faults()
            self.each_goes_on(f"one shard is damaged: {what}")
            self.others_delivered(what)
            self.own_start_is_refused(member, home, what)
            missing = len(self.senders.promises.arrived(self.sandbox).missing)
            self.trial.expect(missing, f"{what}, and no log is missing")
            began = time.monotonic()
            with self.brokers_stopped():
                copies.restore(saved)
        self.others_empty("the damaged log", began, before, RESTORED_WITHIN)
        member.start()
        self.each_goes_on("a log was damaged")

    def damage_one_broker(self) -> None:
        """Bytes are flipped in all streams of one broker while it is down. Then a gateway loses its machine, and its heir
        reads the log from any broker. It may refuse the log while that broker is there, and must not when it is
        replaced."""
        self.fill()
        broker = self.trial.random.choice(self.brokers.all)
        broker.kill()
        flips = 0
        for stream in messages_of(broker).iterdir():
            for block in blocks_in(stream)[:1]:
                for _ in range(FLIPS if block.stat().st_size else 0):
                    flip(block, self.trial.random.randrange(block.stat().st_size), self.trial.random)
                    flips += 1
        broker.start()
        self.counts["brokers damaged"] += 1
        self.each_goes_on("a broker is damaged")
        member = self.trial.random.choice(self.members)
        home = member.home()
        member.kill(loses_disk=True)
        before, began = self.absorptions(), time.monotonic()
        self.sandbox.clear_faults()
        late = f"a shard is neither absorbed nor refused: {flips} bytes are flipped on {broker.name}"
        self.wait_for(lambda: self.absorptions() > before or self.reasons(home), ADOPTED_WITHIN, late)
        if reasons := self.reasons(home):
            self.check_reasons(reasons, late)
            self.trial.say(f"{flips} bytes flipped on one broker; refused: {'; '.join(sorted(reasons))}")
            broker.kill()
            shutil.rmtree(broker.store)
            broker.start()
            began = time.monotonic()
        self.others_empty(f"{flips} bytes flipped on one broker", began, before)
        member.start()
        self.each_goes_on("a broker was damaged")

    # What the gateways make of it.

    def reason_of(self, member: Member, shard: str) -> str | None:
        """Why the gateway does not adopt the shard, as its status tells."""
        orphans = member.fleet()["orphans"]
        return next((orphan["refused_because"] for orphan in orphans if orphan["shard"] == shard), None)

    def reasons(self, shard: str) -> set[str]:
        return {reason for member in self.living if (reason := self.reason_of(member, shard))}

    def check_reasons(self, reasons: set[str], what: str) -> None:
        for reason in reasons:
            self.trial.expect(NAMES_ENTRIES.search(reason), f"{what}, and the reason is {reason!r}")

    def refused_by_others(self, shard: str, what: str) -> set[str]:
        """Waits until each of the others refuses the shard, in its status, its metrics and its journal."""
        for member in self.living:
            late = f"{member.node} does not refuse a damaged shard: {what}"
            self.wait_for(lambda: self.reason_of(member, shard), ADOPTED_WITHIN, late)
            metric = member.running.metric("sluice_fleet_refused_orphans")
            self.trial.expect(metric == 1, f"{what}, and the metric of {member.node} is {metric}")
            said = [line for line in member.running.events() if line.get("event") == "shard cannot be adopted"]
            self.trial.expect(
                any(line["shard"] == shard for line in said), f"{what}, {member.node}'s journal is silent"
            )
        reasons = self.reasons(shard)
        self.trial.expect(reasons, f"{what}, and no status says why it is not adopted")
        self.check_reasons(reasons, what)
        return reasons

    def others_delivered(self, what: str) -> None:
        for member in self.living:
            delivered = member.ledger()["ledger"]["delivered"]
            late = f"{member.node} delivers nothing: {what}"
            self.wait_for(lambda: member.ledger()["ledger"]["delivered"] > delivered, ADOPTED_WITHIN, late)

    def own_start_is_refused(self, member: Member, shard: str, what: str) -> None:
        try:
            member.start()
        except DidNotStart as ending:
            text = str(ending)
            self.trial.expect(NAMES_ENTRIES.search(text), f"{what}, and the start says {text[-300:]}")
        else:
            # It takes another one if another gateway tries to read this one at that moment.
            shards = member.shards()
            self.trial.expect(shard not in shards, f"{what}, and a gateway of the same name starts with {shards}")
            member.kill(loses_disk=True)

"""Three gateways of one cluster under load, and the verdict about their logs."""

import contextlib
import itertools
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from harness.gateway import Gateway
from harness.program import Host
from harness.queues import Brokers, Database
from harness.waiting import look_until
from proof.clients.device import ConnectionLost, Device
from proof.clients.promised_logs import Senders
from proof.trial import Trial

GATEWAYS = 3
CLUSTER = "proof"
PAUSE = {False: 0.01, True: 0.08}
# Each shard reserves five times as much on each broker.
MAX_BYTES = ", max_bytes: 256MiB"
# Requests of a sender to one gateway, before it goes to the next.
REQUESTS_EACH = 20
# A gateway is taken for dead after 12 s, and one that stopped after 15; the rest is for the heir, on a crowded machine.
ADOPTED_WITHIN = 60
EMPTY_WITHIN = 90


class Member:
    """A place of the cluster: a node with a directory and one gateway after the other."""

    def __init__(self, session: "Session", number: int, host: Host) -> None:
        self.session, self.node = session, f"gw-{number}"
        self.host: Host = host
        self.data = session.trial.work / self.node
        self.gateway: Gateway | None = None

    def start(self) -> None:
        session = self.session
        options: dict[str, Any] = {"data": self.data, "seconds": 60, **self.host.launch}
        with self.host.inside():
            self.gateway = session.trial.gateway(
                session.endpoint, session.settings(self.node), session.destination, **options
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

    def connect(self) -> Device:
        if (gateway := self.gateway) is None:
            raise ConnectionLost(f"{self.node} is not there")
        with self.host.inside():
            return Device(gateway.devices, 10)

    @property
    def running(self) -> Gateway:
        assert self.gateway is not None
        return self.gateway

    def ask_devices(self, path: str) -> int:
        """The status of a page of the device listener."""
        with contextlib.closing(self.connect()) as device:
            return device.get(path)

    def status(self) -> dict[str, Any]:
        with self.host.inside():
            return json.loads(self.running.ask("/admin/status"))["queue"]

    def fleet(self) -> dict[str, Any]:
        return self.status()["fleet"]

    def ledger(self) -> dict[str, Any]:
        with self.host.inside():
            return self.running.ledger()

    def shards(self, role: str = "") -> set[str]:
        return {shard["name"] for shard in self.fleet()["shards"] if role in shard["role"]}

    def home(self) -> str:
        """The shard that takes the logs of its devices."""
        return next(iter(self.shards("home")))


class Session:
    """A cluster under load while its parts are broken, and the verdict about its logs."""

    # Seconds, and the logs of a request.
    goes_on_within, batch = 30.0, 10
    # Seconds between two requests of a sender: the sandbox keeps a million logs, and all have to be there at the end.
    pause: float | None = None

    def __init__(
        self,
        trial: Trial,
        queue: Brokers | Database,
        exactly_once: bool,
        hosts: Sequence[Host] = (),
        endpoint: Callable[[int], str] = "http://localhost:{}".format,
        **sandbox: Any,
    ) -> None:
        """`queue` has the servers of the gateways' queue, `endpoint` the sandbox's URL by its port."""
        self.trial, self.queue, self.exactly_once = trial, queue, exactly_once
        self.destination = ", exactly_once: true" if exactly_once else ""
        self.sandbox = trial.sandbox(**sandbox)
        self.endpoint = endpoint(self.sandbox.port)
        places = hosts or [Host()] * GATEWAYS
        self.members = [Member(self, number, host) for number, host in enumerate(places, 1)]
        self.counts: Counter[str] = Counter()
        for member in self.members:
            member.start()
        self.turns = itertools.count()
        pause = PAUSE[trial.is_long] if self.pause is None else self.pause
        self.senders = Senders(trial, self.connect, self.batch, pause=pause, requests=REQUESTS_EACH)
        self.goes_on("nothing is broken yet")

    @property
    def brokers(self) -> Brokers:
        assert isinstance(self.queue, Brokers)
        return self.queue

    def settings(self, node: str) -> str:
        queue = self.queue
        return queue.settings(node, CLUSTER, MAX_BYTES) if isinstance(queue, Brokers) else queue.settings(node, CLUSTER)

    @property
    def living(self) -> list[Member]:
        return [member for member in self.members if member.gateway is not None]

    def connect(self) -> Device:
        """To one gateway after the other, as through a balancer."""
        living = self.living
        if not living:
            raise ConnectionLost("no gateway is there")
        return living[next(self.turns) % len(living)].connect()

    def goes_on(self, what: str, within: float | None = None) -> None:
        if not self.senders.go_on(what, within or self.goes_on_within):
            for member in self.living:
                self.trial.say("\n".join([member.node, *map(str, list(member.running.events())[-8:])]))

    def wait_for(self, holds: Callable[[], object], within: float, what: str) -> bool:
        """Waits until a gateway's status or the journal shows it. Too late is a complaint."""
        return self.trial.expect(look_until(holds, within, pause=0.1), f"after {within:.0f} s: {what}")

    def post(self, member: Member) -> int | None:
        """One request to this gateway alone."""
        return self.senders.post_once(member.connect)

    def each_goes_on(self, what: str, within: float | None = None) -> float:
        """Waits until each gateway accepts logs; the senders would find one that does. Returns the seconds."""
        began, within = time.monotonic(), within or self.goes_on_within
        for member in self.living:
            left = max(1, began + within - time.monotonic())
            self.wait_for(lambda: self.post(member) == 200, left, f"{member.node} accepts no logs: {what}")
        self.goes_on(what, within)
        return time.monotonic() - began

    def settle(self, within: float) -> None:
        """Waits until no shard is left of those that gateways have lost."""
        self.wait_for(self.is_settled, within, "there are other shards than those of the gateways")

    def is_settled(self) -> bool:
        return all(member.fleet()["cluster_shards"] == len(self.members) for member in self.members)

    # Shards of gateways that are gone.

    def absorptions(self) -> int:
        return sum(member.fleet()["absorptions"] for member in self.living)

    def adoptions(self) -> int:
        return sum(member.fleet()["adoptions"] for member in self.living)

    @contextlib.contextmanager
    def without(self, member: Member) -> Iterator[None]:
        """The senders and the checks leave this gateway alone for the length of the block."""
        gateway, member.gateway = member.running, None
        try:
            yield
        finally:
            member.gateway = gateway

    def others_empty(self, what: str, began: float, before: int, within: float = ADOPTED_WITHIN) -> None:
        """Waits until the others have absorbed a shard that was lost at `began`, after `before` absorptions."""
        late = f"{what}: its shard is not absorbed"
        if self.wait_for(lambda: self.absorptions() > before, began + within - time.monotonic(), late):
            self.trial.say(f"{what}: its shard was emptied and absorbed after {time.monotonic() - began:.1f} s")

    def begins_another(self, member: Member, before: set[str], what: str, within: float | None = None) -> None:
        """A gateway whose shards were taken begins a shard with another name."""
        self.wait_for(lambda: member.shards() - before, within or self.goes_on_within, f"{what} has no new shard")
        taken = member.shards() & before
        self.trial.expect(not taken, f"{what} still has {taken}, which others have absorbed")

    # The verdict.

    def end(self) -> None:
        self.senders.end()
        sums: Counter[str] = Counter()

        def is_empty() -> bool:
            sums.clear()
            for member in self.members:
                whole = member.ledger()
                self.trial.expect(whole["closed"], f"the ledger of {member.node} is open: {whole}")
                sums.update(whole["ledger"])
            return sums["queued"] == 0 and self.is_settled()

        look_until(is_empty, EMPTY_WITHIN, pause=0.2)
        self.trial.expect(sums["queued"] == 0, f"after {EMPTY_WITHIN} s the cluster is not empty: {dict(sums)}")
        arrived, answered = self.senders.judge(self.sandbox), len(self.senders.promises.answered)
        # A log that was accepted although its device was told otherwise was sent twice by the device.
        accepted, delivered = sums["accepted"], sums["delivered"]
        self.trial.expect(
            accepted == delivered + sums["expired"] + sums["discarded"] + sums["dead"] and accepted >= answered,
            f"the cluster's ledger does not fit {answered} answered logs: {dict(sums)}",
        )
        twice = arrived.count - delivered
        self.trial.expect(twice >= 0, f"{delivered} logs count as delivered, and {arrived.count} arrived")
        if self.exactly_once:
            self.trial.expect(twice == 0, f"{twice} logs were stored twice in spite of exactly_once")
        late = sum(member.fleet()["late_acknowledgements"] for member in self.members)
        events = "".join(f"{count} {name}, " for name, count in sorted(self.counts.items()))
        longest, refused = self.senders.longest, self.senders.refused
        self.trial.say(f"{events}longest wait for answers {longest:.1f} s, {refused} requests refused")
        told = f"{answered} logs answered, {accepted} accepted, {arrived.count} arrived, {twice} of them twice"
        self.trial.say(f"{told}, {late} late acknowledgements, {arrived.kept_aside} with their own time kept aside")
        for member in self.members:
            member.kill(loses_disk=True)
        self.sandbox.kill()

"""A damaged queue never delivers altered logs: readable logs arrive, unreadable ones are counted, and new logs are
accepted."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from random import Random

from harness.gateway import Gateway
from harness.http import status_of
from harness.sandbox import Sandbox
from harness.waiting import wait_until
from proof.clients.device import Device
from proof.clients.promised_logs import PromisedLogs
from proof.faults.file_damage import Damage
from proof.queues.prepared import SETTINGS, PreparedQueue, prepare
from proof.trial import Case, Trial

# How many bit flips small tables get; random damage would hardly hit them.
FLIPS = {"streams": 3, "packets": 2, "dead": 2}


def check(trial: Trial) -> None:
    sandbox = trial.sandbox()
    promises, queues = prepare(trial, sandbox)
    tally = Tally()
    for table, page in queues[1].first_pages.items():
        zero = lambda damage: damage.zero_first_page(table, page)
        flip = lambda damage: damage.flip_in_first_page(table, page)
        DamageCase(trial, sandbox, promises, queues[1], table).run(tally, zero)
        for number in range(FLIPS.get(table, 0) * (10 if trial.is_long else 1)):
            DamageCase(trial, sandbox, promises, queues[1], f"{table} {number}").run(tally, flip)
    for number in range(15 if trial.is_long else 3):
        DamageCase(trial, sandbox, promises, queues[2], f"cut {number}").run(tally, Damage.cut_off)
    for number in range(200 if trial.is_long else 4):
        queue = queues[number % 2 * 2]
        DamageCase(trial, sandbox, promises, queue, f"both {number}").run(tally, Damage.cut_and_damage)
    for number in range(40 if trial.is_long else 2):
        queue = queues[number % 2 * 2]
        DamageCase(trial, sandbox, promises, queue, f"head {number}").run(tally, Damage.flip_head)
    for number in range(500 if trial.is_long else 12):
        queue = Random(f"base/{trial.seed}/{number}").choice(queues)
        DamageCase(trial, sandbox, promises, queue, number).run(tally, Damage.anywhere)
    for where, cases in tally.silent.items():
        trial.expect(
            not cases, f"losses from damage in {where} are miscounted in {len(cases)} cases: {'; '.join(cases[:2])}"
        )
    trial.say(", ".join(f"{count} {what}" for what, count in tally.counts.items()))


class Tally:
    """Totals over all cases, and the cases whose losses were not counted exactly, by the damaged file."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.silent: dict[str, list[str]] = {"the WAL": [], "the database": []}


class DamageCase(Case):
    """One damaged copy of a queue, one start, and the comparison."""

    def __init__(
        self, trial: Trial, sandbox: Sandbox, promises: PromisedLogs, queue: PreparedQueue, name: object
    ) -> None:
        self.trial, self.sandbox, self.promises, self.queue = trial, sandbox, promises, queue
        self.random = Random(f"{trial.seed}/{name}")
        self.name = f"case {name}, {queue.name}"
        self.data = trial.work / f"case-{name}".replace(" ", "-")
        shutil.copytree(queue.data, self.data)

    def run(self, tally: Tally, harm: Callable[[Damage], object]) -> None:
        self.sandbox.control("DELETE", "/logs")
        self.damage = Damage(self.random, self.data)
        harm(self.damage)
        self.name += f", {'; '.join(self.damage.said)}"
        tally.counts["cases"] += 1
        gateway = None
        try:
            gateway = self.trial.gateway(self.sandbox, settings=SETTINGS, data=self.data)
            self.check(gateway, tally)
        except Exception as error:
            tally.counts["failed"] += 1
            self.wrong(f"{type(error).__name__}: {error}")
        finally:
            if gateway:
                gateway.kill()
            shutil.rmtree(self.data, ignore_errors=True)

    def check(self, gateway: Gateway, tally: Tally) -> None:
        new = PromisedLogs(self.random)
        new.next = self.promises.next + 1_000_000
        device = Device(gateway.devices)
        for _ in range(3):
            # While the gateway rebuilds the queue it refuses logs, and devices retry.
            wait_until(lambda: new.post(device, new.logs(3)) == 200, what="new logs are refused")
        gateway.drain(20)
        wait_until(lambda: replay_dead_letters(gateway), what="dead letters cannot be replayed")
        document = gateway.drain(20)
        ledger = document["ledger"]
        arrived = new.arrived(self.sandbox)
        lost = self.queue.queued - arrived.names
        self.expect(document["closed"], f"the ledger is not closed: {document}")
        self.expect(not ledger["queued"], f"logs stay in the queue: {document}")
        self.expect(not arrived.altered, f"{len(arrived.altered)} logs are altered: {json.dumps(arrived.altered[:1])}")
        self.expect(not new.answered - arrived.names, f"{len(new.answered - arrived.names)} new logs are lost")
        sent = arrived.names - self.queue.queued - self.queue.delivered
        self.expect(
            sent <= new.answered | new.unanswered,
            f"arrived without having been sent: {list(sent - new.answered - new.unanswered)[:3]}",
        )
        self.count(tally, gateway, ledger, lost, len(sent))

    def count(self, tally: Tally, gateway: Gateway, ledger: dict[str, int], lost: set[str], new: int) -> None:
        # A damaged dead letter stays one: it is listed as damaged and cannot be replayed.
        counted = ledger["discarded"] + ledger["expired"] + ledger["dead"]
        salvages = int(gateway.metric("sluice_queue_salvages_total"))
        tally.counts.update(
            {"rebuilt": salvages, "logs": len(self.queue.queued), "lost": len(lost), "of them counted": counted}
        )
        accepted = len(self.queue.delivered) + len(self.queue.queued) + new
        ledger_places = [place for place in (self.queue.ledger_frame, self.queue.frame_before) if place]
        if self.damage.pages & self.queue.ledger_pages or any(
            start < place.stop and end > place.start for start, end in self.damage.wal for place in ledger_places
        ):
            tally.counts["without the ledger's page"] += 1
            self.expect(len(lost) >= counted, f"{len(lost)} logs are lost, {counted} are counted: {ledger}")
            # The rows themselves are on other pages.
            only = self.damage.pages == {self.queue.first_pages["ledger"]} and not self.damage.wal
            self.expect(
                not only or not lost, f"{len(lost)} logs are lost though only the ledger's page is damaged: {ledger}"
            )
            if self.damage.wal and not self.damage.pages:
                self.check_logs_before_damage(tally, ledger, lost, 0)
        elif self.damage.is_cut or any(end > self.queue.last_commit for _, end in self.damage.wal):
            tally.counts["without the WAL's end"] += 1
            # Nothing on the disk tells how long the WAL was. Its content before the damage must survive.
            self.expect(len(lost) >= counted, f"{len(lost)} logs are lost, {counted} are counted: {ledger}")
            self.check_logs_before_damage(tally, ledger, lost, counted if self.damage.pages else 0)
        else:
            told = (ledger["accepted"], counted) == (accepted, len(lost))
            where = "the WAL" if self.damage.wal else "the database"
            if not told:
                tally.silent[where].append(f"{self.name}: of {accepted} logs {len(lost)} are lost: {ledger}")

    def check_logs_before_damage(self, tally: Tally, ledger: dict[str, int], lost: set[str], allowed: int) -> None:
        """Logs that were stored before the damaged place in the WAL must survive."""
        whole = self.queue.names_before(min(begin for begin, _ in self.damage.wal))
        tally.counts["of them before the damage"] += len(whole)
        what = f"{self.name}: of {len(whole)} logs from before the damaged place in the WAL ({ledger}) are lost"
        self.trial.at_most(what, len(lost & whole), allowed, "logs")


def replay_dead_letters(gateway: Gateway) -> bool:
    status = status_of(gateway.admin, "/admin/dead-letters/replay?all=true", method="POST", token=gateway.token)
    if status not in (200, 503):
        raise OSError(f"a replay is answered with {status}")
    return status == 200

"""The disk of one broker of a cluster becomes full, then the disks of all: without room on a majority no log is
accepted, and what was answered is delivered."""

import contextlib
import pathlib
import time
from collections.abc import Sequence

from harness.queues import Brokers
from proof.faults.machine import SmallDisk, fill
from proof.scenarios.cluster.session import Session
from proof.trial import Trial

BROKERS = 3
MEBIBYTES = 192
ROUNDS = 3
# Seconds until the devices of all gateways are refused, and in which they stay refused.
REFUSED_WITHIN, REFUSED_FOR = 30, 5
# What a broker without room writes into its log.
DISABLED = b"resources, will be DISABLED"
GOES_ON_WITHIN = 60


def check(trial: Trial) -> None:
    disks = []
    with contextlib.ExitStack() as mounted:
        for number in range(1, BROKERS + 1):
            directory = trial.work / f"broker-n{number}"
            directory.mkdir()
            disks.append(mounted.enter_context(SmallDisk(directory / "store", MEBIBYTES)))
        # The programs end before their disks are unmounted.
        mounted.callback(trial.programs.end)
        session = FullCluster(trial, disks)
        for _ in range(ROUNDS if trial.is_long else 1):
            session.fill_one()
            session.fill_all()
        session.end()


class FullCluster(Session):
    def __init__(self, trial: Trial, disks: list[SmallDisk]) -> None:
        self.disks = disks
        # How long the brokers' logs were before their disks were filled.
        self.log_sizes: dict[int, int] = {}
        super().__init__(trial, Brokers(trial.work, trial.programs), trial.random.random() < 0.5)

    def fill_one(self) -> None:
        """The others are a majority. When there is room again, the broker is restarted, as an operator does it."""
        number = self.trial.random.randrange(BROKERS)
        self.counts["disks filled"] += 1
        self.fill_disks([number])
        self.expect_disabled([number])
        took = self.each_goes_on("a broker's disk is full", GOES_ON_WITHIN)
        self.make_room([number])
        again = self.each_goes_on("a broker has room again", GOES_ON_WITHIN)
        self.settle(GOES_ON_WITHIN)
        self.trial.say(f"a broker's disk full: gateways accept logs after {took:.1f} s, with room after {again:.1f} s")

    def fill_all(self) -> None:
        """Nothing is accepted. With room again all goes on."""
        self.counts["times all disks filled"] += 1
        self.fill_disks(self.trial.random.sample(range(BROKERS), BROKERS))
        began = time.monotonic()
        refused = lambda: all(self.post(member) == 503 for member in self.members)
        self.wait_for(refused, REFUSED_WITHIN, "with all disks full not all gateways answer 503")
        took, before = time.monotonic() - began, self.senders.answered
        answers: set[int | None] = set()
        while time.monotonic() < began + took + REFUSED_FOR:
            answers |= {self.post(member) for member in self.members}
            time.sleep(0.1)
        self.trial.expect(answers == {503}, f"with all disks full devices get {answers}")
        self.trial.expect(self.senders.answered == before, "a request was answered with 200 with all disks full")
        states = {f"{status['admission']}: {status['problem']}" for status in (m.status() for m in self.members)}
        self.trial.say(f"all disks full: all refuse after {took:.1f} s; {'; '.join(sorted(states))}")
        self.expect_disabled(range(BROKERS))
        self.make_room(range(BROKERS))
        again = self.each_goes_on("all brokers have room again", GOES_ON_WITHIN)
        self.settle(GOES_ON_WITHIN)
        self.trial.say(f"all gateways accept logs {again:.1f} s after there is room")

    def fill_disks(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self.log_sizes[number] = self.log_of(number).stat().st_size
            fill(self.others_file(number))

    def expect_disabled(self, numbers: Sequence[int]) -> None:
        """The fault is real: each of these brokers notices it, and then has no streams until it is restarted."""
        for number in numbers:
            said = lambda: DISABLED in self.log_of(number).read_bytes()[self.log_sizes[number] :]
            self.wait_for(said, REFUSED_WITHIN, f"the log of {self.brokers.all[number].name} does not say {DISABLED!r}")

    def log_of(self, number: int) -> pathlib.Path:
        return self.brokers.all[number].directory / "log"

    def others_file(self, number: int) -> pathlib.Path:
        return self.disks[number].directory / "others"

    def make_room(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self.others_file(number).unlink()
        for number in numbers:
            broker = self.brokers.all[number]
            broker.kill()
            broker.start()

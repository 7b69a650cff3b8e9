"""The clocks of a cluster's gateways jump by hours, each in another direction: no gateway loses its shard for it, a dead one
is still noticed, and no answered log is lost."""

import time

from harness.brokers import Brokers
from harness.program import Host, Program
from proof.faults import fake_clock
from proof.faults.fake_clock import FakedClock
from proof.scenarios.cluster.kills import KilledCluster
from proof.scenarios.cluster.session import GATEWAYS
from proof.trial import Trial, Unavailable

HOUR = 3600
# Jumps for each gateway; the last one has the right time.
FIRST = [5 * HOUR, -9 * HOUR, 0]
ROUNDS = 4
# Seconds after a jump, more than the 12 after which a silent gateway is taken for dead.
WATCHED_FOR = 16


def check(trial: Trial) -> None:
    try:
        clocks = [FakedClock(trial.work, f"clock-{number}") for number in range(GATEWAYS)]
    except Unavailable as error:
        return trial.skip("cluster_clocks", str(error))
    brokers = Brokers(trial.work, trial.programs)
    try:
        session = JumpingCluster(trial, brokers, clocks)
        session.jump(FIRST)
        session.jump([0] * GATEWAYS)
        for _ in range(ROUNDS if trial.is_long else 0):
            session.jump([trial.random.choice([-1, 1]) * trial.random.randint(1, 40) * HOUR for _ in clocks])
            session.crash()
            session.lose_machine()
            session.jump([trial.random.choice([-HOUR, 0, HOUR]) for _ in clocks])
        session.end()
    finally:
        for program in trial.programs.started:
            program.kill()
            if isinstance(program, Program):
                fake_clock.forget(program.process.pid)


class JumpingCluster(KilledCluster):
    """Each gateway has a clock of its own."""

    def __init__(self, trial: Trial, brokers: Brokers, clocks: list[FakedClock]) -> None:
        self.clocks = clocks
        super().__init__(
            trial,
            brokers,
            # In the long form packets are sent again, and a rewritten time then gives them other numbers.
            not trial.is_long,
            [Host({"environment": clock.environment, "before": ["env"]}) for clock in clocks],
        )
        self.senders.promises.may_keep_time_aside = True

    def jump(self, offsets: list[int]) -> None:
        """Sets all clocks at one moment, as so many seconds ahead of this machine's. All gateways keep their shards."""
        before = {member.node: member.home() for member in self.members}
        moves = sum(member.fleet()["losses"] + member.fleet()["adoptions"] for member in self.members)
        self.counts["clock jumps"] += sum(clock.offset != offset for clock, offset in zip(self.clocks, offsets))
        for clock, offset in zip(self.clocks, offsets):
            clock.shift(offset)
        what = f"clocks are ahead by {', '.join(f'{offset / HOUR:g} h' for offset in offsets)}"
        began = time.monotonic()
        self.each_goes_on(what)
        time.sleep(max(0, began + WATCHED_FOR - time.monotonic()))
        after = {member.node: member.home() for member in self.members}
        self.trial.expect(after == before, f"{what}: the home shards were {before}, and are {after}")
        moved = sum(member.fleet()["losses"] + member.fleet()["adoptions"] for member in self.members) - moves
        self.trial.expect(moved == 0, f"{what}: {moved} shards were lost or adopted")
        alive = [sum(other["alive"] for other in member.fleet()["other_gateways"]) for member in self.members]
        self.trial.expect(alive == [GATEWAYS - 1] * GATEWAYS, f"{what}: the gateways see {alive} others that live")

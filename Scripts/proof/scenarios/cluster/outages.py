"""Gateways of one cluster lose their machines, hang and stop, brokers die, and no answered log is lost: the others
deliver what a dead gateway had."""

import contextlib
import pathlib
import signal
import time
from collections.abc import Sequence

from harness.program import Host
from harness.queues import PROGRAMS, Brokers, Database
from proof.faults.machine import FakedClock, SmallDisk, end_faked, fill
from proof.scenarios.cluster.session import ADOPTED_WITHIN, CLUSTER, GATEWAYS, Session
from proof.trial import Trial

# The long form kills gateways and brokers so often in one session, and compares every log at its end.
KILLS_LEAST = 100
ROUNDS = 10
# Rounds of a second session, without exactly_once, and of one in a database.
MORE_ROUNDS, DATABASE_ROUNDS = 2, 4
# Crashes that follow one another in a round.
CRASHES = {False: 1, True: 3}
# Seconds between the deaths of two gateways: the second one is about to adopt the first one's shard, or has it.
HEIR_LIVES = 11, 17
GATEWAYS_KILLED, BROKERS_KILLED = "gateways killed", "brokers killed"
# Seconds until a home shard that cannot be written is replaced.
REPLACED_WITHIN = 120
# Gateways of the largest session, for how many seconds two brokers are away, and how soon all go on afterwards.
CROWD, AWAY_FOR, AWAY_GOES_ON_WITHIN = 12, 120, 90
# Seconds until a broker that leaves leads nothing.
LEAVES_WITHIN = 30
# Seconds for which a gateway goes on standing still after it has lost its shard, once in a session of the long form.
STANDS_STILL_FOR = 150


def check(trial: Trial) -> None:
    exactly_once = trial.is_long or trial.random.random() < 0.5
    break_brokers(trial, exactly_once, ROUNDS if trial.is_long else 1, KILLS_LEAST if trial.is_long else 0)
    if trial.is_long:
        break_brokers(trial, False, MORE_ROUNDS)
        break_crowd(trial)
        break_gateways(trial)


class KilledCluster(Session):
    def lose_machine(self) -> None:
        """A gateway dies for good. The others deliver what it had; later another one takes its place."""
        member = self.trial.random.choice(self.members)
        member.kill(loses_disk=True)
        began, before, adopted = time.monotonic(), self.absorptions(), self.adoptions()
        self.counts[GATEWAYS_KILLED] += 1
        self.goes_on("a gateway is lost")
        self.others_empty("a gateway lost with its disk", began, before)
        heirs = self.adoptions() - adopted
        self.trial.expect(heirs == 1, f"a gateway was lost, and {heirs} others have adopted its shard")
        member.start()
        self.goes_on("a new gateway has come")

    def lose_heir(self) -> None:
        """A gateway dies for good, then its heir while it adopts. The last one delivers what both had."""
        first, second, last = self.trial.random.sample(self.members, 3)
        first.kill(loses_disk=True)
        time.sleep(self.trial.random.uniform(*HEIR_LIVES))
        second.kill(loses_disk=True)
        began = time.monotonic()
        self.counts[GATEWAYS_KILLED] += 2
        self.goes_on("two gateways are lost")
        late = "the last gateway has not absorbed the shards of two others"
        if self.wait_for(lambda: last.fleet()["cluster_shards"] == 1, ADOPTED_WITHIN, late):
            self.trial.say(f"two gateways lost: emptied and absorbed {time.monotonic() - began:.1f} s after the second")
        for member in (first, second):
            member.start()
        self.goes_on("two new gateways have come")

    def crash(self) -> None:
        member = self.trial.random.choice(self.members)
        home = member.home()
        member.kill(loses_disk=self.trial.random.random() < 0.5)
        self.counts[GATEWAYS_KILLED] += 1
        member.start()
        self.goes_on("a gateway has come back")
        self.trial.expect(member.home() == home, "a gateway that came back at once has another home shard")

    def wedge(self) -> None:
        """The stream of one gateway alone takes nothing. Balancers are told, another shard takes its place, and the old
        one is emptied when it works again."""
        member = self.trial.random.choice(self.members)
        home, before = member.home(), self.absorptions()
        self.counts["streams that refuse"] += 1
        with self.brokers.refusing(home, CLUSTER):
            for status, what in ((503, "does not fail"), (200, "goes on to fail")):
                told = f"/healthz of {member.node} {what}"
                self.wait_for(lambda: member.ask_devices("/healthz") == status, REPLACED_WITHIN, told)
            self.trial.expect(member.home() != home, f"{member.node} keeps its wedged shard")
            self.each_goes_on("a gateway has begun another shard")
            self.trial.expect(home in member.shards("adopted"), f"{member.node} does not have its former shard")
        self.wait_for(lambda: self.absorptions() > before, ADOPTED_WITHIN, "a shard that works again is not absorbed")

    def upgrade_brokers(self) -> None:
        for broker in self.brokers.all:
            broker.leave()
            self.wait_for(lambda: not self.brokers.leads(broker), LEAVES_WITHIN, f"{broker.name} leads a stream yet")
            self.goes_on("a broker leaves")
            broker.kill()
            broker.start()
            broker.wait()
            self.counts["brokers upgraded"] += 1
            self.goes_on("a broker that left is back")

    def upgrade(self) -> None:
        for member in self.members:
            member.stop()
            self.counts["stops"] += 1
            member.start()
        self.goes_on("all gateways were stopped and started")

    def hang(self, seconds_more: float = 0) -> None:
        """A gateway stands still for longer than the others wait, wakes, and finds its shards taken."""
        member = self.trial.random.choice(self.members)
        gateway, shards = member.running, member.shards()
        gateway.signal(signal.SIGSTOP)
        with self.without(member):
            began, before = time.monotonic(), self.absorptions()
            self.counts["hangs"] += 1
            self.others_empty("a gateway that hangs", began, before)
            time.sleep(seconds_more)
        gateway.signal(signal.SIGCONT)
        self.begins_another(member, shards, "a gateway that hung")
        self.goes_on("a gateway that hung goes on")

    def kill_brokers(self, count: int) -> None:
        self.counts[BROKERS_KILLED] += count
        self.brokers.kill_some(self.trial.random, count, 3, self.goes_on)

    def freeze_broker(self) -> None:
        """A broker stands still, and all its connections stay."""
        broker = self.trial.random.choice(self.brokers.all)
        broker.signal(signal.SIGSTOP)
        self.counts["brokers frozen"] += 1
        self.each_goes_on("a broker stands still")
        broker.signal(signal.SIGCONT)
        self.each_goes_on("a broker that stood still goes on")

    def lose_quorum(self, seconds: float) -> None:
        """Two brokers are away. Nothing is answered with 200 meanwhile, and afterwards each gateway has its shard."""
        homes = {member.node: member.home() for member in self.members}
        chosen = self.trial.random.sample(self.brokers.all, 2)
        for broker in chosen:
            broker.kill()
        self.counts[BROKERS_KILLED] += 2
        # What was confirmed before is answered.
        time.sleep(1)
        answered = self.senders.answered
        time.sleep(seconds)
        more = self.senders.answered - answered
        self.trial.expect(more == 0, f"{more} requests were answered with 200 without a quorum")
        for broker in chosen:
            broker.start()
            broker.wait()
        what = f"two brokers were away for {seconds:.0f} s"
        self.each_goes_on(what, AWAY_GOES_ON_WITHIN)
        found = {member.node: member.home() for member in self.members}
        self.trial.expect(found == homes, f"{what}: the home shards were {homes}, and are {found}")

    def kill_both(self) -> None:
        member, broker = self.trial.random.choice(self.members), self.trial.random.choice(self.brokers.all)
        broker.kill()
        member.kill(loses_disk=True)
        self.counts[GATEWAYS_KILLED] += 1
        self.counts[BROKERS_KILLED] += 1
        self.goes_on("a gateway and a broker are lost")
        broker.start()
        member.start()
        self.goes_on("a gateway and a broker are back")

    @property
    def kills(self) -> int:
        return self.counts[GATEWAYS_KILLED] + self.counts[BROKERS_KILLED]


def break_brokers(trial: Trial, exactly_once: bool, rounds: int, kills_least: int = 0) -> None:
    brokers = Brokers(trial.work, trial.programs)
    session = KilledCluster(trial, brokers, exactly_once)
    for number in range(1, rounds + 1):
        session.lose_machine()
        for _ in range(CRASHES[trial.is_long]):
            session.crash()
        session.kill_brokers(1)
        session.hang(STANDS_STILL_FOR if trial.is_long and number == 1 else 0)
        session.kill_both()
        session.upgrade()
        session.upgrade_brokers()
        session.kill_brokers(2)
        if trial.is_long:
            session.lose_heir()
            if number == 1:
                session.wedge()
            trial.say(f"round {number} of {rounds}: {session.kills} kills")
    session.end()
    trial.say(f"{session.kills} kills of gateways and brokers")
    trial.expect(session.kills >= kills_least, f"{session.kills} kills, and {kills_least} are wanted")
    brokers.kill()


class Crowd(KilledCluster):
    pause = 0.3


def break_crowd(trial: Trial) -> None:
    """So many gateways that most of their lists have only the shards whose owners are silent."""
    brokers = Brokers(trial.work, trial.programs)
    session = Crowd(trial, brokers, False, hosts=[Host()] * CROWD)
    session.lose_machine()
    session.freeze_broker()
    session.kill_brokers(1)
    session.crash()
    session.lose_quorum(AWAY_FOR)
    session.lose_machine()
    session.end()
    trial.say(f"{CROWD} gateways, {session.kills} kills of gateways and brokers")
    brokers.kill()


def break_gateways(trial: Trial) -> None:
    """With PostgreSQL gateways are broken; `Scripts/prove database` breaks the servers."""
    if not (PROGRAMS / "initdb").exists():
        return trial.skip("cluster in a database", "PostgreSQL is not installed")
    database = Database(trial.programs)
    session = KilledCluster(trial, database, exactly_once=True)
    for _ in range(DATABASE_ROUNDS):
        session.lose_machine()
        for _ in range(CRASHES[True]):
            session.crash()
        session.hang()
        session.upgrade()
        session.lose_heir()
    session.end()
    trial.say(f"{session.kills} kills of gateways in a database")
    database.kill()


HOUR = 3600
# Jumps for each gateway; the last one has the right time.
FIRST = [5 * HOUR, -9 * HOUR, 0]
CLOCK_ROUNDS = 4
# Seconds after a jump, more than the 12 after which a silent gateway is taken for dead.
WATCHED_FOR = 16


def check_clocks(trial: Trial) -> None:
    """The clocks of a cluster's gateways jump by hours, each in another direction: no gateway loses its shard for it, a
    dead one is still noticed, and no answered log is lost."""
    clocks = [FakedClock(trial.work, f"clock-{number}") for number in range(GATEWAYS)]
    brokers = Brokers(trial.work, trial.programs)
    try:
        session = JumpingCluster(trial, brokers, clocks)
        session.jump(FIRST)
        session.jump([0] * GATEWAYS)
        for _ in range(CLOCK_ROUNDS if trial.is_long else 0):
            session.jump([trial.random.choice([-1, 1]) * trial.random.randint(1, 40) * HOUR for _ in clocks])
            session.crash()
            session.lose_machine()
            session.jump([trial.random.choice([-HOUR, 0, HOUR]) for _ in clocks])
        session.end()
    finally:
        end_faked(trial.programs.started)


class JumpingCluster(KilledCluster):
    def __init__(self, trial: Trial, brokers: Brokers, clocks: list[FakedClock]) -> None:
        self.clocks = clocks
        hosts = [Host({"environment": clock.environment, "before": ["env"]}) for clock in clocks]
        # In the long form packets are sent again, and a rewritten time then gives them other numbers.
        super().__init__(trial, brokers, exactly_once=not trial.is_long, hosts=hosts)
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


BROKERS = 3
MEBIBYTES = 192
DISK_ROUNDS = 3
# Seconds until the devices of all gateways are refused, and in which they stay refused.
REFUSED_WITHIN, REFUSED_FOR = 30, 5
# What a broker without room writes into its log.
DISABLED = b"resources, will be DISABLED"


def check_disks(trial: Trial) -> None:
    """The disk of one broker of a cluster becomes full, then the disks of all: without room on a majority no log is
    accepted, and what was answered is delivered."""
    disks = []
    with contextlib.ExitStack() as mounted:
        for number in range(1, BROKERS + 1):
            directory = trial.work / f"broker-n{number}"
            directory.mkdir()
            disks.append(mounted.enter_context(SmallDisk(directory / "store", MEBIBYTES)))
        # The programs end before their disks are unmounted.
        mounted.callback(trial.programs.end)
        session = FullCluster(trial, disks)
        for _ in range(DISK_ROUNDS if trial.is_long else 1):
            session.fill_one()
            session.fill_all()
        session.end()


class FullCluster(Session):
    goes_on_within = 60

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
        took = self.each_goes_on("a broker's disk is full")
        self.make_room([number])
        again = self.each_goes_on("a broker has room again")
        self.settle(self.goes_on_within)
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
        again = self.each_goes_on("all brokers have room again")
        self.settle(self.goes_on_within)
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

"""A gateway with its queue in JetStream or PostgreSQL, while the servers of its queue and its machine are lost."""

import json
import signal
import time
import urllib.error

from harness.program import Host
from harness.queues import PROGRAMS, Brokers, Database
from harness.waiting import look_until
from proof.scenarios.cluster.session import Session
from proof.scenarios.judge import run_session
from proof.trial import Trial, Unavailable

# Kills of the gateway, each followed by a start on an empty directory.
MOVES = {False: 4, True: 60}
ROUNDS = {False: 1, True: 10}


class LoadedGateway(Session):
    """A gateway under load while the servers of its queue are broken: a cluster of one."""

    # An election takes 4 to 9 seconds, and a request that was refused is sent again.
    goes_on_within, batch, pause = 60, 20, 0.0

    def __init__(self, trial: Trial, queue: Brokers | Database) -> None:
        super().__init__(trial, queue, exactly_once=False, hosts=[Host()])
        (self.member,) = self.members

    def refuses(self, seconds: float, without: str) -> None:
        before = self.senders.answered
        time.sleep(seconds)
        self.trial.expect(self.senders.answered == before, f"a request was answered with 200 without {without}")

    def expect_readiness(self, is_ready: bool, when: str) -> None:
        """Waits until /readyz tells, or no longer tells, that the log cannot be written."""
        told = lambda: not self.reasons() if is_ready else "cannot be written" in self.reasons()
        self.trial.expect(look_until(told, 60, pause=0.1), f"{when} /readyz says {self.reasons()!r}")

    def reasons(self) -> str:
        try:
            text = self.member.running.ask("/readyz")
        except urllib.error.HTTPError as refusal:
            text = refusal.read()
        return "; ".join(json.loads(text)["reasons"])

    def end(self) -> None:
        self.senders.end()
        before = self.member.running.require_drained()
        self.member.kill(loses_disk=True)
        self.member.start()
        after = self.member.ledger()
        self.trial.expect(after == before, f"after the loss of its machine the ledger is {after}, before {before}")
        super().end()


def move(trial: Trial, queue: Brokers | Database) -> None:
    """The judge's session, with a gateway that finds nothing on its disk each time. Gateways without a directory begin
    while the log is read and a base is written. The last part, because a session ends all programs of the trial."""
    counts = run_session(trial, 0, MOVES[trial.is_long], queue.settings("moving", "judge"), moves=True)
    trial.say(f"{counts['kills']} machines lost")


def check_brokers(trial: Trial) -> None:
    """With its queue in JetStream a gateway loses its machine, and brokers die, and no answered log is lost."""
    brokers = Brokers(trial.work, trial.programs)
    loaded = LoadedGateway(trial, brokers)
    for _ in range(ROUNDS[trial.is_long]):
        brokers.kill_some(trial.random, 1, 1, loaded.goes_on)
        brokers.kill_some(trial.random, 2, 1, loaded.goes_on)
        broker = trial.random.choice(brokers.all)
        broker.signal(signal.SIGSTOP)
        loaded.goes_on("one broker hangs")
        broker.signal(signal.SIGCONT)
        loaded.goes_on("a broker that hung goes on")
        for broker in brokers.all[1:]:
            broker.kill()
        # Without a quorum nothing is answered with 200, and the gateway says why.
        loaded.expect_readiness(False, "without a quorum")
        loaded.refuses(1, "a quorum")
        for broker in brokers.all[1:]:
            broker.start()
        loaded.goes_on("the quorum is back")
        loaded.expect_readiness(True, "with a quorum again")
        brokers.kill_some(trial.random, 3, 1, loaded.goes_on)
    loaded.end()
    move(trial, brokers)


def check_database(trial: Trial) -> None:
    """With its queue in PostgreSQL a gateway loses its machine, servers die and fail over, and no answered log is lost."""
    if not (PROGRAMS / "initdb").exists():
        raise Unavailable("PostgreSQL is not installed")
    database = Database(trial.programs)
    loaded = LoadedGateway(trial, database)
    for _ in range(ROUNDS[trial.is_long]):
        for server, name in ((database.standby, "standby"), (database.primary, "primary")):
            server.kill()
            # Commits that were under way may end. Then none is answered.
            time.sleep(0.5)
            loaded.refuses(2, f"the {name}")
            server.start()
            loaded.goes_on(f"the {name} is back")
        database.promote()
        # The second time also by a gateway that has found the new primary by now.
        for _ in range(2):
            time.sleep(0.5)
            loaded.refuses(2, "the new primary's standby")
        database.return_old_primary()
        loaded.goes_on("the standby was promoted, and the old primary follows it")
    former = database.promote_beside()
    loaded.goes_on("the standby was promoted, and the old primary lives on")
    former.remove()
    loaded.end()
    move(trial, database)

"""With its queue in JetStream a gateway loses its machine, and brokers die, and no answered log is lost."""

import json
import signal
import time
import urllib.error

from harness.brokers import Brokers
from harness.gateway import Gateway
from harness.waiting import look_until
from proof.clients.senders import LoadedGateway
from proof.scenarios import judge
from proof.trial import Trial

# Kills of the gateway, each followed by a start on an empty directory.
MOVES = {False: 4, True: 60}
ROUNDS = {False: 1, True: 10}


def check(trial: Trial) -> None:
    brokers = Brokers(trial.work, trial.programs)
    break_brokers(trial, brokers)
    # The last part: a session ends all programs of the trial.
    move(trial, brokers)


def move(trial: Trial, brokers: Brokers) -> None:
    """The judge's session, with a gateway that finds nothing on its disk each time."""
    # Gateways without a directory begin while the log is read and a base is written.
    counts = judge.run_session(trial, 0, MOVES[trial.is_long], brokers.settings("moving", "judge"), moves=True)
    trial.say(f"{counts['kills']} machines lost")


def readiness(gateway: Gateway) -> str:
    """The reasons against traffic; empty: it is ready."""
    try:
        text = gateway.ask("/readyz")
    except urllib.error.HTTPError as refusal:
        text = refusal.read()
    return "; ".join(json.loads(text)["reasons"])


class BrokenBrokers(LoadedGateway):
    """Brokers are broken one after the other."""

    def __init__(self, trial: Trial, brokers: Brokers) -> None:
        self.brokers = brokers
        super().__init__(trial, brokers.settings("steady", "broken"))

    def kill(self, count: int) -> None:
        self.brokers.kill_some(self.trial.random, count, 1, self.goes_on)

    def stop_one(self) -> None:
        broker = self.trial.random.choice(self.brokers.all)
        broker.signal(signal.SIGSTOP)
        self.goes_on("one broker hangs")
        broker.signal(signal.SIGCONT)
        self.goes_on("a broker that hung goes on")

    def lose_quorum(self) -> None:
        """Without a quorum nothing is answered with 200, and the gateway says why."""
        broken = self.brokers.all[1:]
        for broker in broken:
            broker.kill()
        is_told = look_until(lambda: "cannot be written" in readiness(self.gateway), 60, pause=0.1)
        self.trial.expect(is_told, f"without a quorum /readyz says {readiness(self.gateway)!r}")
        before = self.answered
        time.sleep(1)
        self.trial.expect(self.answered == before, "a request was answered with 200 without a quorum")
        for broker in broken:
            broker.start()
        self.goes_on("the quorum is back")
        is_ready = look_until(lambda: not readiness(self.gateway), 60, pause=0.1)
        self.trial.expect(is_ready, f"with a quorum again /readyz says {readiness(self.gateway)!r}")


def break_brokers(trial: Trial, brokers: Brokers) -> None:
    loaded = BrokenBrokers(trial, brokers)
    loaded.goes_on("nothing is broken yet")
    for _ in range(ROUNDS[trial.is_long]):
        loaded.kill(1)
        loaded.kill(2)
        loaded.stop_one()
        loaded.lose_quorum()
        loaded.kill(3)
    loaded.end()

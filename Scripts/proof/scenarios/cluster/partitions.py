"""Gateways and brokers of one cluster are cut off from each other, and devices and SLS still reach all gateways: no answered
log is lost, and none is stored twice with exactly_once."""

import concurrent.futures
import time

from harness.brokers import Broker, Brokers
from harness.calibration import delay
from proof.faults.networks import BACK, OUTSIDE, ROUTES, Machine, Networks
from proof.scenarios.cluster.session import CLUSTER, GATEWAYS, Member, Session
from proof.trial import Trial, Unavailable

BROKERS = 3

ROUNDS = 2
# Seconds after which a gateway that is cut off refuses all new requests, for how long they are tried, and how long each
# may take, on a crowded machine.
REFUSES_WITHIN, REFUSES_FOR, REFUSED_AFTER = 3, 4, 2
# Brokers find each other late: they try again after longer and longer times.
HEALED_WITHIN = 120


def check(trial: Trial) -> None:
    both = [True, False]
    for exactly_once in both if trial.is_long else [trial.random.choice(both)]:
        try:
            networks = trial.remember(Networks(GATEWAYS, BROKERS))
        except Unavailable as error:
            return trial.skip("partitions", f"this machine has no network namespaces for it: {error}")
        with networks.outside.inside():
            divide(trial, networks, exactly_once)
        networks.kill()


class DividedCluster(Session):
    """Gateways and brokers are cut off from each other."""

    def __init__(self, trial: Trial, networks: Networks, exactly_once: bool) -> None:
        self.networks = networks
        super().__init__(
            trial,
            Brokers(trial.work, trial.programs, networks.brokers),
            exactly_once,
            networks.gateways,
            (f"http://{OUTSIDE}:" + "{}").format,
            host="0.0.0.0",
        )

    def cut_gateway(self, *brokers: Broker) -> None:
        """A gateway is cut off, alone or with a minority of brokers. The others adopt its shard; it refuses its devices
        all the time, learns after the heal that the shard is taken, and begins another one."""
        what = f"a gateway that is cut off{' with a broker' if brokers else ''}"
        member = self.trial.random.choice(self.members)
        shards, losses = member.shards(), member.fleet()["losses"]
        cut = [machine_of(member), *(machine_of(broker) for broker in brokers)]
        before, began = self.absorptions(), time.monotonic()
        self.networks.cut(*cut)
        self.counts["gateways cut off" + (" with a broker" if brokers else "")] += 1
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            # A request that was sent before the cut gets its 503 after `commit_wait`, and later ones get it at once.
            first = pool.submit(self.post, member)
            time.sleep(REFUSES_WITHIN * delay())
            self.refuses(member, what)
        self.trial.expect(first.result() == 503, f"{what} answers {first.result()} to its first request")
        self.others_empty(what, began, before)
        self.refuses(member, f"{what}, and has lost its shard")
        self.goes_on(f"without {what}")
        self.networks.heal(*cut)
        self.begins_another(member, shards, what, HEALED_WITHIN)
        self.trial.expect(member.fleet()["losses"] > losses, f"{what} counts no loss of its shard")
        self.trial.say(
            f"{what}: all gateways accept logs {self.each_goes_on('after the heal', HEALED_WITHIN):.1f} s after that"
        )
        self.settle(HEALED_WITHIN)

    def refuses(self, member: Member, what: str) -> None:
        """Each new request to it gets 503 soon."""
        ends, answers, longest = time.monotonic() + REFUSES_FOR, set(), 0.0
        while (began := time.monotonic()) < ends:
            answers.add(self.post(member))
            longest = max(longest, time.monotonic() - began)
            time.sleep(0.05)
        self.trial.expect(answers == {503}, f"{what} answers {answers}")
        self.trial.expect(longest < REFUSED_AFTER * delay(), f"{what} refuses a request after {longest:.1f} s")

    def cut_broker(self, networks: tuple[str, ...] = (BACK, ROUTES)) -> None:
        """The broker that leads a gateway's stream is cut off from the other brokers, and from the gateways unless only
        its routes are cut: then gateways still talk to a leader without a majority."""
        what = "a broker is cut off" if BACK in networks else "a broker is cut off from the others, not from gateways"
        broker = self.brokers.leader_of(self.trial.random.choice(self.members).home(), CLUSTER)
        self.networks.cut(machine_of(broker), networks=networks)
        self.counts["brokers cut off" + ("" if BACK in networks else " from brokers alone")] += 1
        took = self.each_goes_on(what)
        time.sleep(self.trial.random.uniform(0, 10))
        self.networks.heal(machine_of(broker))
        healed = self.each_goes_on(f"{what}, and is back", HEALED_WITHIN)
        self.settle(HEALED_WITHIN)
        self.trial.say(f"{what}: all gateways accept logs after {took:.1f} s, and {healed:.1f} s after the heal")


def divide(trial: Trial, networks: Networks, exactly_once: bool) -> None:
    session = DividedCluster(trial, networks, exactly_once)
    for _ in range(ROUNDS if trial.is_long else 1):
        session.cut_gateway()
        if trial.is_long:
            session.cut_broker()
            session.cut_gateway(trial.random.choice(session.brokers.all))
            session.cut_broker((ROUTES,))
    session.end()
    session.brokers.kill()


def machine_of(program: Member | Broker) -> Machine:
    host = program.host
    assert isinstance(host, Machine)
    return host

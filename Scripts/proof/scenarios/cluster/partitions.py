"""Gateways and brokers of one cluster are cut off from each other, and devices and SLS still reach all gateways: no
answered log is lost, and none is stored twice with exactly_once."""

import concurrent.futures
import contextlib
import ctypes
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence

from harness.measures import delay
from harness.program import Host
from harness.queues import Broker, Brokers
from proof.faults.machine import describe
from proof.scenarios.cluster.session import CLUSTER, GATEWAYS, Member, Session
from proof.trial import Trial, Unavailable

CLONE_NEWNET = 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class Namespace:
    """A network of its own, with a loopback interface."""

    def __init__(self) -> None:
        with own_namespace_kept():
            checked(libc.unshare(CLONE_NEWNET))
            self.descriptor = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        # For programs that take a namespace by its file.
        self.file = f"/proc/{os.getpid()}/fd/{self.descriptor}"
        self.configure("link set lo up")

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Sockets that this thread opens in the block, and programs and threads that it starts, are in this network."""
        with own_namespace_kept():
            checked(libc.setns(self.descriptor, CLONE_NEWNET))
            yield

    def configure(self, *commands: str) -> None:
        with self.inside():
            lines = "\n".join(commands)
            subprocess.run(["ip", "-batch", "-"], input=lines, text=True, check=True, capture_output=True, timeout=30)

    def close(self) -> None:
        os.close(self.descriptor)


@contextlib.contextmanager
def own_namespace_kept() -> Iterator[None]:
    """Brings this thread back to its present network."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield
    finally:
        checked(libc.setns(before, CLONE_NEWNET))
        os.close(before)


# The networks, with the third number of their addresses: devices and SLS, the servers of the queue, and the brokers among
# themselves.
FRONT, BACK, ROUTES = "front", "back", "routes"
NUMBERS = {FRONT: 64, BACK: 65, ROUTES: 66}
# The address of devices and SLS in the front network.
OUTSIDE = "10.99.64.1"


class Machine(Host):
    def __init__(self, number: int, networks: Sequence[str]) -> None:
        super().__init__()
        self.number, self.networks = number, networks
        self.namespace = Namespace()
        self.address, self.route_address = self.address_in(BACK), self.address_in(ROUTES)

    def address_in(self, network: str) -> str:
        return f"10.99.{NUMBERS[network]}.{self.number}"

    def hardware_in(self, network: str) -> str:
        return f"02:00:00:00:{NUMBERS[network]}:{self.number}"

    def inside(self) -> contextlib.AbstractContextManager[None]:
        return self.namespace.inside()


class Networks:
    """Gateways and brokers, each on a machine. Devices and SLS are outside, in the front network. The networks of the
    queue can be divided: a machine that is cut off sees only others that are."""

    def __init__(self, gateways: int, brokers: int) -> None:
        self.open: list[Namespace] = []
        try:
            self.outside = Namespace()
            self.open.append(self.outside)
            self.gateways = [self.machine(10 + number, (FRONT, BACK)) for number in range(gateways)]
            self.brokers = [self.machine(20 + number, (BACK, ROUTES)) for number in range(brokers)]
            self.join()
        except (OSError, subprocess.SubprocessError) as error:
            self.kill()
            raise Unavailable(f"this machine has no network namespaces for it: {describe(error)}") from error

    def machine(self, number: int, networks: Sequence[str]) -> Machine:
        made = Machine(number, networks)
        self.open.append(made.namespace)
        return made

    def join(self) -> None:
        # Each network has two switches: one for those that are cut off.
        switches = [FRONT, *(name for network in (BACK, ROUTES) for name in (network, cut_off(network)))]
        lines = [line for switch in switches for line in (f"link add {switch} type bridge", f"link set {switch} up")]
        self.outside.configure(*lines, f"addr add {OUTSIDE}/24 dev {FRONT}")
        machines = [*self.gateways, *self.brokers]
        for machine in machines:
            for network in machine.networks:
                port, hardware = port_of(machine, network), machine.hardware_in(network)
                self.outside.configure(
                    f"link add {port} type veth peer name {network} address {hardware} netns {machine.namespace.file}",
                    f"link set {port} master {network} up",
                )
                # Known neighbours: otherwise the kernel would soon tell that the other side cannot be reached.
                others = [each for each in machines if each is not machine and network in each.networks]
                known = ((other.address_in(network), other.hardware_in(network)) for other in others)
                neighbours = [f"neigh replace {ip} lladdr {mac} nud permanent dev {network}" for ip, mac in known]
                machine.namespace.configure(
                    f"addr add {machine.address_in(network)}/24 dev {network}", f"link set {network} up", *neighbours
                )

    def cut(self, *machines: Machine, networks: Sequence[str] = (BACK, ROUTES)) -> None:
        """Moves machines to the other side, at one moment for each network."""
        self.outside.configure(*moves(machines, networks, cut_off))

    def heal(self, *machines: Machine) -> None:
        self.outside.configure(*moves(machines, (BACK, ROUTES), lambda network: network))

    def kill(self) -> None:
        """Gives the namespaces up. Programs in them keep them until they end."""
        for namespace in self.open:
            namespace.close()
        self.open = []


def cut_off(network: str) -> str:
    """The switch of those that are cut off in this network."""
    return f"{network}-cut"


def moves(machines: Sequence[Machine], networks: Sequence[str], switch: Callable[[str], str]) -> list[str]:
    ends = ((network, machine) for network in networks for machine in machines if network in machine.networks)
    return [f"link set {port_of(machine, network)} master {switch(network)}" for network, machine in ends]


def port_of(machine: Machine, network: str) -> str:
    return f"{network}{machine.number}"


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
        networks = trial.remember(Networks(GATEWAYS, BROKERS))
        with networks.outside.inside():
            session = DividedCluster(trial, networks, exactly_once)
            for _ in range(ROUNDS if trial.is_long else 1):
                session.cut_gateway()
                if trial.is_long:
                    session.cut_broker()
                    session.cut_gateway(trial.random.choice(session.brokers.all))
                    session.cut_broker((ROUTES,))
            session.end()
            session.brokers.kill()
        networks.kill()


class DividedCluster(Session):
    def __init__(self, trial: Trial, networks: Networks, exactly_once: bool) -> None:
        self.networks = networks
        brokers, endpoint = Brokers(trial.work, trial.programs, networks.brokers), (f"http://{OUTSIDE}:" + "{}").format
        super().__init__(trial, brokers, exactly_once, networks.gateways, endpoint, host="0.0.0.0")

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
        self.trial.say(f"{what}: all accept logs {self.each_goes_on('after the heal', HEALED_WITHIN):.1f} s later")
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


def machine_of(program: Member | Broker) -> Machine:
    host = program.host
    assert isinstance(host, Machine)
    return host

"""Machines in network namespaces, joined by switches that a trial divides. Packets to the other side get lost, and nothing
tells the sender.

The namespaces have no names: the kernel removes each with the last process and descriptor that uses it, also after a
crash of the trial.
"""

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence

from harness.program import Host
from proof.faults.mounts import describe
from proof.trial import Unavailable

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
    """A host with an interface in each of its networks."""

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
            self.outside = self.kept(Namespace())
            self.gateways = [self.machine(10 + number, (FRONT, BACK)) for number in range(gateways)]
            self.brokers = [self.machine(20 + number, (BACK, ROUTES)) for number in range(brokers)]
            self.join()
        except (OSError, subprocess.SubprocessError) as error:
            self.kill()
            raise Unavailable(describe(error)) from error

    def kept(self, namespace: Namespace) -> Namespace:
        self.open.append(namespace)
        return namespace

    def machine(self, number: int, networks: Sequence[str]) -> Machine:
        made = Machine(number, networks)
        self.kept(made.namespace)
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
                neighbours = [
                    f"neigh replace {other.address_in(network)} lladdr {other.hardware_in(network)} nud permanent dev {network}"
                    for other in machines
                    if other is not machine and network in other.networks
                ]
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
    return [
        f"link set {port_of(machine, network)} master {switch(network)}"
        for network in networks
        for machine in machines
        if network in machine.networks
    ]


def port_of(machine: Machine, network: str) -> str:
    """The machine's port at the switch."""
    return f"{network}{machine.number}"

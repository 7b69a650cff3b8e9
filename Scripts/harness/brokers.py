"""Three NATS servers of one cluster, which hold the commit logs of gateways."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import time
from collections.abc import Sequence

from harness.host import Host
from harness.program import Programs
from harness.signals import signals_deferred

SYNC = 'server_tags: ["sync:always"]'


def free_port() -> int:
    """A port that nothing listens to at this moment: the servers' routes must be known before they start."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


class Broker:
    """One server, which keeps its ports and its directory over its lives."""

    def __init__(self, work: pathlib.Path, number: int, host: Host, routes: Sequence[str], programs: Programs) -> None:
        self.name, self.host, self.programs = f"n{number + 1}", host, programs
        self.port = free_port()
        self.directory = work / f"broker-{self.name}"
        self.directory.mkdir(exist_ok=True)
        # A trial may have mounted a disk of its own there.
        self.store = self.directory / "store"
        self.file = self.directory / "nats.conf"
        listed = ", ".join(f"nats://{route}" for route in routes)
        self.file.write_text(
            f"server_name: {self.name}\nlisten: {host.address}:{self.port}\n{SYNC}\n"
            f"jetstream {{ store_dir: {self.store}, max_file_store: 60GB, sync_interval: always }}\n"
            f"cluster {{ name: proof, listen: {routes[number]}, routes: [{listed}] }}\n"
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = self.directory / "log"
        with signals_deferred(), self.host.inside():
            words = [os.environ["NATS_SERVER"], "-c", str(self.file), "-l", str(log)]
            self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.programs.add(self)

    def signal(self, number: int) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def connect(self, seconds: float) -> socket.socket:
        with self.host.inside():
            return socket.create_connection((self.host.address, self.port), seconds)

    def wait(self, seconds: float = 10) -> None:
        """Waits until it takes connections."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), self.connect(1):
                return
            time.sleep(0.02)
        raise TimeoutError(f"broker {self.name} does not listen: {(self.directory / 'log').read_text()[-1000:]}")


class Brokers:
    """A cluster, started at once."""

    def __init__(self, work: pathlib.Path, programs: Programs, hosts: Sequence[Host] = (Host(),) * 3) -> None:
        routes = [f"{host.route_address}:{free_port()}" for host in hosts]
        self.all = [Broker(work, number, host, routes, programs) for number, host in enumerate(hosts)]
        for broker in self.all:
            broker.start()
        for broker in self.all:
            broker.wait()

    def settings(self, node: str, cluster: str = "main", more: str = "") -> str:
        """Lines of a gateway's configuration that put its queue into this cluster."""
        servers = ", ".join(f'"nats://{broker.host.address}:{broker.port}"' for broker in self.all)
        jetstream = f"{{ servers: [{servers}], node: {node}, cluster: {cluster}, replicas: {len(self.all)} }}"
        return f"queue: {{ engine: jetstream, jetstream: {jetstream}{more} }}\n"

    def kill(self) -> None:
        for broker in self.all:
            broker.kill()

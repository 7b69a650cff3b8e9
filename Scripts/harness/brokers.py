"""Three NATS servers of one cluster, which hold the commit logs of gateways."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import time

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

    def __init__(self, work: pathlib.Path, number: int, routes: list[int], programs: Programs) -> None:
        self.name, self.port, self.programs = f"n{number + 1}", free_port(), programs
        self.directory = work / f"broker-{self.name}"
        self.directory.mkdir(exist_ok=True)
        listed = ", ".join(f"nats://127.0.0.1:{route}" for route in routes)
        self.file = self.directory / "nats.conf"
        self.file.write_text(
            f"server_name: {self.name}\nlisten: 127.0.0.1:{self.port}\n{SYNC}\n"
            f"jetstream {{ store_dir: {self.directory}, max_file_store: 60GB, sync_interval: always }}\n"
            f"cluster {{ name: proof, listen: 127.0.0.1:{routes[number]}, routes: [{listed}] }}\n"
        )
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = self.directory / "log"
        with signals_deferred():
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

    def wait(self, seconds: float = 10) -> None:
        """Waits until it takes connections."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.02)
        raise TimeoutError(f"broker {self.name} does not listen: {(self.directory / 'log').read_text()[-1000:]}")


class Brokers:
    """A cluster, started at once."""

    def __init__(self, work: pathlib.Path, programs: Programs, count: int = 3) -> None:
        routes = [free_port() for _ in range(count)]
        self.all = [Broker(work, number, routes, programs) for number in range(count)]
        for broker in self.all:
            broker.start()
        for broker in self.all:
            broker.wait()

    def settings(self, node: str, cluster: str = "main", more: str = "") -> str:
        """Lines of a gateway's configuration that put its queue into this cluster."""
        servers = ", ".join(f'"nats://127.0.0.1:{broker.port}"' for broker in self.all)
        jetstream = f"{{ servers: [{servers}], node: {node}, cluster: {cluster}, replicas: {len(self.all)} }}"
        return f"queue: {{ engine: jetstream, jetstream: {jetstream}{more} }}\n"

    def kill(self) -> None:
        for broker in self.all:
            broker.kill()

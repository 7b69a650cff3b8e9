"""The servers that hold the commit logs of gateways: three NATS servers, or a PostgreSQL server with its standby."""

import contextlib
import json
import os
import pathlib
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from harness.program import Host, Process, Programs, signals_deferred
from harness.waiting import look_until

SYNC = 'server_tags: ["sync:always"]'


# Each ends with this process; Tests/TestSupport/Programs/FreePort.swift uses the same names.
RESERVATIONS: list[socket.socket] = []


def free_port() -> int:
    """A port for a server whose port must be known before it starts, this process's own from now on.

    The kernel gives its ports above these to connections and to servers that ask for any.
    """
    ephemeral = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for _ in range(1000):
        port = 10_000 + secrets.randbelow(ephemeral - 10_000)
        reservation = socket.socket(socket.AF_UNIX)
        try:
            reservation.bind(f"\0sluice-test-port-{port}")
            with socket.socket() as taken:
                taken.bind(("127.0.0.1", port))
        except OSError:
            reservation.close()
            continue
        RESERVATIONS.append(reservation)
        return port
    raise RuntimeError("no port is free")


def stream_of(shard: str, cluster: str) -> str:
    return f"SLUICE_{cluster}_Q_{shard}"


class Broker(Process):
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

    def start(self) -> None:
        log = self.directory / "log"
        with signals_deferred(), self.host.inside():
            words = [os.environ["NATS_SERVER"], "-c", str(self.file), "-l", str(log)]
            self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.programs.add(self)

    def leave(self) -> None:
        """Lets another one lead what it leads, as before an upgrade; it has to be killed afterwards."""
        self.signal(signal.SIGUSR2)

    def connect(self, seconds: float) -> socket.socket:
        with self.host.inside():
            return socket.create_connection((self.host.address, self.port), seconds)

    def ask(self, subject: str, document: object = None, seconds: float = 5) -> dict[str, Any]:
        """The answer to one request, such as one of JetStream's API."""
        inbox = f"_INBOX.{secrets.token_hex(8)}"
        body = b"" if document is None else json.dumps(document).encode()
        head = f'CONNECT {{"verbose": false}}\r\nSUB {inbox} 1\r\nPUB {subject} {inbox} {len(body)}\r\n'
        with self.connect(seconds) as connection, connection.makefile("rwb") as stream:
            stream.write(head.encode() + body + b"\r\n")
            stream.flush()
            while words := stream.readline().split():
                if words[0] == b"MSG":
                    return json.loads(stream.read(int(words[-1])))
                if words[0] == b"PING":
                    stream.write(b"PONG\r\n")
                    stream.flush()
        raise OSError(f"broker {self.name} does not answer {subject}")

    def wait(self) -> None:
        def listens() -> bool:
            with contextlib.suppress(OSError), self.connect(1):
                return True
            return False

        if not look_until(listens, 10):
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

    def leads(self, broker: Broker) -> bool:
        """A stream may be led by this broker, as far as another one knows."""
        other = next(one for one in self.all if one is not broker)
        with contextlib.suppress(OSError):
            # It waits four seconds for a broker that does not answer.
            streams = other.ask("$JS.API.STREAM.LIST", seconds=8).get("streams") or []
            return any(stream["cluster"].get("leader") == broker.name for stream in streams)
        return True

    def leader_of(self, shard: str, cluster: str) -> Broker:
        info = self.all[0].ask(f"$JS.API.STREAM.INFO.{stream_of(shard, cluster)}")
        return next(broker for broker in self.all if broker.name == info["cluster"]["leader"])

    def kill_some(self, random: Random, count: int, longest: float, goes_on: Callable[[str], None]) -> None:
        """Some die and come back: one after the rest goes on, several within the `longest` seconds."""
        chosen = random.sample(self.all, count)
        for broker in chosen:
            broker.kill()
        if count == 1:
            goes_on("a broker is dead")
        else:
            time.sleep(random.uniform(0, longest))
        for broker in chosen:
            broker.start()
        goes_on(f"{count} brokers were killed and are back")

    @contextlib.contextmanager
    def refusing(self, shard: str, cluster: str) -> Iterator[None]:
        """The stream of this shard alone takes no messages for the length of the block."""
        stream = stream_of(shard, cluster)
        info = self.all[0].ask(f"$JS.API.STREAM.INFO.{stream}")

        def limit(size: int) -> None:
            answer = self.all[0].ask(f"$JS.API.STREAM.UPDATE.{stream}", {**info["config"], "max_msg_size": size})
            assert "error" not in answer, answer

        limit(1)
        try:
            yield
        finally:
            limit(info["config"]["max_msg_size"])

    def kill(self) -> None:
        """Ends all and removes what they have but for their logs: others of the same trial begin with nothing."""
        for broker in self.all:
            broker.kill()
            shutil.rmtree(broker.store, ignore_errors=True)


PROGRAMS = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), default=pathlib.Path("/usr/bin"))


class Server(Process):
    """One server, which keeps its port and its directory over its lives."""

    # Ends it and its children, as a crash would.
    ending = signal.SIGQUIT

    def __init__(self, name: str, programs: Programs) -> None:
        self.port, self.programs = free_port(), programs
        # Not below the trial's directory, which is closed to the server's user.
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix=f"sluice-{name}-"))
        # A server refuses to run as root.
        self.user: list[str] = []
        if os.getuid() == 0:
            shutil.chown(self.directory, "postgres", "postgres")
            identity = pwd.getpwnam("postgres")
            self.user = ["setpriv", f"--reuid={identity.pw_uid}", f"--regid={identity.pw_gid}", "--clear-groups"]
        self.data = self.directory / "data"
        # Its commits wait for a standby, also if it was one itself until now.
        self.is_synced = False

    def run(self, *words: object) -> None:
        subprocess.run([*self.user, *map(str, words)], check=True, capture_output=True)

    def start(self) -> None:
        words = [f"{PROGRAMS}/postgres", "-D", str(self.data), "-c", f"port={self.port}"]
        words += ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.directory}"]
        words += ["-c", "shared_buffers=64MB", "-c", "max_wal_size=2GB"]
        words += ["-c", "synchronous_standby_names=*"] if self.is_synced else []
        with signals_deferred(), open(self.directory / "log", "ab") as log:
            self.process = subprocess.Popen([*self.user, *words], stdout=log, stderr=log)
            self.programs.add(self)
        ready = [f"{PROGRAMS}/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        if not look_until(lambda: subprocess.run(ready, check=False).returncode == 0, 30):
            raise TimeoutError((self.directory / "log").read_text()[-1000:])

    def query(self, sql: str) -> str:
        words = f"psql -X -q -A -t -h 127.0.0.1 -p {self.port} -U sluice -d postgres -c".split()
        done = subprocess.run([*words, sql], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


class Database:
    """A primary that confirms no commit without its standby."""

    def __init__(self, programs: Programs) -> None:
        self.primary, self.standby = Server("primary", programs), Server("standby", programs)
        programs.add(self)
        words = ["-A", "trust", "-U", "sluice", "-E", "UTF8", "--locale=C", "--no-sync"]
        self.primary.run(PROGRAMS / "initdb", "-D", self.primary.data, *words)
        self.primary.start()
        self.copy_primary()
        self.primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.primary.query("SELECT pg_reload_conf()")
        self.primary.is_synced = True

    def copy_primary(self) -> None:
        """Makes the standby, which follows the primary from then on."""
        self.standby.is_synced = True
        source = ["-h", "127.0.0.1", "-p", self.primary.port, "-U", "sluice", "--no-sync"]
        self.standby.run(PROGRAMS / "pg_basebackup", "-D", self.standby.data, "-R", "-c", "fast", *source)
        self.standby.start()

    def promote(self) -> None:
        """The primary dies, and the standby takes its place. No commit is confirmed until it has a standby of its own,
        which `return_old_primary` makes of the one that died."""
        self.primary.kill()
        self.standby.query("SELECT pg_promote()")
        self.primary, self.standby = self.standby, self.primary

    def promote_beside(self) -> Server:
        """The standby takes the place of the primary, which lives on, and gets a standby of its own. Returns the former
        primary."""
        self.standby.query("SELECT pg_promote()")
        former, self.primary = self.primary, self.standby
        self.standby = Server("standby", self.primary.programs)
        self.copy_primary()
        return former

    def return_old_primary(self) -> None:
        shutil.rmtree(self.standby.data)
        self.copy_primary()

    def settings(self, node: str, cluster: str = "main") -> str:
        """Lines of a gateway's configuration that put its queue into this database."""
        hosts = ",".join(f"127.0.0.1:{server.port}" for server in (self.primary, self.standby))
        url = f"postgresql://sluice@{hosts}/postgres"
        postgresql = f'{{ url: "{url}", node: {node}, cluster: {cluster} }}'
        return f"queue: {{ engine: postgresql, postgresql: {postgresql} }}\n"

    def kill(self) -> None:
        """Ends both and removes what they have."""
        self.primary.remove()
        self.standby.remove()

"""A PostgreSQL server with a synchronous standby, which holds the commit logs of gateways."""

import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile

from harness.brokers import free_port
from harness.program import Process, Programs
from harness.signals import signals_deferred
from harness.waiting import look_until

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
        command = [*self.user, *(str(word) for word in words)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def start(self) -> None:
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.directory,
            "shared_buffers": "64MB",
            "max_wal_size": "2GB",
        }
        if self.is_synced:
            settings["synchronous_standby_names"] = "*"
        words = [f"{PROGRAMS}/postgres", "-D", str(self.data)]
        for key, value in settings.items():
            words += ["-c", f"{key}={value}"]
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

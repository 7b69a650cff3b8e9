"""A gateway process: its configuration file, its listeners, and the questions that trials ask it."""

import json
import pathlib
import time
from typing import Any, Unpack

from harness.http import ask, port_of
from harness.program import LaunchOptions, Program, numbers
from harness.sandbox import SandboxControl

TOKEN = "prove-admin-token-0123456789abcdef0123456789abcdef"


class NotDrained(Exception):
    """The queue was expected to become empty. Not an OSError, which would look like a broken connection."""


def configuration(
    data: pathlib.Path, destinations: str, settings: str = "", token: str | None = TOKEN, admin: str = ""
) -> str:
    """A configuration whose listeners take free ports. `destinations` and `settings` are lines of YAML, `admin` more
    members of that group."""
    members = [f"token: {token}" if token else "", admin]
    admin = f'admin: {{ listen: "127.0.0.1:0"{"".join(f", {member}" for member in members if member)} }}'
    lines = [
        "listen: 127.0.0.1:0",
        admin,
        f"data_dir: {data}",
        settings.strip("\n"),
        "destinations:",
        destinations.strip("\n"),
    ]
    return "\n".join(line for line in lines if line) + "\n"


class Gateway(Program):
    """A gateway on a data directory. With `wait=False` the caller may kill it before it is ready. Without a token it
    makes its own in its data directory. With `sandbox=True` it delivers to a sandbox in the same process."""

    devices: int
    admin: int
    ready_after: float

    def __init__(
        self,
        work: pathlib.Path,
        data: pathlib.Path,
        destinations: str,
        settings: str = "",
        token: str | None = TOKEN,
        sandbox: bool = False,
        seconds: float = 20,
        wait: bool = True,
        admin: str = "",
        **options: Unpack[LaunchOptions],
    ) -> None:
        self.data, self.own_token = data, token
        file = work / f"sluice-{next(numbers)}.yaml"
        file.write_text(configuration(data, destinations, settings, token, admin))
        self.began = time.monotonic()
        words = ["serve", *(["--sandbox"] if sandbox else []), "--config", str(file)]
        super().__init__(work, "gateway", words, **options)
        if wait:
            self.wait_until_ready(seconds)

    def wait_until_ready(self, seconds: float = 20) -> None:
        ready = self.wait_for_start("sluice is ready", seconds)
        self.ready_after = time.monotonic() - self.began
        self.devices, self.admin = port_of(ready["devices"]), port_of(ready["admin"])

    def own_sandbox(self) -> SandboxControl:
        """The sandbox in this process."""
        return SandboxControl(port_of(self.wait_for_start("sandbox listening")["address"]))

    def ask(self, path: str, method: str = "GET", body: bytes | None = None) -> bytes:
        return ask(self.admin, path, method=method, body=body, token=self.token)

    @property
    def token(self) -> str:
        return self.own_token or (self.data / "admin-token").read_text().strip()

    def ledger(self) -> dict[str, Any]:
        """The log counts of the whole gateway, and a flag that they add up: {"closed": …, "ledger": {…}}."""
        ledger: dict[str, Any] = json.loads(self.ask("/admin/ledger"))
        return ledger

    def drain(self, seconds: float = 60) -> dict[str, Any]:
        """Waits until the queue is empty. Returns the ledger, also when that takes too long."""
        deadline = time.monotonic() + seconds
        while True:
            ledger = self.ledger()
            if ledger["ledger"]["queued"] == 0 or time.monotonic() > deadline:
                return ledger
            time.sleep(0.05)

    def require_drained(self, seconds: float = 60) -> dict[str, Any]:
        """As `drain`, for callers that rely on an empty queue: raises when logs are left."""
        whole = self.drain(seconds)
        if whole["ledger"]["queued"]:
            raise NotDrained(f"after {seconds} s there are still logs in the queue: {whole['ledger']}")
        return whole

    def metric(self, name: str) -> float:
        """The value that /metrics has for a name with its labels."""
        for line in self.ask("/metrics").decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise KeyError(f"/metrics has no {name}")

"""A gateway, the sandbox in SLS's place, and the requests that trials send to their listeners."""

import json
import pathlib
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any, Unpack

from harness.program import LaunchOptions, Program, numbers
from harness.waiting import look_until

# Proxy settings of the environment do not apply to this machine's own listeners.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(
    port: int, path: str, method: str = "GET", body: bytes | None = None, token: str | None = None, timeout: float = 30
) -> bytes:
    """The body of the response. A body is sent as JSON, a token as `Authorization: Bearer`."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body, method=method)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    if body is not None:
        request.add_header("Content-Type", "application/json")
    with direct.open(request, timeout=timeout) as response:
        return response.read()


def status_of(port: int, path: str, **options: Any) -> int:
    """As `ask`, for the status alone."""
    try:
        ask(port, path, **options)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def port_of(address: str) -> int:
    return int(address.rsplit(":", 1)[1])


Log = dict[str, Any]


class SandboxControl:
    port: int

    def __init__(self, port: int) -> None:
        self.port = port

    def control(self, method: str, path: str, document: object = None) -> Any:
        body = None if document is None else json.dumps(document).encode()
        return json.loads(ask(self.port, path, method=method, body=body) or b"null")

    def fault(self, **fault: object) -> None:
        self.control("POST", "/faults", fault)

    def clear_faults(self) -> None:
        self.control("DELETE", "/faults")

    def logs(self) -> Iterator[Log]:
        """All stored logs that are still kept, in order of arrival."""
        after, more = "0", True
        while more:
            page, after, more = self.page(after)
            yield from page

    def page(self, after: str, logstore: str = "") -> tuple[list[Log], str, bool]:
        """The logs after a cursor, the cursor after them, and whether more follow."""
        only = f"&logstore={logstore}" if logstore else ""
        path = f"/logs?details=1&limit=100000&after={after}{only}"
        with direct.open(f"http://127.0.0.1:{self.port}{path}", timeout=120) as response:
            page = [json.loads(line) for line in response]
            cursor = response.headers.get("x-sandbox-cursor", after)
            return page, cursor, response.headers.get("x-sandbox-more") == "true"


class Sandbox(Program, SandboxControl):
    """A sandbox in its own process. Gateways on other hosts need a `host` to listen at, such as 0.0.0.0."""

    def __init__(self, work: pathlib.Path, host: str = "127.0.0.1", **options: Unpack[LaunchOptions]) -> None:
        Program.__init__(self, work, "sandbox", ["sandbox", "--listen", f"{host}:0"], **options)
        SandboxControl.__init__(self, port_of(self.wait_for_start("sandbox listening")["address"]))


TOKEN = "prove-admin-token-0123456789abcdef0123456789abcdef"


class NotDrained(Exception):
    """The queue was expected to become empty. Not an OSError, which would look like a broken connection."""


def configuration(
    data: pathlib.Path,
    destinations: str,
    settings: str = "",
    token: str | None = TOKEN,
    admin: str = "",
    listen: str = "127.0.0.1:0",
) -> str:
    """Its listeners take free ports. `destinations` and `settings` are lines of YAML, `admin` members of that group."""
    members = ", ".join(filter(None, ['listen: "127.0.0.1:0"', f"token: {token}" if token else "", admin]))
    return f"listen: {listen}\nadmin: {{ {members} }}\ndata_dir: {data}\n{settings}\ndestinations:\n{destinations}\n"


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
        listen: str = "127.0.0.1:0",
        **options: Unpack[LaunchOptions],
    ) -> None:
        self.data, self.own_token = data, token
        file = work / f"sluice-{next(numbers)}.yaml"
        file.write_text(configuration(data, destinations, settings, token, admin, listen))
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
        return SandboxControl(port_of(self.wait_for_start("sandbox listening")["address"]))

    def ask(self, path: str, method: str = "GET", body: bytes | None = None) -> bytes:
        return ask(self.admin, path, method=method, body=body, token=self.token)

    @property
    def token(self) -> str:
        return self.own_token or (self.data / "admin-token").read_text().strip()

    def ledger(self) -> dict[str, Any]:
        """The log counts of the whole gateway, and a flag that they add up: {"closed": …, "ledger": {…}}."""
        return json.loads(self.ask("/admin/ledger"))

    def drain(self, seconds: float = 60) -> dict[str, Any]:
        """Waits until the queue is empty. Returns the ledger, also when that takes too long."""
        empty = lambda: None if (whole := self.ledger())["ledger"]["queued"] else whole
        return look_until(empty, seconds, pause=0.05) or self.ledger()

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

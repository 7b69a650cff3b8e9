"""The sandbox, Sluice's SLS look-alike, and the requests that control it."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any, Unpack

from harness.http import ask, direct, port_of
from harness.program import LaunchOptions, Program

Log = dict[str, Any]


class SandboxControl:
    """A running sandbox, by its port."""

    port: int

    def __init__(self, port: int) -> None:
        self.port = port

    def control(self, method: str, path: str, document: object = None) -> Any:
        body = None if document is None else json.dumps(document).encode()
        return json.loads(ask(self.port, path, method=method, body=body) or b"null")

    def fault(self, **fault: object) -> None:
        """Adds a fault to the answers that follow."""
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
    """A sandbox in its own process. With `storage` it keeps received logs in that file. Gateways on other hosts need a
    `host` to listen at, such as 0.0.0.0."""

    def __init__(
        self,
        work: pathlib.Path,
        port: int = 0,
        storage: str | None = None,
        host: str = "127.0.0.1",
        **options: Unpack[LaunchOptions],
    ) -> None:
        words = ["sandbox", "--listen", f"{host}:{port}"] + (["--storage", storage] if storage else [])
        Program.__init__(self, work, "sandbox", words, **options)
        SandboxControl.__init__(self, port_of(self.wait_for_start("sandbox listening")["address"]))

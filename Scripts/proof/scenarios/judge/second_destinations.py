"""The second destination of each routed log: a file for those at `least`, a log server for those at `once`."""

import pathlib
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from harness.sandbox import Log
from proof.fan_out import SEEN, FanOut
from proof.faults.log_server import LogServer
from proof.trial import Trial

# The SLS destinations, each with the destination of another kind that gets the same logs.
PAIRS = {"least": "archive", "once": "server"}
SETTINGS = f"""filters: [{{ name: proof, steps: [{{ set: {{ seen: {SEEN} }} }}] }}]
routes: [{", ".join(f'{{ match: "{project}-*.**", to: [{project}, {other}] }}' for project, other in PAIRS.items())}]"""


def counted(book: dict[str, Any], names: Iterable[str], count: str) -> int:
    """The sum of one of the ledger's counts. A destination appears in the ledger with its first log."""
    return sum(book["destinations"].get(name, {}).get(count, 0) for name in names)


class SecondDestinations:
    def __init__(self, trial: Trial, directory: pathlib.Path, random: Random) -> None:
        directory.mkdir()
        self.archive = FanOut(directory, ", keep: 10000, compress: gzip")
        self.server = trial.remember(LogServer(random))
        self.destinations = (
            f"{self.archive.destination}\n  server: {{ kind: http, url: http://127.0.0.1:{self.server.port}/in, "
            f"body: {random.choice(['json_array', 'ndjson'])}, compress: {random.choice(['gzip', 'none'])}, "
            "success: [200], concurrency: 1, packet: { age: 50ms, logs: 60 }, connect_timeout: 1s, "
            "send_timeout: 1500ms, retry: { first: 50ms, most: 1s } }\n"
        )

    def logs(self, name: str) -> Iterator[tuple[str | None, str, Log | None]]:
        """The idempotency key, the log as it is shown in a complaint, and the log."""
        if name == "archive":
            for shown, log in self.archive.lines():
                yield None, shown, log
        else:
            for key, log in self.server.logs():
                yield key, str(log), log

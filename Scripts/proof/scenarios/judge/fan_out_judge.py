"""The second destination of each routed log: a file for those at `least`, a log server for those at `once`."""

import collections
import datetime
import pathlib
from collections.abc import Iterable, Iterator
from random import Random
from typing import TYPE_CHECKING, Any

from harness.sandbox import Log
from proof.clients.device import is_whole
from proof.fan_out import SEEN, FanOut
from proof.faults.log_server import LogServer
from proof.scenarios.judge.senders import Batch, DeviceStream, time_of
from proof.trial import Trial

if TYPE_CHECKING:
    from proof.scenarios.judge.verdict import Verdict

# The SLS destinations, each with the destination of another kind that gets the same logs.
PAIRS = {"least": "archive", "once": "server"}
FIELDS = {"name", "noise", "sum", "seen", "date", "tag"}
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


class SecondVerdict:
    """Compares what a second destination has with what SLS has of the same routes."""

    def __init__(self, verdict: "Verdict", project: str, name: str) -> None:
        session = verdict.session
        self.verdict, self.name, self.base, self.book = verdict, name, session.base, session.book
        self.logs = list(session.second.logs(name))
        self.streams = {
            stream.name: stream for stream in verdict.streams.values() if stream.is_routed and stream.project == project
        }
        self.keys: dict[str, list[str | None]] = collections.defaultdict(list)
        for key, _, log in self.logs:
            if log is not None:
                self.keys[log.get("name", "")].append(key)

    @property
    def repeated(self) -> int:
        return sum(len(keys) > 1 for keys in self.keys.values())

    def wrong(self) -> Iterator[str]:
        yield from self.missing()
        yield from self.altered()
        yield from self.repeated_or_late()
        accepted, delivered = (counted(self.book, [self.name], count) for count in ("accepted", "delivered"))
        if not len(self.keys) == accepted == delivered:
            yield f"{len(self.keys)} different logs are at {self.name}, the ledger says: {accepted}, {delivered}"

    def missing(self) -> Iterator[str]:
        """One transaction stores a batch for both destinations, so both have the same logs. The verdict on SLS says
        which ones these must be."""
        at_sls = {name for name in self.verdict.arrived if name.rsplit(".", 1)[0] in self.streams}
        if missing := at_sls - set(self.keys):
            yield f"{len(missing)} of {len(at_sls)} logs at SLS are not at {self.name}, such as {min(missing)}"
        if strange := set(self.keys) - at_sls:
            yield f"{len(strange)} logs are at {self.name} and not at SLS, such as {min(strange)}"

    def altered(self) -> Iterator[str]:
        for _, shown, log in self.logs:
            if log is None:
                yield f"a line of {self.name} is not whole: {shown}"
            elif not is_whole(log) or set(log) != FIELDS or log["seen"] != SEEN:
                yield f"a log at {self.name} was altered or not filtered: {shown}"
            elif stream := self.streams.get(log["name"].rsplit(".", 1)[0]):
                then = datetime.datetime.fromisoformat(log["date"]).timestamp()
                # The tag of a log in JSON is its topic.
                if (log["tag"], str(int(then))) != (stream.place[2], time_of(log["name"], self.base)):
                    yield f"a log at {self.name} has another tag or time than {stream.place}: {shown}"

    def repeated_or_late(self) -> Iterator[str]:
        """A server that honours `Idempotency-Key` stores each log once, and in the order of its stream: requests go
        one at a time."""
        if self.name != "server":
            return
        for name, keys in self.keys.items():
            if len(set(keys)) > 1:
                yield f"{name} is at {self.name} under several idempotency keys: {keys}"
        places = {name: place for place, name in enumerate(self.keys)}
        for stream in self.streams.values():
            order = [places[name] for name in stored(self.verdict.batches, stream) if name in places]
            if order != sorted(order):
                yield f"{stream.name} arrived out of order at {self.name}"


def stored(batches: Iterable[Batch], stream: DeviceStream) -> Iterator[str]:
    for batch in batches:
        if batch.stream is stream and batch.is_stored:
            yield from batch.names()

"""A filter, and a route to two destinations of different kinds: SLS and a file that rotates."""

import gzip
import json
import pathlib
import shutil
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from harness.gateway import Gateway, Log
from proof.clients.device import is_whole, log

SEEN = "by the filter"
ROTATED_BYTES = 1 << 20
# The filter drops a tenth of the logs, by the number in their names, and marks the others.
SETTINGS = f"""filters:
  - name: proof
    steps:
      - {{ drop: true, when: {{ field: name, matches: '^[^|]*7([|]|$)' }} }}
      - {{ set: {{ seen: {SEEN} }} }}
routes: [{{ to: [app, archive] }}]"""


def is_dropped(name: str) -> bool:
    return name.split("|")[0].endswith("7")


class FanOut:
    """The settings that add a file to the destination `app`, and the check of what both destinations have."""

    def __init__(self, directory: pathlib.Path, rotation: str = "", name: str = "archive.ndjson") -> None:
        self.path = directory / name
        self.destination = (
            f"  archive: {{ kind: file, path: {self.path}, rotate: {{ bytes: {ROTATED_BYTES} {rotation} }}, packet: {{ age: 50ms }}, "
            "retry: { first: 50ms, most: 1s } }"
        )

    @classmethod
    def beside(cls, data: pathlib.Path) -> "FanOut":
        """The file beside a data directory. A gateway writes no logs into the directory itself."""
        return cls(data.parent, name=f"{data.name}.ndjson")

    def copy_to(self, data: pathlib.Path) -> None:
        if self.path.exists():
            shutil.copy(self.path, FanOut.beside(data).path)

    def fill(self, random: Random) -> None:
        """Writes a file that a few logs more rotate, and that ends as a crash may leave it."""
        before = log("before", random, ROTATED_BYTES - 3_000) | {"seen": SEEN}
        # As the gateway begins a line: it appends to files of its own only.
        line = json.dumps({"date": "2025-01-14T08:00:00Z", "tag": "x"} | before, separators=(",", ":"))
        self.path.write_text(f'{line}\n{{"date":"2025-01-14T08:')

    def files(self) -> list[pathlib.Path]:
        """The file and its archives. A compression that a crash left unfinished has its source beside it."""
        return [file for file in self.path.parent.glob(f"{self.path.name}*") if file.suffix != ".partial"]

    def clear(self) -> None:
        """Removes what was read, as an operator may. The gateway begins a new file."""
        for file in self.files():
            file.unlink(missing_ok=True)

    def lines(self) -> Iterator[tuple[str, Log | None]]:
        """The lines of all files, without the log where a line is not whole."""
        for file in self.files():
            for line in content(file).splitlines(keepends=True):
                shown = f"{file.name}: {line[:200]!r}"
                try:
                    yield shown, json.loads(line) if line.endswith(b"\n") else None
                except ValueError:
                    yield shown, None

    def is_repaired(self) -> bool:
        """The gateway repairs the file on a thread of its own, soon after its start."""
        return not self.path.exists() or self.path.read_bytes()[-1:] in (b"\n", b"")

    def wrong(
        self, gateway: Gateway, at_sls: Iterable[Log], answered: Iterable[str], known: Iterable[str] = ()
    ) -> Iterator[str]:
        """Each answered log is in both destinations, unaltered, unless the filter dropped it. All sums add up. `known`
        logs were at SLS before and are not looked for there again."""
        answered = set(answered)
        kept = {name for name in answered if not is_dropped(name)}
        stored: Iterator[tuple[str, Log | None]] = ((str(each), each) for each in at_sls)
        for where, found in (("SLS", stored), ("the file", self.lines())):
            names = set()
            for shown, each in found:
                if each is None:
                    yield f"a line of the file is not whole: {shown}"
                elif not is_whole(each) or each.get("seen") != SEEN or is_dropped(each["name"]):
                    yield f"a log in {where} was altered or not filtered: {shown}"
                else:
                    names.add(each["name"])
            if missing := kept - names - (set(known) if where == "SLS" else set()):
                yield f"{len(missing)} of {len(kept)} answered logs are not in {where}"
        yield from open_sums(gateway.ledger(), len(answered - kept))


def content(file: pathlib.Path) -> bytes:
    try:
        return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except FileNotFoundError:
        # It was compressed after its directory was read.
        return gzip.decompress(file.with_name(f"{file.name}.gz").read_bytes())


def open_sums(book: dict[str, Any], dropped: int) -> Iterator[str]:
    """The sums over all requests and over all destinations that do not add up; `dropped` logs at least were filtered."""
    intake, destinations = book["intake"], book["destinations"].values()
    if intake["received"] != intake["filtered"] + intake["dropped"] + intake["routed"]:
        yield f"the tally of requests is open: {intake}"
    if intake["copies"] != sum(each["accepted"] + each["skipped"] for each in destinations):
        yield f"copies do not agree with the ledgers: {book}"
    if intake["filtered"] < dropped:
        yield f"{dropped} answered logs were dropped by the filter, the tally has fewer: {intake}"
    if not book["closed"] or any(each["imbalance"] for each in destinations):
        yield f"a ledger is open: {book}"

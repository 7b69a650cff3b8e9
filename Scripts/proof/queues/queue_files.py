"""The files of a queue, and the layout of its WAL."""

import pathlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator

PAGE = 8192
DATABASE, WAL = "queue.db", "queue.db-wal"


def first_pages(directory: pathlib.Path) -> dict[str, int]:
    """The first page of each table and index, as the database reports it. A look at the files themselves would change
    them."""
    with tempfile.TemporaryDirectory() as place:
        copy = shutil.copytree(directory, f"{place}/look")
        connection = sqlite3.connect(f"{copy}/{DATABASE}")
        pages = dict(connection.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0"))
        connection.close()
    return {"the schema": 1} | pages


def wipe(file: pathlib.Path, page: int, byte: bytes = b"\0") -> None:
    """Overwrites a page of the database."""
    with open(file, "r+b") as database:
        database.seek((page - 1) * PAGE)
        database.write(byte * PAGE)


def frames(log: bytes) -> Iterator[tuple[int, int, bool]]:
    """Each frame of a WAL: where it begins, its page, and whether it ends a transaction. Frames of an earlier WAL may
    follow."""
    place = 32
    while log and log[place + 8 : place + 16] == log[16:24]:
        yield place, int.from_bytes(log[place : place + 4], "big"), log[place + 4 : place + 8] != bytes(4)
        place += 24 + PAGE


def last_commit(log: bytes) -> int:
    """Where the last transaction begins. A power cut may remove everything behind that place, too."""
    begins, last = 32, 32
    for place, _, is_commit in frames(log):
        if is_commit:
            begins, last = place + 24 + PAGE, begins
    return last


def last_of(log: bytes, page: int) -> range:
    """The bytes of a page's last frame; empty when the WAL has none."""
    places = [place for place, found, _ in frames(log) if found == page]
    return range(places[-1], places[-1] + 24 + PAGE) if places else range(0)


def length(log: bytes) -> tuple[bytes, int]:
    """The salt of a WAL, and where its last transaction ends."""
    return log[16:24], max((place + 24 + PAGE for place, _, is_commit in frames(log) if is_commit), default=0)

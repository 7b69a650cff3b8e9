"""The files of a queue, and how its write-ahead log is laid out."""

from collections.abc import Iterator

PAGE = 8192
DATABASE, LOG = "queue.db", "queue.db-wal"


def frames(log: bytes) -> Iterator[tuple[int, int, bool]]:
    """Where each frame of a write-ahead log begins, its page, and whether it ends a transaction."""
    place = 32
    while log and log[place + 8 : place + 16] == log[16:24]:
        yield place, int.from_bytes(log[place : place + 4], "big"), log[place + 4 : place + 8] != bytes(4)
        place += 24 + PAGE


def last_commit(log: bytes) -> int:
    """Where the last transaction begins: what is behind may be a power cut's as well."""
    begins, last = 32, 32
    for place, _, is_commit in frames(log):
        if is_commit:
            begins, last = place + 24 + PAGE, begins
    return last


def last_of(log: bytes, page: int) -> range:
    """The bytes of a page's last frame, none where the log has none of it."""
    places = [place for place, found, _ in frames(log) if found == page]
    return range(places[-1], places[-1] + 24 + PAGE) if places else range(0)


def length(log: bytes) -> tuple[bytes, int]:
    """A log's salt, and where its last transaction ends. Behind it is what is left of an earlier log."""
    salt, place, end = log[16:24], 32, 0
    while salt and log[place + 8 : place + 16] == salt:
        is_commit = log[place + 4 : place + 8] != bytes(4)
        place += 24 + PAGE
        end = place if is_commit else end
    return salt, end

"""The files of a queue, and the layout of its WAL."""

from collections.abc import Iterator

PAGE = 8192
DATABASE, WAL = "queue.db", "queue.db-wal"


def frames(log: bytes) -> Iterator[tuple[int, int, bool]]:
    """Each frame of a WAL: where it begins, its page, and whether it ends a transaction."""
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
    """The salt of a WAL, and where its last transaction ends. Frames of an earlier WAL may follow."""
    salt, place, end = log[16:24], 32, 0
    while salt and log[place + 8 : place + 16] == salt:
        is_commit = log[place + 4 : place + 8] != bytes(4)
        place += 24 + PAGE
        end = place if is_commit else end
    return salt, end

"""The content of a WAL at each length, noted after each answer."""

import pathlib

from proof.queues.queue_files import WAL, length


class History:
    def __init__(self) -> None:
        # The WAL's salt, which differs for each WAL in the file; its length; the names that were answered by then.
        self.answers: list[tuple[bytes, int, set[str]]] = []

    def note(self, directory: pathlib.Path, names: set[str]) -> None:
        self.answers.append((*length((directory / WAL).read_bytes()), names))

    def in_queue(self, directory: pathlib.Path) -> list[tuple[int, set[str]]]:
        """For a queue at rest: names with the WAL length that holds them. Names of earlier WALs are in the database
        by now."""
        file = directory / WAL
        salt, _ = length(file.read_bytes() if file.exists() else b"")
        return [(end if other == salt else 0, names) for other, end, names in self.answers]

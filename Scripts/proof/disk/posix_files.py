"""A disk as POSIX promises it: after a power cut synced data is there, and any part of the rest."""

import pathlib
from collections.abc import Iterator
from random import Random
from typing import Union

Node = Union["File", "Directory"]
# Offset, bytes, and the length of the file afterwards; without bytes the file was truncated.
Write = tuple[int, bytes | None, int]


SECTOR = 512
# After a power cut, a sector or page has the content of any moment since the last sync, whole or torn.
UNITS = (SECTOR, 4096, 1 << 30)


class File:
    def __init__(self, content: bytes = b"") -> None:
        self.synced = bytearray(content)
        self.length = len(content)
        # Writes since the last sync.
        self.writes: list[Write] = []

    def write(self, offset: int, data: bytes) -> None:
        self.length = max(self.length, offset + len(data))
        self.writes.append((offset, data, self.length))

    def cut(self, length: int) -> None:
        self.length = length
        self.writes.append((length, None, length))

    def sync(self, count: int) -> None:
        """Marks the first `count` writes as synced."""
        apply(self.synced, self.writes[:count])
        del self.writes[:count]

    def now(self) -> bytearray:
        return apply(bytearray(self.synced), self.writes)

    def after_cut(self, random: Random) -> bytearray:
        """A content that the file may have after a power cut."""
        content, count = bytearray(self.synced), len(self.writes)
        unit, most = random.choice(UNITS), random.choice([0, count, random.randint(0, count), random.randint(0, count)])
        # Most units have the state of one moment; some, many or none have that of another.
        strays = random.choice([0, 0.02, 0.3, 1])
        kept: dict[int, int] = {}

        def moment() -> int:
            return random.randint(0, count) if random.random() < strays else most

        # The length changes as a whole. Data behind a truncation exists in no file without that truncation.
        until = moment()
        for index, (offset, data, length) in enumerate(self.writes):
            if data is None and index >= until:
                break
            if data is None:
                resize(content, length)
                continue
            for start in range(offset // unit * unit, offset + len(data), unit):
                if index < kept.setdefault(start, moment()):
                    begin, end = max(start, offset), min(start + unit, offset + len(data))
                    write(content, begin, data[begin - offset : end - offset])
        resize(content, self.writes[until - 1][2] if until else len(self.synced))
        return content


def apply(content: bytearray, writes: list[Write]) -> bytearray:
    for offset, data, length in writes:
        write(content, offset, data or b"")
        resize(content, length)
    return content


def write(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset + len(data):
        content.extend(bytes(offset + len(data) - len(content)))
    content[offset : offset + len(data)] = data


def resize(content: bytearray, length: int) -> None:
    if len(content) < length:
        content.extend(bytes(length - len(content)))
    del content[length:]


class Directory:
    def __init__(self) -> None:
        self.synced: dict[str, Node] = {}
        self.now: dict[str, Node] = {}
        # Names added or removed since the last sync; None for a removed name.
        self.changes: list[dict[str, Node | None]] = []

    def set(self, names: dict[str, Node | None]) -> None:
        """One change, which is on the disk as a whole or not at all."""
        self.changes.append(names)
        change(self.now, names)

    def sync(self, count: int) -> None:
        """Marks the first `count` changes as synced."""
        for names in self.changes[:count]:
            change(self.synced, names)
        del self.changes[:count]

    def after_cut(self, random: Random, order: str) -> dict[str, "Node"]:
        """Names that may exist after a power cut. Journaling file systems keep the order of changes; POSIX does not
        require it."""
        count = len(self.changes)
        if order == "synced":
            there = set()
        elif order == "kept":
            there = set(range(random.randint(0, count)))
        elif order == "last":
            there = {count - 1}
        else:
            there = {index for index in range(count) if random.random() < 0.5}
        names = dict(self.synced)
        for index, changed in enumerate(self.changes):
            if index in there:
                change(names, changed)
        return names

    def differences(self, path: pathlib.Path) -> Iterator[str]:
        """Names below the path whose content differs from this model while there is power."""
        if set(self.now) != {entry.name for entry in path.iterdir()}:
            yield f"{path}: {sorted(self.now)}"
        for name, what in self.now.items():
            if isinstance(what, Directory):
                yield from what.differences(path / name)
            # That file is written through a memory mapping, and created again at each start.
            elif not name.endswith("-shm") and (path / name).read_bytes() != what.now():
                yield str(path / name)

    @staticmethod
    def of(path: pathlib.Path) -> "Directory":
        """A model of an existing directory, all of it synced."""
        directory = Directory()
        for entry in pathlib.Path(path).iterdir():
            directory.synced[entry.name] = Directory.of(entry) if entry.is_dir() else File(entry.read_bytes())
        directory.now = dict(directory.synced)
        return directory

    def write_image(self, path: pathlib.Path, random: Random, order: str) -> None:
        """Writes what a power cut may leave of it; with the order "synced", only what must be left."""
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        first_names: dict[int, pathlib.Path] = {}
        for name, what in self.after_cut(random, order).items():
            if isinstance(what, Directory):
                what.write_image(path / name, random, order)
            elif id(what) in first_names:
                # A hard link: both names lead to the same content, whatever that is after the cut.
                (path / name).hardlink_to(first_names[id(what)])
            else:
                first_names[id(what)] = path / name
                (path / name).write_bytes(what.synced if order == "synced" else what.after_cut(random))
                (path / name).chmod(0o600)


def change(names: dict[str, Node], changed: dict[str, Node | None]) -> None:
    for name, what in changed.items():
        if what is None:
            names.pop(name, None)
        else:
            names[name] = what

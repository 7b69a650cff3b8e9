"""A disk as POSIX promises it, on which system calls are replayed: a power cut leaves any part of unsynced data."""

import pathlib
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any, Union

from proof.disk.syscalls import OTHERS, Call

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
        """Names after a power cut. Journaling file systems keep the order of changes; POSIX does not."""
        count = len(self.changes)
        there: Iterable[int] = {
            "synced": (),
            "kept": range(random.randint(0, count)),
            "last": (count - 1,),
            "any": [index for index in range(count) if random.random() < 0.5],
        }[order]
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


class RecordedDisk:
    """The files below `root`; calls on other files are ignored."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = pathlib.Path(root)
        self.disk = Directory.of(root)
        # Descriptors with their offsets, none for one that appends; begun syncs with the number of writes they cover.
        self.open: dict[int, list[Any]] = {}
        self.begun: dict[int, tuple[Node | None, int]] = {}
        self.syncs = 0

    def find(self, path: str) -> tuple[Directory | None, str]:
        """The directory that holds the path, and the name in it; no directory outside `root`."""
        found, directory = pathlib.Path(path), self.disk
        if found == self.root or not found.is_relative_to(self.root):
            return None, ""
        for part in found.relative_to(self.root).parts[:-1]:
            inner = directory.now[part]
            assert isinstance(inner, Directory)
            directory = inner
        return directory, found.name

    def restart(self) -> None:
        """The program has ended. Its writes stay, unsynced."""
        self.open.clear()
        self.begun.clear()

    def do(self, moment: str, call: Call) -> None:
        if moment == "begin":
            if call.name in ("fsync", "fdatasync"):
                what, _ = self.open.get(call.number(0), (None, 0))
                self.begun[id(call)] = what, len(pending(what))
            return
        if call.result < 0:
            return
        if step := getattr(self, "do_" + call.name, None):
            step(call)
        elif call.name in OTHERS.split(",") and self.concerns(call):
            raise NotImplementedError(f"the model of a disk does not know {call.name}({', '.join(call.words)[:200]})")

    def concerns(self, call: Call) -> bool:
        if call.words[0].isdigit():
            return call.number(0) in self.open
        return any(self.find(call.text(index))[0] for index, word in enumerate(call.words) if '"' in word)

    def do_openat(self, call: Call) -> None:
        directory, name = self.find(call.text(1))
        if pathlib.Path(call.text(1)) == self.root:
            self.open[call.result] = [self.disk, 0]
        if directory is None:
            return
        if name not in directory.now:
            directory.set({name: File()})
        what = directory.now[name]
        if isinstance(what, File) and what.length and "O_TRUNC" in call.words[2]:
            what.cut(0)
        self.open[call.result] = [what, None if "O_APPEND" in call.words[2] else 0]

    def do_close(self, call: Call) -> None:
        self.open.pop(call.number(0), None)

    def do_write(self, call: Call) -> None:
        if found := self.open.get(call.number(0)):
            what, offset = found
            what.write(what.length if offset is None else offset, call.bytes(1)[: call.result])
            found[1] = None if offset is None else offset + call.result

    def do_pwrite64(self, call: Call) -> None:
        if found := self.open.get(call.number(0)):
            found[0].write(call.number(3), call.bytes(1)[: call.result])

    def do_ftruncate(self, call: Call) -> None:
        if found := self.open.get(call.number(0)):
            found[0].cut(call.number(1)) if call.number(1) < found[0].length else found[0].write(call.number(1), b"")

    def do_fsync(self, call: Call) -> None:
        what, count = self.begun.pop(id(call))
        if what is not None:
            what.sync(count)
            self.syncs += 1

    do_fdatasync = do_fsync

    def do_rename(self, call: Call) -> None:
        (source, old), (target, new) = self.find(call.text(0)), self.find(call.text(1))
        if source is not None:
            assert source is target, "the model of a disk does not know files that move"
            source.set({new: source.now[old], old: None})

    def do_link(self, call: Call) -> None:
        (source, old), (target, new) = self.find(call.text(0)), self.find(call.text(1))
        if source is not None and target is not None:
            target.set({new: source.now[old]})

    def put(self, path: str, what: Node | None) -> None:
        directory, name = self.find(path)
        if directory is not None:
            directory.set({name: what})

    def do_unlink(self, call: Call) -> None:
        self.put(call.text(0), None)

    def do_mkdir(self, call: Call) -> None:
        self.put(call.text(0), Directory())


def pending(what: Node | None) -> Sequence[object]:
    return [] if what is None else what.changes if isinstance(what, Directory) else what.writes

"""Replays the system calls of a program on a model of the disk."""

import pathlib
from collections.abc import Sequence
from typing import Any

from proof.disk.posix_files import Directory, File, Node
from proof.disk.syscalls import OTHERS, Call


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

    def do_unlink(self, call: Call) -> None:
        directory, name = self.find(call.text(0))
        if directory is not None:
            directory.set({name: None})

    def do_mkdir(self, call: Call) -> None:
        directory, name = self.find(call.text(0))
        if directory is not None:
            directory.set({name: Directory()})


def pending(what: Node | None) -> Sequence[object]:
    return [] if what is None else what.changes if isinstance(what, Directory) else what.writes

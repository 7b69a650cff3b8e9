"""Random damage to a queue's files, as a failing disk does it."""

import os
import pathlib
from random import Random
from typing import Protocol

from proof.queues.queue_files import DATABASE, PAGE, WAL


class Harm(Protocol):
    """A description of the damage, the damaged database pages, the damaged byte ranges of the WAL, and whether the
    WAL was cut."""

    description: str
    pages: set[int]
    wal: list[tuple[int, int]]
    is_cut: bool


class Damage:
    """Random damage to one or both files of a queue."""

    def __init__(self, random: Random, directory: pathlib.Path) -> None:
        self.random = random
        self.pages: set[int] = set()
        self.wal: list[tuple[int, int]] = []
        self.is_cut = False
        files = [directory / name for name in (DATABASE, WAL) if (directory / name).exists()]
        self.description = "; ".join(self.hit(file) for file in random.sample(files, random.randint(1, len(files))))

    def hit(self, file: pathlib.Path) -> str:
        ways = [self.flip, self.flip, self.flip_many, self.cut, self.zero, self.scribble, self.misplace]
        content = bytearray(file.read_bytes())
        said = self.random.choice(ways)(content, file.name)
        file.write_bytes(content)
        return f"{file.name}: {said}"

    def flip(self, content: bytearray, name: str, times: int = 1) -> str:
        places = [self.random.randrange(len(content)) for _ in range(times)]
        for place in places:
            content[place] ^= self.random.randrange(1, 256)
            self.note(name, place, 1)
        return f"bytes flipped at {places}"

    def flip_many(self, content: bytearray, name: str) -> str:
        return self.flip(content, name, self.random.randint(2, 16))

    def cut(self, content: bytearray, name: str) -> str:
        length = self.random.randrange(len(content))
        self.note(name, length, len(content) - length)
        self.is_cut = self.is_cut or name == WAL
        del content[length:]
        return f"cut off at {length}"

    def zero(self, content: bytearray, name: str) -> str:
        return self.overwrite(content, name, "zeroed", bytes(PAGE))

    def scribble(self, content: bytearray, name: str) -> str:
        return self.overwrite(content, name, "overwritten with noise", self.random.randbytes(PAGE))

    def misplace(self, content: bytearray, name: str) -> str:
        other = self.random.randrange(len(content) // PAGE) * PAGE
        return self.overwrite(
            content, name, f"overwritten with what is at {other}", bytes(content[other : other + PAGE])
        )

    def overwrite(self, content: bytearray, name: str, what: str, new: bytes) -> str:
        start = self.random.randrange(len(content) // PAGE) * PAGE
        self.note(name, start, PAGE)
        content[start : start + PAGE] = new
        return f"page at {start} {what}"

    def note(self, name: str, start: int, length: int) -> None:
        if name == WAL:
            self.wal.append((start, start + length))
        else:
            self.pages |= set(range(start // PAGE + 1, (start + length - 1) // PAGE + 2))


class FirstPage:
    """Zeroes the first page of a table, without which its other pages cannot be found."""

    def __init__(self, table: str, page: int, directory: pathlib.Path) -> None:
        self.pages = {page}
        self.wal: list[tuple[int, int]] = []
        self.is_cut = False
        self.description = f"{DATABASE}: the first page of {table} zeroed"
        with open(directory / DATABASE, "r+b") as file:
            file.seek((page - 1) * PAGE)
            file.write(bytes(PAGE))


class FlippedByte:
    """Flips a bit of the content of a table's first page."""

    def __init__(self, table: str, page: int, random: Random, directory: pathlib.Path) -> None:
        self.pages = {page}
        self.wal: list[tuple[int, int]] = []
        self.is_cut = False
        content = bytearray((directory / DATABASE).read_bytes())
        place = random.choice([place for place in range((page - 1) * PAGE, page * PAGE) if content[place]])
        content[place] ^= 1 << random.randrange(8)
        (directory / DATABASE).write_bytes(content)
        self.description = f"{DATABASE}: a bit flipped at {place}, in {table}"


class CutOff:
    """Truncates the database. Its WAL may restore the old length."""

    def __init__(self, random: Random, directory: pathlib.Path) -> None:
        self.pages: set[int] = set()
        self.wal: list[tuple[int, int]] = []
        self.is_cut = False
        size = (directory / DATABASE).stat().st_size
        length = random.randrange(size // 8, size)
        os.truncate(directory / DATABASE, length)
        self.description = f"{DATABASE}: cut off at {length} of {size}"


class CutAndDamaged(Damage):
    """Truncates the database, possibly to nothing, and damages the WAL as well."""

    def __init__(self, random: Random, directory: pathlib.Path) -> None:
        self.random = random
        self.pages: set[int] = set()
        self.wal: list[tuple[int, int]] = []
        self.is_cut = False
        size = (directory / DATABASE).stat().st_size
        length = random.choice([random.randrange(size), random.randrange(2 * PAGE), random.randrange(3)])
        os.truncate(directory / DATABASE, length)
        self.note(DATABASE, length, size - length)
        ways = [self.flip, self.flip_many, self.zero, self.scribble, self.misplace]
        content = bytearray((directory / WAL).read_bytes())
        said = [random.choice(ways)(content, WAL) for _ in range(random.choice([1, 1, 2, 3]))]
        (directory / WAL).write_bytes(content)
        self.description = f"{DATABASE}: cut off at {length} of {size}; {WAL}: {', '.join(said)}"


class FlippedHead:
    """Flips a byte of the WAL header, without which none of the WAL can be read."""

    def __init__(self, random: Random, directory: pathlib.Path) -> None:
        place = random.randrange(32)
        self.pages: set[int] = set()
        self.wal = [(place, place + 1)]
        self.is_cut = False
        content = bytearray((directory / WAL).read_bytes())
        content[place] ^= random.randrange(1, 256)
        (directory / WAL).write_bytes(content)
        self.description = f"{WAL}: a byte flipped at {place}"

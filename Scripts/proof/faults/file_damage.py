"""Random damage to a queue's files, as a failing disk does it."""

import contextlib
import os
import pathlib
from collections.abc import Callable, Iterator
from random import Random

from proof.queues.queue_files import DATABASE, PAGE, WAL, wipe

# Changes the content of the named file, and says how.
Way = Callable[[bytearray, str], str]


class Damage:
    """The damaged database pages, the damaged byte ranges of the WAL, and whether the WAL was cut."""

    def __init__(self, random: Random, directory: pathlib.Path) -> None:
        self.random, self.directory = random, directory
        self.pages: set[int] = set()
        self.wal: list[tuple[int, int]] = []
        self.is_cut = False
        self.said: list[str] = []

    # What is done to a queue.

    def anywhere(self) -> None:
        """Damages one or both files."""
        ways: list[Way] = [self.flip, self.flip, self.flip_many, self.cut, self.zero, self.scribble, self.misplace]
        files = [name for name in (DATABASE, WAL) if (self.directory / name).exists()]
        for name in self.random.sample(files, self.random.randint(1, len(files))):
            with self.content_of(name) as content:
                self.said.append(f"{name}: {self.random.choice(ways)(content, name)}")

    def zero_first_page(self, table: str, page: int) -> None:
        """Without the first page of a table its other pages cannot be found."""
        self.pages = {page}
        wipe(self.directory / DATABASE, page)
        self.said.append(f"{DATABASE}: the first page of {table} zeroed")

    def flip_in_first_page(self, table: str, page: int) -> None:
        """Flips a bit of the content of a table's first page."""
        self.pages = {page}
        with self.content_of(DATABASE) as content:
            place = self.random.choice([at for at in range((page - 1) * PAGE, page * PAGE) if content[at]])
            content[place] ^= 1 << self.random.randrange(8)
        self.said.append(f"{DATABASE}: a bit flipped at {place}, in {table}")

    def cut_off(self) -> None:
        """Truncates the database. Its WAL may restore the old length."""
        size = (self.directory / DATABASE).stat().st_size
        self.truncate(size, self.random.randrange(size // 8, size))

    def cut_and_damage(self) -> None:
        """Truncates the database, possibly to nothing, and damages the WAL as well."""
        random, size = self.random, (self.directory / DATABASE).stat().st_size
        length = random.choice([random.randrange(size), random.randrange(2 * PAGE), random.randrange(3)])
        self.truncate(size, length)
        self.note(DATABASE, length, size - length)
        ways: list[Way] = [self.flip, self.flip_many, self.zero, self.scribble, self.misplace]
        with self.content_of(WAL) as content:
            said = [random.choice(ways)(content, WAL) for _ in range(random.choice([1, 1, 2, 3]))]
        self.said.append(f"{WAL}: {', '.join(said)}")

    def flip_head(self) -> None:
        """Flips a byte of the WAL header, without which none of the WAL can be read."""
        place = self.random.randrange(32)
        self.note(WAL, place, 1)
        with self.content_of(WAL) as content:
            content[place] ^= self.random.randrange(1, 256)
        self.said.append(f"{WAL}: a byte flipped at {place}")

    # Ways to damage a file.

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
        new = bytes(content[other : other + PAGE])
        return self.overwrite(content, name, f"overwritten with what is at {other}", new)

    def overwrite(self, content: bytearray, name: str, what: str, new: bytes) -> str:
        start = self.random.randrange(len(content) // PAGE) * PAGE
        self.note(name, start, PAGE)
        content[start : start + PAGE] = new
        return f"page at {start} {what}"

    def truncate(self, size: int, length: int) -> None:
        os.truncate(self.directory / DATABASE, length)
        self.said.append(f"{DATABASE}: cut off at {length} of {size}")

    @contextlib.contextmanager
    def content_of(self, name: str) -> Iterator[bytearray]:
        """The content of a file, which gets what the block makes of it."""
        content = bytearray((self.directory / name).read_bytes())
        yield content
        (self.directory / name).write_bytes(content)

    def note(self, name: str, start: int, length: int) -> None:
        if name == WAL:
            self.wal.append((start, start + length))
        else:
            self.pages |= set(range(start // PAGE + 1, (start + length - 1) // PAGE + 2))

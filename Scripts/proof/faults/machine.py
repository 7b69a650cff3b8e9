"""A wall clock that a trial sets, for programs started with libfaketime, whose monotonic clock stays real; and file
systems: small ones, and ones that become read-only."""

import glob
import pathlib
import subprocess
import time
from collections.abc import Iterable
from typing import Self

from harness.program import Killable, Program
from proof.trial import Unavailable

PLACES = ["/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1"]


class FakedClock:
    def __init__(self, work: pathlib.Path, name: str = "clock") -> None:
        self.file = pathlib.Path(work) / name
        found = [file for place in PLACES for file in glob.glob(place)]
        if not found:
            raise Unavailable("libfaketime is missing: apt-get install libfaketime")
        self.library = found[0]
        self.offset = 0.0
        self.shift(0)

    @property
    def environment(self) -> dict[str, str]:
        """The environment for a program under this clock. It reads the file at every look at the clock."""
        return {
            "LD_PRELOAD": self.library,
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }

    def shift(self, seconds: float) -> None:
        """Sets the difference between the programs' clock and this machine's."""
        self.offset = seconds
        new = self.file.with_suffix(".new")
        new.write_text(f"{seconds:+.3f}\n")
        new.rename(self.file)

    def set(self, seconds: float) -> None:
        """Sets the programs' clock to a time in seconds since 1970. It runs on from there."""
        self.shift(seconds - time.time())

    @property
    def now(self) -> float:
        return time.time() + self.offset


def end_faked(programs: Iterable[Killable]) -> None:
    for program in programs:
        program.kill()
        if isinstance(program, Program):
            forget(program.process.pid)


def forget(pid: int) -> None:
    """Removes the shared memory that libfaketime leaves behind when its program is killed."""
    for name in (f"sem.faketime_sem_{pid}", f"faketime_shm_{pid}"):
        pathlib.Path("/dev/shm", name).unlink(missing_ok=True)


class Mounted:
    """A file system in a directory, mounted for the length of the block."""

    def __init__(self, directory: pathlib.Path, *words: str) -> None:
        self.directory, self.words = directory, words

    def __enter__(self) -> Self:
        try:
            self.prepare()
            self.mount(*self.words)
        except (OSError, subprocess.SubprocessError) as error:
            raise Unavailable(f"this machine cannot mount it: {describe(error)}") from error
        return self

    def prepare(self) -> None:
        self.directory.mkdir()

    def mount(self, *words: str) -> None:
        run("mount", *words, str(self.directory))

    def unmount(self) -> None:
        run("umount", str(self.directory))

    def __exit__(self, *_: object) -> None:
        try:
            self.unmount()
        except subprocess.SubprocessError:
            # Some process still uses it: a lazy unmount ends it with the last one. Or it is unmounted already.
            if self.directory.is_mount():
                run("umount", "-l", str(self.directory))


class SmallDisk(Mounted):
    def __init__(self, directory: pathlib.Path, mebibytes: int) -> None:
        super().__init__(directory, "-t", "tmpfs", "-o", f"size={mebibytes}m", "sluice-proof")


class FragileDisk(Mounted):
    """An ext4 in a file that becomes read-only at its first error, as most are mounted."""

    def __init__(self, directory: pathlib.Path, mebibytes: int) -> None:
        self.file, self.size = directory.with_name("image"), mebibytes << 20
        super().__init__(directory, "-o", "loop,errors=remount-ro", str(self.file))

    def prepare(self) -> None:
        super().prepare()
        with open(self.file, "wb") as content:
            content.truncate(self.size)
        run("mkfs.ext4", "-q", "-F", str(self.file))

    def mount(self, *words: str) -> None:
        super().mount(*words)
        if not self.trigger().exists():
            self.unmount()
            raise FileNotFoundError(f"there is no {self.trigger()}")

    def trigger(self) -> pathlib.Path:
        device = run("findmnt", "-no", "SOURCE", str(self.directory)).strip().rsplit("/", 1)[-1]
        return pathlib.Path(f"/sys/fs/ext4/{device}/trigger_fs_error")

    def break_down(self) -> None:
        self.trigger().write_text("1")

    def renew(self) -> None:
        """Mounts it writable again, as an operator does."""
        self.unmount()
        self.mount("-o", "loop", str(self.file))


def fill(file: pathlib.Path) -> None:
    """Takes all the space that is left."""
    with open(file, "wb", buffering=0) as taken:
        size = 1 << 20
        while size:
            try:
                taken.write(bytes(size))
            except OSError:
                size //= 2


def run(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=30).stdout


def describe(error: Exception) -> str:
    """The error with what the failed command said."""
    return f"{error}: {(getattr(error, 'stderr', '') or '').strip()}".rstrip(": ")

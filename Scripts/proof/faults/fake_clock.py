"""A wall clock that a trial sets, for programs started with libfaketime. The monotonic clock stays real."""

import glob
import os
import pathlib
import time

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


def forget(pid: int) -> None:
    """Removes the shared memory that libfaketime leaves behind when its program is killed."""
    for name in (f"/dev/shm/sem.faketime_sem_{pid}", f"/dev/shm/faketime_shm_{pid}"):
        try:
            os.unlink(name)
        except OSError:
            pass

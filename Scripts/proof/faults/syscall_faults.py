"""Disk faults, injected by strace into a running program."""

import pathlib
import re
import signal
import subprocess
from collections.abc import Iterator
from typing import Self

from harness.program import Program
from harness.waiting import look_until


class SyscallFault:
    """For the length of the block, system calls on the files fail or are delayed as `how` says: error=EIO,
    delay_exit=200000, when=1."""

    def __init__(self, program: Program, calls: str, how: str, *files: pathlib.Path) -> None:
        self.log = program.journal.with_suffix(".trace")
        self.notes = program.journal.with_suffix(".attached")
        words = ["strace", "-f", "-p", str(program.process.pid), "-o", str(self.log), "-y"]
        words += [word for file in files for word in ("-P", str(file))]
        # Traces the failing calls, and the calls that show how the program reacts.
        words += ["-e", f"trace={calls},openat,pwrite64,fdatasync,fsync", "-e", f"inject={calls}:{how}"]
        with open(self.notes, "wb") as notes:
            self.tracer = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=notes)

    def __enter__(self) -> Self:
        look_until(lambda: self.is_attached or self.tracer.poll() is not None, 30, pause=0.005)
        if not self.is_attached:
            self.__exit__()
            raise OSError(f"strace cannot trace: {self.notes.read_text()[-300:]}")
        return self

    @property
    def is_attached(self) -> bool:
        return " attached" in self.notes.read_text()

    def __exit__(self, *_: object) -> None:
        """Detaches strace. The program goes on without the fault."""
        if self.tracer.poll() is None:
            self.tracer.send_signal(signal.SIGINT)
        try:
            self.tracer.wait(10)
        finally:
            # A strace that does not detach would hold the program and outlive this trial.
            if self.tracer.poll() is None:
                self.tracer.kill()
                self.tracer.wait()

    def hits(self) -> int:
        return self.log.read_text(errors="replace").count("(INJECTED)")

    def calls(self) -> Iterator[tuple[str, str, bool]]:
        """Call, file name and whether it failed, in order."""
        pattern = re.compile(r'^\d+ +(\w+)\((?:AT_FDCWD<.*?>, "|\d+<)[^">]*?([\w.-]+)[">].* = (-?\d+)')
        for line in self.log.read_text(errors="replace").splitlines():
            if found := pattern.match(line):
                yield found[1], found[2], int(found[3]) < 0

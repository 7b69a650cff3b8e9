"""Counts a gateway's instructions with valgrind's callgrind, thread by thread and function by function."""

import collections
import pathlib
import re
import subprocess
from collections.abc import Iterator

from harness.gateway import Gateway

# Instructions by thread, and by thread and function.
Threads = dict[str, int]
Functions = dict[tuple[str, str], int]


def readable(program: str, work: pathlib.Path) -> str:
    """A copy without debug information, which valgrind cannot read where it is newer than valgrind."""
    copy = work / f"stripped-{abs(hash(program))}"
    subprocess.run(["objcopy", "--strip-debug", program, copy], check=True)
    return str(copy)


DIGESTS = "digests"
# valgrind counts each byte of `rep stosb` and `rep movsb` as an instruction. Beyond these sizes the C library uses them.
ENVIRONMENT = {
    "GLIBC_TUNABLES": "glibc.cpu.x86_rep_movsb_threshold=0x40000000:glibc.cpu.x86_rep_stosb_threshold=0x40000000"
}


def before(work: pathlib.Path) -> list[str]:
    """A command prefix. Nothing is counted until it is switched on, so the start costs little. Fair scheduling would hand
    single requests from the loops to the queue, and commits would be smaller."""
    words = ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--instr-atstart=no"]
    return [*words, f"--vgdb-prefix={work}/vgdb", f"--callgrind-out-file={work}/counts.%p"]


class Counting:
    """A gateway under callgrind."""

    def __init__(self, work: pathlib.Path, gateway: Gateway) -> None:
        self.work, self.pid, self.dumps = work, gateway.process.pid, 0
        self.control("instrumentation on")

    def control(self, command: str) -> str:
        words = ["vgdb", f"--pid={self.pid}", f"--vgdb-prefix={self.work}/vgdb", *command.split()]
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout

    def begin(self) -> None:
        self.control("zero")

    def end(self) -> tuple[Threads, Functions]:
        """What was counted since `begin`. `http-0` and `http-1` count together. Digests count apart: valgrind
        has no SHA instructions, so they cost many times what they cost on a processor."""
        names = self.names()
        self.control("dump")
        self.dumps += 1
        threads: Threads = collections.Counter()
        functions: Functions = collections.Counter()
        for file in self.work.glob(f"counts.{self.pid}.{self.dumps}-*"):
            name = names.get(int(file.name.rpartition("-")[2]), "ended")
            for library, function, cost in costs(file.read_text(errors="replace").splitlines()):
                owner = DIGESTS if library.startswith("libcrypto") else name
                threads[owner] += cost
                functions[owner, function] += cost
            file.unlink()
        return threads, functions

    def names(self) -> dict[int, str]:
        """The threads' names by valgrind's numbers, which it reuses."""
        found = re.findall(r"^Thread (\d+): .*\(lwpid (\d+)\)", self.control("v.info scheduler"), re.MULTILINE)
        names = {}
        for number, thread in found:
            comm = pathlib.Path(f"/proc/{self.pid}/task/{thread}/comm")
            names[int(number)] = re.sub(r"-\d+$", "", comm.read_text().strip()) if int(number) > 1 else "main"
        return names


def costs(lines: list[str]) -> Iterator[tuple[str, str, int]]:
    """Each function with its library and its own instructions, in the callgrind format: `fn=(1) name`, later `fn=(1)`, then lines with a
    position and a cost. The line after `calls=` has the callee's."""
    names: dict[str, str] = {}
    library, function, is_call = "", "", False
    for line in lines:
        if match := re.match(r"(fn|cfn|ob|cob)=\((\d+)\)(?: (.*))?$", line):
            kind, number = match[1].removeprefix("c"), match[2]
            if match[3]:
                names[kind + number] = match[3]
            if match[1] == "ob":
                library = pathlib.Path(names[kind + number]).name
            elif match[1] == "fn":
                name = names[kind + number]
                function = f"{name} of {library}" if name.startswith("0x") else name
        elif line.startswith("calls="):
            is_call = True
        elif line[:1] in "0123456789+-*" and line:
            if not is_call:
                yield library, function, int(line.split()[1])
            is_call = False


def demangled(names: list[str]) -> list[str]:
    """Swift's names in a readable form, if there is a toolchain."""
    try:
        words = ["swift", "demangle", "--simplified", "--compact"]
        text = subprocess.run(words, input="\n".join(names), check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return names
    return text.splitlines()

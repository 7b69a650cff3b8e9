"""The system calls of a program as strace reports them: each call with its beginning and its end, in order."""

import dataclasses
import pathlib
import re
import subprocess
from collections.abc import Iterable, Iterator

from harness.waiting import look_until

# Where the kernel lacks these, as on arm64, the C library makes renameat and its like. `parse` names these. Each has so
# many paths.
PLAIN = {"rename": 2, "unlink": 1, "link": 2, "mkdir": 1}
# strace ignores a call behind "?" that the kernel lacks.
FILES = ",".join(("openat,close,write,pwrite64,ftruncate,fdatasync,fsync", *(f"?{name}" for name in PLAIN)))
TALK = "sendto,recvfrom"
# Other calls that change files. The model of the disk must notice a call it does not know.
OTHERS = (
    "writev,pwritev,pwritev2,fallocate,renameat,renameat2,unlinkat,linkat,mkdirat,sync_file_range,truncate,"
    "copy_file_range,sendfile"
)
SYNC_US = 3_000


def strace(file: pathlib.Path, calls: str, *words: str) -> list[str]:
    return ["strace", "-D", "-f", *words, "-o", str(file), "-e", f"trace={calls}"]


def recording(file: pathlib.Path) -> list[str]:
    """A command prefix that records all calls with their bytes. Syncs take as long as on a slow disk, so that much
    happens during them."""
    words = ["--seccomp-bpf", "-xx", "-s", "16777216", "-e", "quiet=attach"]
    words += ["-e", f"inject=fdatasync:delay_enter={SYNC_US}"]
    return strace(file, f"{FILES},{TALK},{OTHERS}", *words)


def listing(file: pathlib.Path) -> list[str]:
    """A command prefix that lists the calls that change files, with the paths of all descriptors."""
    return strace(file, f"{FILES},{OTHERS}", "--seccomp-bpf", "-y", "-s", "0")


def killing(file: pathlib.Path, paths: Iterable[pathlib.Path], call: str, number: int) -> list[str]:
    """A command prefix that kills the program in place of the n-th such call on one of the paths. strace counts by
    thread. With --seccomp-bpf the kernel would still carry out the call."""
    filters = [word for path in paths for word in ("-P", str(path))]
    call = forms(call)
    return strace(file, call, "-s", "0", *filters, "-e", f"inject={call}:signal=SIGKILL:when={number}")


def failing(file: pathlib.Path, call: str, number: int, path: pathlib.Path | None = None) -> list[str]:
    """A command prefix that fails the n-th such call of each thread, on one path only if it is given."""
    words = ["-y", "-s", "0", *(["-P", str(path)] if path else [])]
    words += ["-e", f"inject={forms(call)}:error=EIO:when={number}"]
    return strace(file, f"{FILES},{OTHERS}", *words)


def forms(call: str) -> str:
    """The call as strace must be asked for it on any kernel."""
    return f"?{call},{call}at" if call in PLAIN else call


def finished(file: pathlib.Path, process: subprocess.Popen[bytes], seconds: float = 20) -> list[str]:
    """The lines of the trace, once strace has reported the end of the process."""
    last = re.compile(rf"^{process.pid} +\+\+\+ ", re.MULTILINE)
    if not look_until(lambda: last.search(file.read_text()[-4096:]), seconds, pause=0.005):
        raise RuntimeError(f"strace does not report in {file} that process {process.pid} has ended")
    return file.read_text().splitlines()


@dataclasses.dataclass
class Call:
    name: str
    words: list[str]
    thread: str = ""
    # Negative for a failure, and until the call ends.
    result: int = -1

    def take_words(self, text: str) -> None:
        """Takes the arguments, which an unfinished call brings twice. One for plain paths gets its plain name and form."""
        self.words = text.split(", ")
        name = self.name.removesuffix("at")
        rest = [word for word in self.words if not word.startswith("AT_FDCWD")]
        if name not in PLAIN or len(self.words) - len(rest) < PLAIN[name]:
            return
        if name in ("unlink", "link") and rest.pop() != "0":
            return
        self.name, self.words = name, rest

    def text(self, index: int) -> str:
        return self.bytes(index).decode()

    def bytes(self, index: int) -> bytes:
        """Empty for what is no text, as a message to netlink."""
        _, _, text = self.words[index].partition('"')
        return bytes.fromhex(text.partition('"')[0].replace("\\x", ""))

    def number(self, index: int) -> int:
        return int(self.words[index], 0)


# "begin" or "end" with a call, and "ended" without one where the program ended.
Event = tuple[str, Call | None]
LINE = re.compile(r"^(\d+) +(?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)$")
RESULT = re.compile(r"^(.*)\) += (-?\d+|\?)[^\"]*$")


def parse(lines: Iterable[str]) -> Iterator[tuple[str, Call]]:
    """Pairs of "begin" or "end" and a call. A call that the end of the program interrupted has no end."""
    pending: dict[str, tuple[Call, str]] = {}
    for line in lines:
        if not (match := LINE.match(line)):
            continue
        thread, resumed, name, rest = match.groups()
        if resumed:
            call, begun = pending.pop(thread)
            rest = begun + rest
        else:
            call = Call(name, [], thread)
        if rest.endswith(" <unfinished ...>"):
            rest = rest.removesuffix(" <unfinished ...>")
            call.take_words(rest.rstrip(", "))
            pending[thread] = call, rest
            yield "begin", call
            continue
        if not (match := RESULT.match(rest)):
            continue
        call.take_words(match[1])
        if not resumed:
            yield "begin", call
        if match[2] != "?":
            call.result = int(match[2])
            yield "end", call

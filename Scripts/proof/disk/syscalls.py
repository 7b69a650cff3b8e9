"""What a program asks of the kernel, as strace tells it: each call with its begin and its end, in the order of both."""

import dataclasses
import pathlib
import re
import time

FILES = "openat,close,write,pwrite64,ftruncate,fdatasync,fsync,rename,unlink,link,mkdir"
TALK = "sendto,recvfrom"
# What else changes files. A model of the disk that does not know it must not miss it.
OTHERS = (
    "writev,pwritev,pwritev2,fallocate,renameat,renameat2,unlinkat,linkat,mkdirat,sync_file_range,truncate,"
    "copy_file_range,sendfile"
)
SYNC_US = 3_000


def recording(file):
    """In front of a command: writes all calls, with all their bytes, into the file. Syncs take as long as on a slow disk, so
    that much happens meanwhile."""
    words = ["strace", "-D", "-f", "--seccomp-bpf", "-xx", "-s", "16777216", "-e", "quiet=attach"]
    words += ["-e", f"inject=fdatasync:delay_enter={SYNC_US}"]
    return [*words, "-o", str(file), "-e", f"trace={FILES},{TALK},{OTHERS}"]


def listing(file):
    """In front of a command: lists the calls that change files, with the paths of all descriptors."""
    return ["strace", "-D", "-f", "--seccomp-bpf", "-y", "-s", "0", "-o", str(file), "-e", f"trace={FILES},{OTHERS}"]


def killing(file, paths, call, number):
    """In front of a command: ends the program with SIGKILL in place of the n-th such call on one of the paths. strace counts
    by thread, and with --seccomp-bpf the call would be carried out."""
    filters = [word for path in paths for word in ("-P", str(path))]
    words = ["strace", "-D", "-f", "-s", "0", "-o", str(file), *filters, "-e", f"trace={call}"]
    return [*words, "-e", f"inject={call}:signal=SIGKILL:when={number}"]


def failing(file, call, number, path=None):
    """In front of a command: lists the same calls, and the n-th such call of each thread fails; both of one path only where
    it is given."""
    words = ["strace", "-D", "-f", "-y", "-s", "0", "-o", str(file), *(["-P", str(path)] if path else [])]
    return [*words, "-e", f"trace={FILES},{OTHERS}", "-e", f"inject={call}:error=EIO:when={number}"]


def finished(file, process, seconds=20):
    """The lines of the file, once strace has seen the process end."""
    last = re.compile(rf"^{process.pid} +\+\+\+ ", re.MULTILINE)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        text = pathlib.Path(file).read_text()
        if last.search(text[-4096:]):
            return text.splitlines()
        time.sleep(0.005)
    raise RuntimeError(f"strace does not say in {file} that {process.pid} has ended")


@dataclasses.dataclass
class Call:
    name: str
    words: list
    thread: str = ""
    result: int | None = None

    def text(self, index):
        return self.bytes(index).decode()

    def bytes(self, index):
        return bytes.fromhex(self.words[index].split('"')[1].replace("\\x", ""))

    def number(self, index):
        return int(self.words[index], 0)


LINE = re.compile(r"^(\d+) +(?:<\.\.\. (\w+) resumed>|(\w+)\()(.*)$")
RESULT = re.compile(r"^(.*)\) += (-?\d+|\?)[^\"]*$")


def parse(lines):
    """Pairs of "begin" or "end" and a call. A call that the program's end interrupted has no end."""
    pending = {}
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
            call.words = rest.rstrip(", ").split(", ")
            pending[thread] = call, rest
            yield "begin", call
            continue
        if not (match := RESULT.match(rest)):
            continue
        call.words = match[1].split(", ")
        if not resumed:
            yield "begin", call
        if match[2] != "?":
            call.result = int(match[2])
            yield "end", call

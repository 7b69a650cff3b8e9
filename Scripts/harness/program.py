"""Delays the signals that end a trial until a block has finished."""

import contextlib
import itertools
import json
import os
import pathlib
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypedDict, Unpack

from harness.waiting import look_until

TERMINATING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextlib.contextmanager
def signals_deferred() -> Iterator[None]:
    """Delivers a terminating signal, or the deadline's SIGALRM, only after the block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python delivers signals to the main thread only.
        return
    caught: list[int] = []
    before = {number: signal.getsignal(number) for number in (*TERMINATING, signal.SIGALRM)}
    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, lambda number, _: caught.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for received in caught[:1]:
            signal.raise_signal(received)


KEY = {"ALIBABA_CLOUD_ACCESS_KEY_ID": "prove-id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "prove-secret"}
INHERITED = ("PATH", "HOME", "TMPDIR", "LANG")
# SQLite finds no directory in which it could write a temporary file, as in the image.
NO_TEMPORARY_FILES = {"SQLITE_TMPDIR": "/proc"}
numbers = itertools.count(1)


class DidNotStart(Exception):
    """The journal lacks an event that was waited for."""


class Killable(Protocol):
    """Anything that a trial must end."""

    def kill(self) -> None: ...


class Programs:
    """The programs of one trial. Threads of the trial may start one while it ends: that one is killed as well."""

    def __init__(self) -> None:
        self.started: list[Killable] = []
        self.has_ended = False

    def add(self, program: Killable) -> None:
        # Added before the look at `has_ended`, which `end` sets before it reads the list: one of both sees the program.
        self.started.append(program)
        if self.has_ended:
            program.kill()

    def end(self) -> None:
        self.has_ended = True
        for program in list(self.started):
            program.kill()


class LaunchOptions(TypedDict, total=False):
    """How a program starts: which binary in place of $SLUICE, more of its environment, a command in front of it such as
    strace, what runs between fork and exec, descriptors that it keeps, and the programs that it joins before it has
    printed a word, for the owner who ends them all."""

    binary: str
    environment: dict[str, str]
    before: Sequence[str]
    preexec: Callable[[], object] | None
    descriptors: Sequence[int]
    programs: Programs


class Process:
    """A process that a trial can signal and kill, once it has started."""

    process: subprocess.Popen[bytes] | None = None
    ending = signal.SIGKILL

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: int) -> None:
        if self.process is not None and self.is_running:
            self.process.send_signal(number)

    def kill(self) -> None:
        """Ends it at once, even while it is stopped."""
        self.signal(self.ending)
        if self.process is not None:
            self.process.wait()


class Program(Process):
    """A process whose journal is a file."""

    process: subprocess.Popen[bytes]

    def __init__(self, work: pathlib.Path, name: str, words: Sequence[str], **options: Unpack[LaunchOptions]) -> None:
        self.journal = work / f"{name}-{next(numbers)}.journal"
        command = [*options.get("before", ()), options.get("binary") or os.environ["SLUICE"], *words]
        inherited = {key: value for key, value in os.environ.items() if key in INHERITED}
        # No signal may end the trial after the process has started and before it is added.
        with signals_deferred(), open(self.journal, "wb") as journal:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=journal,
                env=inherited | KEY | NO_TEMPORARY_FILES | options.get("environment", {}),
                preexec_fn=options.get("preexec"),
                pass_fds=options.get("descriptors", ()),
            )
            if (programs := options.get("programs")) is not None:
                programs.add(self)

    def wait_for(self, event: str, seconds: float = 20) -> dict[str, Any]:
        """The first journal line with this event or message, as soon as it is written."""

        def look() -> dict[str, Any] | bool:
            ended = self.process.poll() is not None
            said = (line for line in self.events() if event in (line.get("event"), line.get("message")))
            return next(said, ended)

        if isinstance(found := look_until(look, seconds, pause=0.005), dict):
            return found
        raise DidNotStart(f"the journal does not say '{event}':\n{self.journal.read_text()[-2000:]}")

    def wait_for_start(self, event: str, seconds: float = 20) -> dict[str, Any]:
        """As `wait_for`, but kills a program that does not write the event, or whose caller stops waiting."""
        try:
            return self.wait_for(event, seconds)
        except BaseException:
            self.kill()
            raise

    def events(self) -> Iterator[dict[str, Any]]:
        """The journal so far, without lines that are not complete JSON."""
        for line in self.journal.read_text(errors="replace").splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue

    def stop(self, seconds: float = 60) -> int:
        """Asks it to end, and returns its exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(seconds)


class Host:
    """This machine, by its loopback address. Other hosts have a network, an address or a clock of their own."""

    address = "127.0.0.1"
    # The address at which brokers reach each other.
    route_address = address

    def __init__(self, launch: LaunchOptions | None = None) -> None:
        self.launch: LaunchOptions = launch or {}

    def inside(self) -> contextlib.AbstractContextManager[None]:
        """What this thread starts and connects in the block, it starts and connects on this host."""
        return contextlib.nullcontext()

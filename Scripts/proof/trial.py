"""What a part of the proof works with: a seed, a directory, programs that end with it, and the list of complaints."""

import concurrent.futures
import contextlib
import os
import pathlib
import random
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from harness.check import Run
from harness.gateway import Gateway, Sandbox
from harness.program import Killable, Programs

Program = TypeVar("Program", bound=Killable)


class Unavailable(Exception):
    """This machine cannot run a case. Raised before anything is tried; a later failure is a complaint."""


class Trial(Run):
    # More complaints than fit on a screen do not help.
    complaints_max = 40

    def __init__(self, part: str, work: pathlib.Path, seed: int, is_long: bool, minutes: int | None = None) -> None:
        super().__init__(f"prove: {part}", work)
        self.seed, self.is_long, self.minutes = seed, is_long, minutes
        self.random = random.Random(seed)
        self.skipped: list[str] = []
        self.listeners: list[socket.socket] = []

    def skip(self, name: str, why: str) -> None:
        """Notes a case that this machine cannot run. The verdict names it as not proven."""
        self.skipped.append(name)
        self.say(f"{name} is skipped: {why}")

    @contextlib.contextmanager
    def skips(self, name: str) -> Iterator[None]:
        """Skips the case in the block if the machine lacks something that it needs."""
        try:
            yield
        except Unavailable as error:
            self.skip(name, str(error))

    def gateway(
        self,
        sandbox: Sandbox | str,
        settings: str = "",
        destination: str = "",
        others: str = "",
        destinations: str | None = None,
        data: pathlib.Path | None = None,
        **options: Any,
    ) -> Gateway:
        """A gateway on this trial's data directory, or on `data`. It has one destination, at the sandbox or at a URL;
        `destination` adds settings to it, `others` adds destinations, and `destinations` replaces all of them."""
        endpoint = sandbox if isinstance(sandbox, str) else f"http://localhost:{sandbox.port}"
        target = f'endpoint: "{endpoint}", project: demo, logstore: "*", region: sandbox'
        one = f"  app: {{ {target}, packet: {{ age: 50ms }} {destination} }}"
        all_of_them = f"{destinations or one}\n{others}"
        return Gateway(self.work, data or self.work / "data", all_of_them, settings, programs=self.programs, **options)

    @contextlib.contextmanager
    def pool(self) -> Iterator[tuple[concurrent.futures.ThreadPoolExecutor, Callable[[], Sandbox]]]:
        """A thread for each processor, and the sandbox of the thread that asks for it."""
        own = threading.local()

        def begin() -> None:
            own.sandbox = self.sandbox()

        begin()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2, initializer=begin) as threads:
            yield threads, lambda: own.sandbox

    def nowhere(self) -> str:
        """The URL of a server that takes connections and never answers."""
        self.listeners.append(socket.create_server(("127.0.0.1", 0)))
        return f"http://127.0.0.1:{self.listeners[-1].getsockname()[1]}"

    def remember(self, program: Program) -> Program:
        """Adds something else that must be ended with `kill`."""
        self.programs.add(program)
        return program

    def end_session(self) -> None:
        """Ends the programs of a session. Another one may follow."""
        self.programs.end()
        self.programs = Programs()


class Case:
    """A piece of a trial, whose complaints begin with its name."""

    trial: Trial
    name: str

    def expect(self, holds: object, line: str) -> bool:
        return self.trial.expect(holds, f"{self.name}: {line}")

    def wrong(self, *lines: str) -> None:
        self.trial.wrong(*(f"{self.name}: {line}" for line in lines))

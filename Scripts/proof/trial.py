"""What a part of the proof works with: a seed, a directory, programs that end with it, and the list of complaints."""

import pathlib
import random
import socket
from typing import Any, TypeVar

from harness.gateway import Gateway
from harness.program import Killable, Programs
from harness.sandbox import Sandbox

# More complaints than fit on a screen do not help.
MOST_COMPLAINTS = 40
Program = TypeVar("Program", bound=Killable)


class Trial:
    """One run of one part."""

    def __init__(self, part: str, work: pathlib.Path, seed: int, is_long: bool, minutes: int | None = None) -> None:
        self.part, self.work, self.seed, self.is_long, self.minutes = part, work, seed, is_long, minutes
        self.random = random.Random(seed)
        self.complaints: list[str] = []
        self.skipped: list[str] = []
        self.programs = Programs()
        self.listeners: list[socket.socket] = []

    def wrong(self, *lines: str) -> None:
        """Notes broken promises."""
        self.complaints += lines[: MOST_COMPLAINTS - len(self.complaints)]

    def expect(self, holds: object, line: str) -> bool:
        if not holds:
            self.wrong(line)
        return bool(holds)

    def skip(self, name: str, why: str) -> None:
        """Notes a case that this machine cannot run. The verdict names it as not proven."""
        self.skipped.append(name)
        self.say(f"{name} is skipped: {why}")

    def say(self, line: str) -> None:
        """Prints a count or a figure that was measured."""
        print(f"prove: {self.part}: {line}", flush=True)

    def sandbox(self, **options: Any) -> Sandbox:
        return Sandbox(self.work, programs=self.programs, **options)

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

    def nowhere(self) -> str:
        """The URL of a server that takes connections and never answers."""
        self.listeners.append(socket.create_server(("127.0.0.1", 0)))
        return f"http://127.0.0.1:{self.listeners[-1].getsockname()[1]}"

    def remember(self, program: Program) -> Program:
        """Adds something else that must be ended with `kill`."""
        self.programs.add(program)
        return program

    def end(self) -> None:
        self.programs.end()

    def end_session(self) -> None:
        """Ends the programs of a session. Another one may follow."""
        self.programs.end()
        self.programs = Programs()

"""Shared by the check-* scripts: a directory, programs that end with the check, and a verdict."""

import os
import pathlib
import sys
import tempfile
from collections.abc import Callable
from typing import Any, NoReturn

from harness.gateway import Gateway, Sandbox
from harness.program import Program, Programs


class CheckFailed(Exception):
    """Ends the check with this message."""


class Run:
    complaints_max = sys.maxsize

    def __init__(self, name: str, work: pathlib.Path) -> None:
        self.name, self.work = name, work
        self.complaints: list[str] = []
        self.programs = Programs()

    def say(self, line: str) -> None:
        print(f"{self.name}: {line}", flush=True)

    def wrong(self, *lines: str) -> None:
        self.complaints += lines[: self.complaints_max - len(self.complaints)]

    def expect(self, holds: object, complaint: str) -> bool:
        """Notes a complaint and continues."""
        if not holds:
            self.wrong(complaint)
        return bool(holds)

    def at_most(self, what: str, value: float, most: float, unit: str, says: bool = False) -> None:
        """Compares a figure with the bound for it, and prints both if it `says` so."""
        told = f"{what}: {value:.4g} {unit}, {most:.4g} are allowed"
        if says:
            self.say(told)
        self.expect(value <= most, told)

    def sandbox(self, **options: Any) -> Sandbox:
        return Sandbox(self.work, programs=self.programs, **options)


class Check(Run):
    def fail(self, line: str) -> NoReturn:
        raise CheckFailed(line)

    def require(self, holds: object, complaint: str) -> None:
        if not holds:
            self.fail(complaint)

    def gateway(self, destinations: str, settings: str = "", data: str = "data", **options: Any) -> Gateway:
        return Gateway(self.work, self.work / data, destinations, settings, programs=self.programs, **options)

    def stop(self, gateway: Gateway) -> None:
        """Stops a gateway, which must exit cleanly."""
        code = gateway.stop()
        self.expect(code == 0, f"the gateway ended with {code}:\n{tail(gateway)}")


def tail(program: Program) -> str:
    return "\n".join(program.journal.read_text(errors="replace").splitlines()[-20:])


def run_check(name: str, body: Callable[[Check], None]) -> NoReturn:
    """Runs a check in a temporary directory, prints its complaints and exits."""
    with tempfile.TemporaryDirectory(prefix=f"sluice-{name}-", ignore_cleanup_errors=True) as directory:
        check = Check(name, pathlib.Path(directory))
        try:
            sluice = os.environ["SLUICE"]
            check.require(os.access(sluice, os.X_OK), f"no {sluice}; build it first: swift build")
            body(check)
        except CheckFailed as failure:
            check.complaints.append(str(failure))
        finally:
            check.programs.end()
        if check.complaints:
            programs = (program for program in check.programs.started if isinstance(program, Program))
            print(*map(tail, programs), sep="\n", file=sys.stderr)
    for complaint in check.complaints:
        print(f"{name}: {complaint}", file=sys.stderr)
    print(f"{name}: fine" if not check.complaints else f"{name}: {len(check.complaints)} complaints")
    sys.exit(1 if check.complaints else 0)

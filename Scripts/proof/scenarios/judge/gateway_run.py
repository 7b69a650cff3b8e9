"""One process of the gateway, which only the judge may end."""

import contextlib
import json
import pathlib
import signal
import time
from collections.abc import Iterator

from harness.gateway import Gateway


class GatewayRun:
    """A gateway process, with the periods in which it was stopped by a signal."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.began, self.ended = gateway.began, float("inf")
        self.pauses: list[tuple[float, float]] = []
        self.is_asked = False

    def starved(self) -> float:
        """Seconds for which its threads wanted to run and had no core."""
        total = 0
        for thread in pathlib.Path(f"/proc/{self.gateway.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):  # The thread has ended, or the kernel does not report it.
                total += int((thread / "schedstat").read_text().split()[1])
        return total / 1e9

    def ask_to_end(self) -> None:
        self.is_asked = True
        self.gateway.signal(signal.SIGTERM)

    def end(self) -> bool:
        """Kills the process. Returns whether it was still alive."""
        was_alive = self.gateway.is_running
        self.gateway.kill()
        self.ended = time.monotonic()
        return was_alive

    def wrong(self, was_alive: bool) -> Iterator[str]:
        """Complaints after its end: it ended by itself, or its journal has an error. A crash writes its reason
        between the journal's lines."""
        code = self.gateway.process.returncode
        killed = was_alive and code == -signal.SIGKILL
        if not killed and not (self.is_asked and code == 0):
            yield f"the gateway ended by itself with {code}"
        *lines, rest = self.gateway.journal.read_text(errors="replace").split("\n")
        # A kill can interrupt the writing of a line.
        lines += [rest] if rest and not killed else []
        bad = [line for line in lines if is_bad(line)]
        yield from (f"the journal says: {line[:300]}" for line in bad[:10])
        if len(bad) > 10:
            yield f"and {len(bad) - 10} more such lines"


def is_bad(line: str) -> bool:
    try:
        return json.loads(line)["level"] == "error"
    except (ValueError, TypeError, KeyError):
        return True

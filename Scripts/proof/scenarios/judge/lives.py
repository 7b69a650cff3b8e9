"""From a start of the gateway to its end, which nobody but the judge may bring about."""

import contextlib
import json
import pathlib
import signal
import time
from collections.abc import Iterator

from harness.gateway import Gateway


class GatewayRun:
    """With the pauses in which the gateway was stopped."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.began, self.ended = gateway.began, float("inf")
        self.pauses: list[tuple[float, float]] = []
        self.is_asked = False

    def starved(self) -> float:
        """For how many seconds its threads wanted to run and got no core."""
        total = 0
        for thread in pathlib.Path(f"/proc/{self.gateway.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):  # It has ended, or the kernel does not tell.
                total += int((thread / "schedstat").read_text().split()[1])
        return total / 1e9

    def ask_to_end(self) -> None:
        self.is_asked = True
        self.gateway.signal(signal.SIGTERM)

    def end(self) -> bool:
        """Kills it, if it still lives: whether it did."""
        was_alive = self.gateway.is_running
        self.gateway.kill()
        self.ended = time.monotonic()
        return was_alive

    def wrong(self, was_alive: bool) -> Iterator[str]:
        """What must not be when it has ended: that it did so by itself, or that its journal tells of a fault. A gateway
        that breaks down writes why between the lines of its journal."""
        code = self.gateway.process.returncode
        killed = was_alive and code == -signal.SIGKILL
        if not killed and not (self.is_asked and code == 0):
            yield f"the gateway ended by itself with {code}"
        *lines, rest = self.gateway.journal.read_text(errors="replace").split("\n")
        # A kill may come between two pieces of a line.
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

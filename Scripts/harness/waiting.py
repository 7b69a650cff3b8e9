"""Waits for a condition, and work on threads beside a trial."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from harness.measures import delay

Value = TypeVar("Value")


def look_until(holds: Callable[[], Value], seconds: float, pause: float = 0.02) -> Value:
    """The value of the condition as soon as it holds, or when the time is over: so many seconds, times the delay of the
    machine then. It is asked once at least."""
    began, most = time.monotonic(), seconds
    while not (value := holds()):
        if time.monotonic() - began >= most:
            if most != seconds or (most := seconds * delay()) == seconds:
                break
        time.sleep(pause)
    return value


def wait_until(
    holds: Callable[[], object], seconds: float = 20, what: str = "it was not prepared", pause: float = 0.02
) -> None:
    """As `look_until`, but raises `TimeoutError` with `what` when it takes too long."""
    if not look_until(holds, seconds, pause):
        raise TimeoutError(what)


class Worker:
    """`work` runs on each of its threads until it is ended."""

    def begin(self, count: int = 1) -> None:
        self.ended = threading.Event()
        self.threads = [threading.Thread(target=self.work, args=(number,), daemon=True) for number in range(count)]
        for thread in self.threads:
            thread.start()

    def work(self, number: int) -> None:
        """The work of one thread. It looks at `ended` at short intervals."""
        raise NotImplementedError

    def end(self) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join(60)

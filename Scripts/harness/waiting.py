"""Waits for a condition, and work on threads beside a trial."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")


def look_until(holds: Callable[[], Value], seconds: float, pause: float = 0.02) -> Value:
    """The value of the condition as soon as it holds, or when the time is over. It is asked once at least."""
    deadline = time.monotonic() + seconds
    while not (value := holds()) and time.monotonic() < deadline:
        time.sleep(pause)
    return value


def wait_until(
    holds: Callable[[], object],
    seconds: float = 20,
    what: str = "the prepared state was not reached",
    pause: float = 0.02,
) -> None:
    """Returns once the condition holds. Raises `TimeoutError` with `what` when it takes too long."""
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

"""Waits for a condition."""

import time
from collections.abc import Callable


def wait_until(
    holds: Callable[[], object],
    seconds: float = 20,
    what: str = "the prepared state was not reached",
    pause: float = 0.02,
) -> None:
    """Returns once the condition holds. Raises `TimeoutError` with `what` when it takes too long."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(pause)

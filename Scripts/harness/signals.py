"""Delays the signals that end a trial until a block has finished."""

import contextlib
import signal
import threading
from collections.abc import Iterator

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

"""Signals that would end this, kept for the end of a block that must not be left half done."""

import contextlib
import signal
import threading

ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@contextlib.contextmanager
def undisturbed():
    """Whoever loses patience meanwhile, or whose time is over, has to wait until this block is done."""
    if threading.current_thread() is not threading.main_thread():
        yield  # No other gets signals.
        return
    caught = []
    before = {number: signal.getsignal(number) for number in (*ENDS, signal.SIGALRM)}
    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, lambda number, _: caught.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in caught[:1]:
            signal.raise_signal(number)

"""How late this machine wakes a thread that sleeps."""

import time

from harness.worker import Worker

EVERY = 0.02
# Seconds. A machine that is later than this proves nothing about timeouts, and must not pass.
MOST = 1.0


class Lateness(Worker):
    """Measures until it is ended; `most` is the longest delay."""

    def __init__(self) -> None:
        self.seen = 0.0
        self.begin()

    def work(self, _: int) -> None:
        began = time.monotonic()
        while not self.ended.wait(EVERY):
            self.seen, began = max(self.seen, time.monotonic() - began - EVERY), time.monotonic()

    @property
    def most(self) -> float:
        return min(self.seen, MOST)

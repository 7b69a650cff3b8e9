"""How late this machine wakes a thread that sleeps."""

import threading
import time

EVERY = 0.02
# Seconds. A machine that is later than this proves nothing about timeouts, and must not pass.
MOST = 1.0


class Lateness:
    """Measures until it is ended; `most` is the longest delay."""

    def __init__(self) -> None:
        self.seen, self.ended = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self) -> None:
        while True:
            began = time.monotonic()
            if self.ended.wait(EVERY):
                return
            self.seen = max(self.seen, time.monotonic() - began - EVERY)

    @property
    def most(self) -> float:
        return min(self.seen, MOST)

    def end(self) -> None:
        self.ended.set()
        self.thread.join()

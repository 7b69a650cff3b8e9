"""How late this machine makes a thread that only wants to wake up now and then."""

import threading
import time

EVERY = 0.02
# Seconds. A machine that is later than that proves nothing about timeouts, and must not pass for it.
MOST = 1.0


class Lateness:
    """Looks for as long as it is not ended; `most` is the worst that was seen."""

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

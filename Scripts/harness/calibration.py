"""How slow this machine is at this moment. Limits on time are multiples of it, so that a verdict depends on the
program and not on the machine or on the work beside it."""

import json
import time
import zlib
from collections.abc import Callable

# A fixed piece of work: text that is parsed, and bytes that are compressed. It evicts caches as a gateway's work does.
_TEXT = json.dumps([{"number": number, "text": "the quick brown fox " * 3} for number in range(30_000)])
# Its processor seconds on an idle core of an Intel Xeon (Sapphire Rapids).
_USUAL = 0.020


def _work() -> int:
    return len(json.loads(_TEXT)) + len(zlib.compress(_TEXT.encode(), 1))


def slowness(tries: int = 3) -> float:
    """How many times the usual processor time this machine needs now; at least 1. It is the median of several tries,
    so measure it right before or after the work that is judged."""
    return max(1.0, sorted(_measured(time.thread_time) for _ in range(tries))[tries // 2])


def delay(tries: int = 3) -> float:
    """Like `slowness`, but for time on the clock: other work that takes the cores counts too. Returns the longest."""
    return max(1.0, *(_measured(time.monotonic) for _ in range(tries)))


def _measured(clock: Callable[[], float]) -> float:
    began = clock()
    _work()
    return (clock() - began) / _USUAL

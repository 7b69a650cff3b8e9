"""A client that is as it should be, beside whatever goes on, and what it had to wait for."""

import calendar
import random
import threading
import time

from device import Device, body, log

# Seconds: what 99 of 100 answers and deliveries may take on a machine that does other things too.
ANSWER, DELIVERY = 0.5, 2


class Neighbour:
    """Writes a log now and then on a connection that it keeps, from an address of its own."""

    def __init__(self, port, seed, host="gateway", pause=0.02):
        self.device, self.random, self.pause = Device(port, address="127.0.3.1", host=host), random.Random(seed), pause
        self.times, self.sent, self.problem = [], {}, None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self):
        try:
            while not self.ended.wait(self.pause):
                each = log(f"neighbour/{len(self.sent)}", self.random)
                began = time.monotonic()
                status, answer = self.device.post("/logs/neighbour", body([each]))
                self.times.append(time.monotonic() - began)
                if status != 200:
                    raise OSError(f"answer {status}: {answer[:200]!r}")
                self.sent[each["name"]] = time.time()
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"

    def slowest(self, since=0):
        """What 99 of 100 answers took at most, from one of them on."""
        times = sorted(self.times[since:]) or [float("inf")]
        return times[len(times) * 99 // 100]

    def end(self):
        self.ended.set()
        self.thread.join()
        self.device.close()

    def judge(self, trial, arrived, answer_within=ANSWER):
        """`arrived` are the moments at which the sandbox got logs, by name."""
        trial.expect(not self.problem, f"a neighbour: {self.problem}")
        missing = [name for name in self.sent if name not in arrived]
        trial.expect(not missing, f"{len(missing)} of {len(self.sent)} logs of a neighbour are missing")
        delays = sorted(seconds(arrived[name]) - when for name, when in self.sent.items() if name in arrived)
        answer, delay = self.slowest(), delays[len(delays) * 99 // 100] if delays else float("inf")
        trial.expect(answer < answer_within, f"99 of 100 answers to a neighbour took up to {answer:.2f} s")
        trial.expect(delay < DELIVERY, f"99 of 100 logs of a neighbour were at SLS after up to {delay:.2f} s")
        trial.say(f"a neighbour: {len(self.times)} requests, 99 of 100 answered within {answer * 1000:.0f} ms "
                  f"and delivered within {delay * 1000:.0f} ms")


def seconds(text):
    """Since 1970, of what the sandbox says: 2026-11-22T07:05:50.245Z."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction or 0}")

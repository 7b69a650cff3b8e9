"""SLS and a gateway whose clock is set by hand, and what must come of all that is sent."""

import json
import time

import faked_clock
from device import Device, body, is_whole, log
from figures import wanted

# Of one processor, for a thread, while nothing is to be done but to try again now and then. One that spins wants all of it.
BUSY = 0.5
# What a correction may take: the next attempt behind a pause may be a minute away. Mostly it is seconds.
CORRECTED = 75


class Scene:
    """SLS and a gateway, of which the gateway, or both, believe a clock that is set by hand."""

    def __init__(self, trial, name, at=None, sls_too=False, destination=""):
        self.trial, self.name, self.destination = trial, name, destination
        self.work = trial.work / name
        self.work.mkdir()
        self.clock = faked_clock.FakedClock(self.work)
        if at is not None:
            self.clock.set(at)
        # `env` makes what libfaketime shares, so that the program's own environment stays where Swift looks for its words.
        self.faked = {"environment": self.clock.environment, "before": ["env"]}
        self.sandbox = trial.sandbox(**(self.faked if sls_too else {}))
        self.sent = {}
        self.start()

    def start(self):
        settings = "queue: { max_age: 1h }\ndrain_timeout: 100ms"
        self.gateway = self.trial.gateway(
            self.sandbox, settings=settings, destination=self.destination, data=self.work / "data", **self.faked
        )
        self.device = Device(self.gateway.devices)

    def restart(self):
        self.device.close()
        self.wrong_unless(self.gateway.stop() == 0, "the gateway did not end as it should")
        faked_clock.forget(self.gateway.process.pid)
        self.start()

    def post(self, label, count=5, logstore="jumps", **fields):
        """Logs without a time of their own, unless it is among the fields."""
        logs = [log(f"{self.name}/{label}/{number}", self.trial.random) | fields for number in range(count)]
        status, answer = self.device.post(f"/logs/{logstore}", body(logs))
        if self.wrong_unless(status == 200, f"{label}: answer {status} {answer[:200]!r}"):
            self.sent |= {each["name"]: self.clock.now for each in logs}
        return answer

    def rest(self, label, seconds):
        """The gateway has nothing to do but wait: no loop may spin."""
        before = wanted(self.gateway.process.pid)
        time.sleep(seconds)
        after = wanted(self.gateway.process.pid)
        used = max(after[thread] - before.get(thread, 0) for thread in after) / seconds
        self.wrong_unless(used <= BUSY, f"{label}: a thread wants {used:.0%} of a processor while nothing is to do")
        return used

    def settled(self, dead=0, within=CORRECTED):
        """All that was sent is at SLS, once, and nothing went another way. Returns the arrived logs by name."""
        began = time.monotonic()
        whole = self.gateway.drained(within)
        took = time.monotonic() - began
        ledger = whole["ledger"]
        self.wrong_unless(ledger["queued"] == 0, f"after {took:.0f} s there are still logs in the queue: {self.trouble()}")
        lost = {"expired": 0, "discarded": 0, "dead": dead}
        found = {name: ledger[name] for name in lost}
        self.wrong_unless(whole["closed"] and found == lost, f"the ledger is {ledger}, and should have {lost}")
        arrived = {}
        for each in self.sandbox.logs():
            if not self.wrong_unless(is_whole(each), f"a log was altered: {each}"):
                continue
            self.wrong_unless(each["name"] not in arrived, f"{each['name']} is there twice")
            arrived[each["name"]] = each
        missing = [name for name in self.sent if name not in arrived]
        self.wrong_unless(len(missing) == dead, f"missing are {missing[:5]}, {len(missing)} in all; dead {dead}")
        return arrived, took

    def status(self):
        return json.loads(self.gateway.ask("/admin/status"))["destinations"][0]

    def trouble(self):
        return self.status()["trouble"]

    def refused_for_time(self):
        return self.sandbox.control("GET", "/stats")["errors"].get("RequestTimeExpired", 0)

    def wrong_unless(self, holds, line):
        return self.trial.expect(holds, f"{self.name}: {line}")

    def end(self):
        """Frees ports and memory for the next scene."""
        self.device.close()
        for program in (self.gateway, self.sandbox):
            program.kill()
            faked_clock.forget(program.process.pid)

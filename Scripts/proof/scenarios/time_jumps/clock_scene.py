"""SLS and a gateway with a wall clock that the trial sets, and what must come of the logs."""

import json
import time
from typing import Any

from harness.calibration import slowness
from harness.process import busy
from harness.program import Program
from harness.sandbox import Log
from proof.clients.device import Device, body, is_whole, log
from proof.faults import fake_clock
from proof.trial import Case, Trial

# The shares of one processor that a thread may use and may want while the gateway only retries now and then. A
# spinning thread always uses one, or wants one that others have. A thread that wakes up now and then also waits for
# a processor, but for less.
BUSY, WANTS = 0.1, 0.9
# Seconds of a second measurement that confirms the first: that may have seen the end of earlier work.
LONG_LOOK = 2
# Seconds until the delivery after a correction: the next attempt after a pause may be a minute away, but mostly
# takes seconds.
CORRECTED = 75


class ClockScene(Case):
    """SLS and a gateway; the gateway, or both, run with a wall clock that the trial sets."""

    def __init__(
        self, trial: Trial, name: str, at: float | None = None, sls_too: bool = False, destination: str = ""
    ) -> None:
        self.trial, self.name, self.destination = trial, name, destination
        self.work = trial.work / name
        self.work.mkdir()
        self.clock = fake_clock.FakedClock(self.work)
        # Programs from here on belong to this scene.
        self.mark = len(trial.programs.started)
        self.opened: Device | None = None
        if at is not None:
            self.clock.set(at)
        # `env` creates what libfaketime shares, so that the environment of the program itself stays where Swift
        # looks for its arguments.
        self.faked: dict[str, Any] = {"environment": self.clock.environment, "before": ["env"]}
        self.sls = self.faked if sls_too else {}
        # The clock's time at each log, and the log's own time.
        self.sent: dict[str, float] = {}
        self.right: dict[str, int] = {}

    def begin(self) -> None:
        self.sandbox = self.trial.sandbox(**self.sls)
        self.start()

    def start(self) -> None:
        settings = "queue: { max_age: 1h }\ndrain_timeout: 100ms"
        self.gateway = self.trial.gateway(
            self.sandbox, settings=settings, destination=self.destination, data=self.work / "data", **self.faked
        )
        self.opened = Device(self.gateway.devices)

    @property
    def device(self) -> Device:
        if self.opened is None:
            raise RuntimeError(f"{self.name} has not begun")
        return self.opened

    def restart(self) -> None:
        self.device.close()
        self.expect(self.gateway.stop() == 0, "the gateway did not stop in order")
        fake_clock.forget(self.gateway.process.pid)
        self.start()

    def post(self, label: str, count: int = 5, logstore: str = "jumps", **fields: object) -> bytes:
        """Posts logs, without a time of their own unless it is among the fields."""
        logs = [log(f"{self.name}/{label}/{number}", self.trial.random) | fields for number in range(count)]
        status, answer = self.device.post(f"/logs/{logstore}", body(logs))
        if self.expect(status == 200, f"{label}: answer {status} {answer[:200]!r}"):
            self.sent |= {each["name"]: self.clock.now for each in logs}
            self.right |= {each["name"]: each["__time__"] for each in logs if "__time__" in each}
        return answer

    def check_idle(self, label: str, seconds: float) -> float:
        """Checks that no loop spins while the gateway has nothing to do."""
        used, wants = self.busiest(seconds)
        if used > BUSY or wants > WANTS:
            used, wants = self.busiest(LONG_LOOK)
        slow = slowness()
        calm = used <= BUSY * slow and wants <= WANTS * slow
        self.expect(
            calm, f"{label}: a thread has {used:.0%} of a processor, and wants {wants:.0%}, while the gateway is idle"
        )
        return used

    def busiest(self, seconds: float) -> tuple[float, float]:
        """The largest share of a processor that one thread uses, and the largest that one wants."""
        before, began = busy(self.gateway.process.pid), time.monotonic()
        time.sleep(seconds)
        after, took = busy(self.gateway.process.pid), time.monotonic() - began
        grown = [[now - then for now, then in zip(after[thread], before.get(thread, (0, 0)))] for thread in after]
        return max(ran for ran, _ in grown) / took, max(ran + waited for ran, waited in grown) / took

    def check_delivered(self, dead: int = 0, within: float = CORRECTED) -> tuple[dict[str, Log], float]:
        """All logs must be at SLS once, and none lost in another way. Returns the arrived logs by name."""
        began = time.monotonic()
        whole = self.gateway.drain(within)
        took = time.monotonic() - began
        ledger = whole["ledger"]
        self.expect(ledger["queued"] == 0, f"after {took:.0f} s there are still logs in the queue: {self.trouble()}")
        lost = {"expired": 0, "discarded": 0, "dead": dead}
        found = {name: ledger[name] for name in lost}
        self.expect(whole["closed"] and found == lost, f"the ledger is {ledger}, expected {lost}")
        arrived = {}
        for each in self.sandbox.logs():
            if not self.expect(is_whole(each), f"a log was altered: {each}"):
                continue
            self.expect(each["name"] not in arrived, f"{each['name']} arrived twice")
            arrived[each["name"]] = each
        missing = [name for name in self.sent if name not in arrived]
        self.expect(len(missing) == dead, f"{len(missing)} logs are missing, expected {dead}: {missing[:5]}")
        return arrived, took

    def status(self) -> dict[str, Any]:
        return json.loads(self.gateway.ask("/admin/status"))["destinations"][0]

    def trouble(self) -> object:
        return self.status()["trouble"]

    def refused_for_time(self) -> int:
        return self.sandbox.control("GET", "/stats")["errors"].get("RequestTimeExpired", 0)

    def end(self) -> None:
        """Ends the programs, which frees ports and memory for the next scene."""
        if self.opened:
            self.opened.close()
        for program in self.trial.programs.started[self.mark :]:
            program.kill()
            if isinstance(program, Program):
                fake_clock.forget(program.process.pid)

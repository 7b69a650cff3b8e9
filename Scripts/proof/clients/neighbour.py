"""A client that is as it should be, beside whatever goes on, and what it had to wait for."""

import calendar
import random
import threading
import time

from proof.clients.device import Device, body, log
from proof.trial import Trial

# Seconds: what 99 of 100 answers and deliveries may take beyond what they take at a gateway to which nothing happens.
ANSWER, DELIVERY = 0.5, 2
# Seconds from one log to the next: what a device waits for an answer makes no log less.
EVERY = 0.05


class Neighbour:
    """Writes a log every so often on a connection that it keeps, from an address of its own. Those that were due while an
    answer was late go together, and each waits from the moment when it was due: one long stall is not one log of thousands."""

    def __init__(self, port: int, seed: int, host: str = "gateway") -> None:
        self.device, self.random = Device(port, seconds=30, address="127.0.3.1", host=host), random.Random(seed)
        # When each was due and what its answer took from then on; when its log was due, by name.
        self.waits: list[tuple[float, float]] = []
        self.sent: dict[str, float] = {}
        self.problem: str | None = None
        # The one that waits for its answer.
        self.open: float | None = None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.write)
        self.thread.start()

    def write(self) -> None:
        due = time.monotonic()
        try:
            while not self.ended.wait(max(0, due - time.monotonic())):
                self.open, shift = due, time.time() - time.monotonic()
                moments = [due + EVERY * number for number in range(1 + int((time.monotonic() - due) / EVERY))]
                logs = [log(f"neighbour/{len(self.sent) + number}", self.random) for number in range(len(moments))]
                status, answer = self.device.post("/logs/neighbour", body(logs))
                self.waits += [(moment, time.monotonic() - moment) for moment in moments]
                self.open, due = None, moments[-1] + EVERY
                if status != 200:
                    raise OSError(f"answer {status}: {answer[:200]!r}")
                self.sent |= {each["name"]: moment + shift for each, moment in zip(logs, moments)}
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"

    def slowest(self, begin: float = 0.0, end: float = float("inf"), share: float = 0.99) -> float | None:
        """What so many of the answers took at most that were due in this time. One that has not come counts as well;
        none is no answer."""
        due, waits = self.open, list(self.waits)
        if due is not None:
            waits.append((due, time.monotonic() - due))
        times = sorted(took for due, took in waits if begin <= due <= end)
        return times[min(len(times) - 1, int(len(times) * share))] if times else None

    def end(self) -> None:
        self.ended.set()
        self.thread.join()
        self.device.close()


class ControlGateway:
    """A gateway and an SLS to which nothing happens, with a neighbour: what it waits for comes from the machine alone."""

    def __init__(self, trial: Trial) -> None:
        self.sandbox = trial.sandbox()
        self.gateway = trial.gateway(self.sandbox, data=trial.work / "aside")
        self.neighbour = Neighbour(self.gateway.devices, trial.seed)

    def end(self) -> None:
        self.neighbour.end()

    def delays(self) -> list[float]:
        self.gateway.require_drained()
        return delays(self.neighbour, {each["name"]: each["__received__"] for each in self.sandbox.logs()})


def delays(neighbour: Neighbour, arrived: dict[str, str]) -> list[float]:
    """What deliveries took, the longest at the end."""
    return sorted(seconds(arrived[name]) - when for name, when in neighbour.sent.items() if name in arrived)


def judge(
    trial: Trial,
    neighbour: Neighbour,
    arrived: dict[str, str],
    aside: ControlGateway,
    strain: float,
    answer_within: float = ANSWER,
) -> None:
    """`arrived` are the moments at which the sandbox got logs, by name; `strain` is how crowded the machine was."""
    trial.expect(not neighbour.problem, f"a neighbour: {neighbour.problem}")
    trial.expect(not aside.neighbour.problem, f"a neighbour of nothing: {aside.neighbour.problem}")
    missing = [name for name in neighbour.sent if name not in arrived]
    trial.expect(not missing, f"{len(missing)} of {len(neighbour.sent)} logs of a neighbour are missing")
    took, alone = delays(neighbour, arrived) or [float("inf")], aside.delays() or [0]
    delay = took[len(took) * 99 // 100]
    answer, calm = neighbour.slowest() or float("inf"), aside.neighbour.slowest(share=1) or 0.0
    within = strain * answer_within + calm
    trial.expect(
        answer < within, f"99 of 100 answers to a neighbour took up to {answer:.2f} s, {within:.2f} s are allowed"
    )
    within = strain * (answer_within + DELIVERY) + alone[-1]
    trial.expect(
        delay < within,
        f"99 of 100 logs of a neighbour were at SLS after up to {delay:.2f} s, {within:.2f} s are allowed",
    )
    trial.say(
        f"a neighbour: {len(neighbour.waits)} logs, 99 of 100 answered within {answer * 1000:.0f} ms "
        f"and delivered within {delay * 1000:.0f} ms; elsewhere all within {calm * 1000:.0f} and {alone[-1] * 1000:.0f} ms"
    )


def seconds(text: str) -> float:
    """Since 1970, of what the sandbox says: 2026-11-22T07:05:50.245Z."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction or 0}")

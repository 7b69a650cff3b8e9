"""An ordinary client beside an attack, and how long it waits for its answers."""

import contextlib
import datetime
import random
import time

from harness.measures import slowness
from harness.waiting import Worker
from proof.clients.device import ConnectionLost, Device, body, log
from proof.trial import Trial

# Seconds: allowed for the 99th percentile of answers and deliveries beyond the times at an undisturbed gateway.
ANSWER, DELIVERY = 0.5, 2
# Seconds between logs. Waiting for an answer does not reduce their number.
EVERY = 0.05


class Neighbour(Worker):
    """Writes a log at a fixed pace on one connection, from an address of its own. Logs that fall due while an
    answer is late are sent together, and each wait counts from its due time. Otherwise one long stall would count
    as a single log among thousands."""

    def __init__(self, port: int, seed: int, host: str = "gateway") -> None:
        self.device, self.random = Device(port, seconds=30, address="127.0.3.1", host=host), random.Random(seed)
        # Due time and wait of each log; the due time of each log by name.
        self.waits: list[tuple[float, float]] = []
        self.sent: dict[str, float] = {}
        self.problem: str | None = None
        # The due time of the request that waits for its answer.
        self.waiting_since: float | None = None
        self.begin()

    def work(self, _: int) -> None:
        due = time.monotonic()
        try:
            while not self.ended.wait(max(0, due - time.monotonic())):
                self.waiting_since, shift = due, time.time() - time.monotonic()
                moments = [due + EVERY * number for number in range(1 + int((time.monotonic() - due) / EVERY))]
                logs = [log(f"neighbour/{len(self.sent) + number}", self.random) for number in range(len(moments))]
                status, answer = self.device.post("/logs/neighbour", body(logs))
                self.waits += [(moment, time.monotonic() - moment) for moment in moments]
                self.waiting_since, due = None, moments[-1] + EVERY
                if status != 200:
                    raise OSError(f"answer {status}: {answer[:200]!r}")
                self.sent |= {each["name"]: moment + shift for each, moment in zip(logs, moments)}
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"

    def slowest(self, begin: float = 0.0, end: float = float("inf"), share: float = 0.99) -> float | None:
        """The longest wait of this share of the logs that were due in this period. A log without an answer yet
        counts with its wait so far. None when no log was due."""
        due, waits = self.waiting_since, list(self.waits)
        if due is not None:
            waits.append((due, time.monotonic() - due))
        times = sorted(took for due, took in waits if begin <= due <= end)
        return times[min(len(times) - 1, int(len(times) * share))] if times else None

    def end(self) -> None:
        super().end()
        self.device.close()


class SteadyClients(Worker):
    """Clients that send the same request at a steady pace, each on a connection that it keeps."""

    def __init__(self, port: int, count: int, request: bytes) -> None:
        self.port, self.request = port, request
        self.times: list[float] = []
        self.failures: list[str] = []
        self.begin(count)

    def work(self, number: int) -> None:
        try:
            # From another address than attackers', as in production.
            with contextlib.closing(Device(self.port, 60, f"127.0.1.{number + 1}")) as device:
                while not self.ended.wait(0.02):
                    began = time.monotonic()
                    device.socket.sendall(self.request)
                    status, answer = device.answer()
                    self.times.append(time.monotonic() - began)
                    if status != 200:
                        raise OSError(f"answer {status}: {answer[:200]!r}")
        except (OSError, ConnectionLost) as error:
            self.failures.append(str(error))


class ControlGateway:
    """A gateway and a sandbox that nothing disturbs, with a neighbour. Its waits come from the machine alone."""

    def __init__(self, trial: Trial) -> None:
        self.trial, self.sandbox = trial, trial.sandbox()
        self.gateway = trial.gateway(self.sandbox, data=trial.work / "aside")
        self.neighbour = Neighbour(self.gateway.devices, trial.seed)

    def delays(self) -> list[float]:
        self.gateway.require_drained()
        return delays(self.neighbour, {each["name"]: each["__received__"] for each in self.sandbox.logs()})

    def check(self, neighbour: Neighbour, arrived: dict[str, str], contention: float, within: float = ANSWER) -> None:
        """`arrived` holds the arrival times at the sandbox by log name; `contention` is that for processors."""
        trial, own = self.trial, self.neighbour
        trial.expect(not neighbour.problem, f"a neighbour: {neighbour.problem}")
        trial.expect(not own.problem, f"the undisturbed neighbour: {own.problem}")
        missing = [name for name in neighbour.sent if name not in arrived]
        trial.expect(not missing, f"{len(missing)} of {len(neighbour.sent)} logs of the neighbour are missing")
        took, alone = delays(neighbour, arrived) or [float("inf")], self.delays() or [0]
        answer, calm = neighbour.slowest() or float("inf"), own.slowest(share=1) or 0.0
        crowded = contention * slowness()
        who, allowed = f"99 of 100 of a neighbour's {len(neighbour.waits)} logs were", crowded * within + calm
        trial.at_most(f"{who} answered (elsewhere all within {calm:.3f} s)", answer, allowed, "s", says=True)
        delay, allowed = took[len(took) * 99 // 100], crowded * (within + DELIVERY) + alone[-1]
        trial.at_most(f"{who} delivered (elsewhere all within {alone[-1]:.3f} s)", delay, allowed, "s", says=True)


def delays(neighbour: Neighbour, arrived: dict[str, str]) -> list[float]:
    """The delivery times, in ascending order."""
    moments = {name: datetime.datetime.fromisoformat(text).timestamp() for name, text in arrived.items()}
    return sorted(moments[name] - when for name, when in neighbour.sent.items() if name in moments)

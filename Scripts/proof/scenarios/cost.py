"""No request within the default limits occupies a loop for more than 50 ms, or a worker thread for more than a second,
on a machine as fast as the usual one."""

import time
import typing

from harness.gateway import Gateway
from harness.measures import busy, contention, slowness, thread_seconds
from proof.attacks import costly_requests
from proof.attacks.costly_requests import KNOWN, mutated, random_genes
from proof.attacks.pieces import Built, Genes
from proof.clients.device import exchange, request
from proof.clients.neighbour import SteadyClients
from proof.trial import Trial

# Processor seconds that one request may take of a loop and of a worker thread, times the slowness of the machine.
LOOP_BAR, BAR = 0.05, 1.0
# How often a request that seems too expensive is measured again: other processes evict caches and share cores.
TRIES = 8
# Seconds of search for each dialect.
CLIMB = {False: 1, True: 90}
# Statuses that count as right: accepted, or refused for the content. 503 is right on an empty queue: the content asks
# for more logstores than a destination may have.
RIGHT = {200, 204, 400, 413, 503}
# Nothing leaves this gateway, so the queue drops its oldest logs.
SETTINGS = "queue: { max_bytes: 128MiB, overflow: drop_oldest }"


class Cost(typing.NamedTuple):
    """Processor seconds of one request: those of the thread that handled it, and those of its loop."""

    thread: float
    loop: float

    def fits(self, slowness: float = 1) -> bool:
        return self.thread <= BAR * slowness and self.loop <= LOOP_BAR * slowness

    def least(self, other: "Cost") -> "Cost":
        return Cost(min(self.thread, other.thread), min(self.loop, other.loop))

    def __str__(self) -> str:
        return f"{self.thread * 1000:.0f} ms, {self.loop * 1000:.0f} ms of a loop"


NOTHING = Cost(0.0, 0.0)


def status_and_beginning(port: int, sent: bytes) -> tuple[int, bytes]:
    """The status and the beginning of the body. Answers can be large, so the rest is read and dropped."""
    beginning = b""
    for piece in exchange(port, sent):
        beginning += piece if len(beginning) < 4096 else b""
    head, _, body = beginning.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body


class CostMeter:
    gateway: Gateway

    def __init__(self, trial: Trial) -> None:
        self.trial, self.starts = trial, 0
        # Measured again beside each request that seems too expensive.
        self.slowness = slowness()
        self.where = trial.nowhere()
        self.start()

    def start(self) -> None:
        """Starts on an empty queue: streams of one search would leave no room for those of the next."""
        if self.starts:
            self.gateway.kill()
        self.starts += 1
        data = self.trial.work / f"data-{self.starts}"
        self.gateway = self.trial.gateway(self.where, settings=SETTINGS, data=data)

    @property
    def allowed(self) -> Cost:
        return Cost(BAR * self.slowness, LOOP_BAR * self.slowness)

    @property
    def pid(self) -> int:
        return self.gateway.process.pid

    def send(self, made: Built) -> tuple[Cost, int | None, bytes]:
        """The cost of the request, its status, and the beginning of the answer."""
        path, content, fields = made
        sent = request(path, content, *fields, "Connection: close", method="GET" if content is None else "POST")
        before = thread_seconds(self.pid, "http-")
        try:
            status, answer = status_and_beginning(self.gateway.devices, sent)
        except (OSError, IndexError) as error:
            status, answer = None, str(error).encode()
        spent = {name: total - before.get(name, 0) for name, total in thread_seconds(self.pid, "http-").items()}
        loops = [seconds for name, seconds in spent.items() if "large" not in name]
        return Cost(max(spent.values()), max(loops)), status, answer

    def cost(self, dialect: str, genes: Genes) -> tuple[Cost, int | None]:
        """The cost of a request, the least of several tries if the first seems too high, and its status."""
        made = costly_requests.request(dialect, genes)
        if made is None:
            return NOTHING, None
        best, status, answer = self.send(made)
        if status in (429, 503):
            self.start()
            best, status, answer = self.send(made)
        if status == 503:
            self.trial.expect(b"logstore" in answer, f"{dialect} {genes}: 503 of an empty queue: {answer[:200]!r}")
        for _ in range(TRIES):
            if best.fits():
                break
            best = best.least(self.send(made)[0])
            self.slowness = max(self.slowness, slowness())
        self.trial.expect(status in RIGHT, f"{dialect} {genes}: answer {status} {answer[:200]!r}")
        return best, status


def climb(
    trial: Trial, meter: CostMeter, dialect: str, start: tuple[Cost, Genes], seconds: float
) -> tuple[tuple[Cost, Genes], int]:
    """Changes genes at random and goes on from the most expensive request, or after failures from random genes."""
    random, until = trial.random, time.monotonic() + seconds
    (best, genes), top, tried, failed = start, start, 0, 0
    while time.monotonic() < until:
        other = mutated(dialect, genes, random) if failed < 12 else random_genes(dialect, random)
        spent, _ = meter.cost(dialect, other)
        tried += 1
        if spent > best or failed >= 12:
            (best, genes), failed = (spent, other), 0
        else:
            failed += 1
        top = max(top, (best, genes), key=lambda each: each[0])
    return top, tried


def check(trial: Trial) -> None:
    meter = CostMeter(trial)
    costliest: dict[str, tuple[Cost, Genes, str]] = {}
    for name, (dialect, genes) in KNOWN.items():
        spent, status = meter.cost(dialect, genes)
        trial.expect(spent.fits(meter.slowness), f"{name}: {spent}; {meter.allowed} are allowed ({status})")
        if dialect not in costliest or spent > costliest[dialect][0]:
            costliest[dialect] = (spent, genes, name)
    known = max(costliest.values(), key=lambda each: each[0])
    trial.say(f"{len(KNOWN)} known requests: {known[0]} at most ({known[2]})")
    tried = 0
    for dialect in costly_requests.DIALECTS:
        spent, genes, name = costliest.get(dialect, (NOTHING, random_genes(dialect, trial.random), ""))
        (top, found), count = climb(trial, meter, dialect, (spent, genes), CLIMB[trial.is_long])
        tried += count
        trial.expect(top.fits(meter.slowness), f"{dialect}: {top}; {meter.allowed} are allowed, for {found}")
        costliest[dialect] = (top, found, name if found is genes else f"{found}")
        trial.say(f"{dialect}: {top} at most ({costliest[dialect][2]})")
    trial.say(f"{tried} requests searched; {meter.allowed} are allowed, slowness {meter.slowness:.1f}")
    check_health_beside(trial, meter, costliest)


def check_health_beside(trial: Trial, meter: CostMeter, costliest: dict[str, tuple[Cost, Genes, str]]) -> None:
    """Measures how long /healthz waits on each loop while the gateway handles the most expensive requests found."""
    meter.start()
    made = [each for dialect, (_, genes, _) in costliest.items() if (each := costly_requests.request(dialect, genes))]
    # The kernel spreads connections over the loops. Sixteen are enough to reach each of them.
    health = request("/healthz", None, method="GET")
    before, probers = busy(meter.pid), SteadyClients(meter.gateway.devices, 16, health)
    try:
        for each in made:
            meter.send(each)
    finally:
        probers.end()
    crowded = contention(before, busy(meter.pid))
    allowed = crowded * (LOOP_BAR * slowness() + 0.1)
    trial.wrong(*(f"/healthz beside them: {failure}" for failure in probers.failures))
    trial.expect(len(probers.times) > 100, f"/healthz was asked only {len(probers.times)} times")
    trial.at_most("/healthz beside them waited", max(probers.times, default=0), allowed, "s", says=True)

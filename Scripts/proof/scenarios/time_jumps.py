"""No jump of the clock loses, expires or forgets a log, stops delivery, or makes the gateway spin."""

import json
import time
from collections.abc import Callable
from typing import Any

from harness.gateway import Log, ask
from harness.measures import busy, slowness
from proof.clients.device import Device, body, is_whole, log
from proof.faults.machine import FakedClock, end_faked, forget
from proof.trial import Case, Trial

# The shares of one processor that a thread may use and may want while the gateway only retries now and then. A
# spinning thread always uses one, or wants one that others have. A thread that wakes up now and then also waits for
# a processor, but for less.
BUSY, WANTS = 0.1, 0.9
# Seconds of a second measurement that confirms the first: that may have seen the end of earlier work.
LONG_LOOK = 2
# Seconds until the delivery after a correction: the next attempt may be a minute away.
CORRECTED = 75


class ClockScene(Case):
    def __init__(
        self, trial: Trial, name: str, at: float | None = None, sls_too: bool = False, destination: str = ""
    ) -> None:
        self.trial, self.name, self.destination, self.work = trial, name, destination, trial.work / name
        self.work.mkdir()
        self.clock = FakedClock(self.work)
        # Programs from here on belong to this scene.
        self.mark = len(trial.programs.started)
        if at is not None:
            self.clock.set(at)
        # `env` creates what libfaketime shares, so Swift still finds its arguments before the environment.
        self.faked: dict[str, Any] = {"environment": self.clock.environment, "before": ["env"]}
        # The clock's time at each log, and the log's own time.
        self.sent: dict[str, float] = {}
        self.right: dict[str, int] = {}
        self.sls = self.faked if sls_too else {}

    def begin(self) -> None:
        self.sandbox = self.trial.sandbox(**self.sls)
        self.start()

    def start(self) -> None:
        settings = "queue: { max_age: 1h }\ndrain_timeout: 100ms"
        self.gateway = self.trial.gateway(
            self.sandbox, settings=settings, destination=self.destination, data=self.work / "data", **self.faked
        )
        self.device = Device(self.gateway.devices)

    def restart(self) -> None:
        self.device.close()
        self.expect(self.gateway.stop() == 0, "the gateway did not stop in order")
        forget(self.gateway.process.pid)
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
        self.expect(calm, f"{label}: an idle thread has {used:.0%} of a processor, and wants {wants:.0%}")
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
        self.expect(
            ledger["queued"] == 0, f"after {took:.0f} s there are still logs in the queue: {self.status()['trouble']}"
        )
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

    def refused_for_time(self) -> int:
        return self.sandbox.control("GET", "/stats")["errors"].get("RequestTimeExpired", 0)

    def end(self) -> None:
        """Ends the programs, which frees ports and memory for the next scene."""
        end_faked(self.trial.programs.started[self.mark :])


HOUR, DAY = 3600, 86400
# One and a half times the interval at which the queue reads the clock.
LOOK = 1.5
# Seconds in which signatures must follow SLS's clock.
FOLLOWED = 20


def hours(scene: ClockScene) -> None:
    """Jumps of hours and days in both directions while SLS is away: waiting logs are retried, and none expires."""
    scene.sandbox.control("POST", "/poisons", {"key": "poison", "code": "InvalidKey", "message": "no"})
    random, name = scene.trial.random, "hours/letter/0"
    scene.device.post("/logs/jumps", body([log(name, scene.trial.random) | {"poison": "1"}]))
    scene.sent[name] = scene.clock.now
    scene.gateway.require_drained()
    scene.sandbox.fault(status=503)
    scene.post("before")
    name = "hours/once/0"
    first = body([log(name, scene.trial.random)])
    answer = scene.device.post("/logs/jumps", first, "Idempotency-Key: once")
    scene.sent[name] = scene.clock.now
    jumps = [5 * HOUR, -9 * HOUR, 40 * DAY, -40 * DAY, 12 * HOUR]
    if scene.trial.is_long:
        lengths = [2, 61, HOUR, DAY, 400 * DAY]
        jumps += [random.choice([-1, 1]) * random.choice(lengths) * random.randint(1, 9) for _ in range(20)]
        # Beyond the range of SLS's times, almost as far as Linux lets a clock be set, and before 1970.
        jumps += [int(end - time.time()) for end in (2**32 + 10, 8_270_000_000, -100)]
    random.shuffle(jumps)
    busiest, restarts, believed = 0.0, 0, [0.0]
    for number, seconds in enumerate(jumps):
        scene.clock.shift(seconds)
        # A start at a later time than the last stop means an outage of that length, which is another case.
        if scene.trial.is_long and seconds < min(believed):
            scene.restart()
            restarts, believed = restarts + 1, []
        scene.post(f"jump {number} by {seconds}")
        is_followed = scene.trial.is_long and random.random() < 0.5
        busiest = max(busiest, scene.check_idle(f"jump by {seconds} s", LOOK if is_followed else 0.3))
        # Until the queue reads the clock it uses the time it knew.
        believed = [seconds] if is_followed else [*believed, seconds]
        again = scene.device.post("/logs/jumps", first, "Idempotency-Key: once")
        scene.expect(again == answer, f"after a jump by {seconds} s a repeated request got {again}")
    scene.clock.shift(5 * HOUR)
    scene.sandbox.clear_faults()
    busiest = max(busiest, scene.check_idle("SLS is back, and the clock is wrong", 1.5))
    # Logs without a time of their own wait until the clock is right. Those with one do not.
    scene.post("with its time", logstore="right", __time__=int(time.time()))
    began = time.monotonic()
    query = "/logs?logstore=right&min=5&wait_s=60"
    arrived = len(ask(scene.sandbox.port, query, timeout=CORRECTED + 10).splitlines())
    scene.trial.say(f"hours: delivery with a clock that is 5 h ahead took {time.monotonic() - began:.1f} s")
    scene.expect(
        arrived == 5, f"with a clock that is 5 h ahead {arrived} of 5 logs arrive: {scene.status()['trouble']}"
    )
    refused = scene.refused_for_time()
    scene.expect(refused <= 12, f"{refused} signatures had a wrong time before SLS's time was known")
    scene.clock.shift(0)
    _, took = scene.check_delivered(dead=1)
    told = (
        f"{len(jumps)} jumps, {restarts} restarts, {len(scene.sent)} logs, delivered {took:.1f} s after the correction"
    )
    scene.trial.say(f"hours: {told}; {busiest:.0%} of a processor at most, {refused} signatures refused")


def born_in_1970(scene: ClockScene) -> None:
    """A host without a clock starts in 1970, with the queue of an earlier run, and learns the time later."""
    scene.sandbox.fault(status=503)
    scene.post("earlier life")
    scene.clock.set(5)
    scene.restart()
    scene.sandbox.clear_faults()
    busiest, before, after = 0.0, 0, 0
    for number in range(6 if scene.trial.is_long else 2):
        scene.clock.set(5 + 10 * number)
        known = scene.refused_for_time()
        scene.post(f"1970, {number}")
        busiest = max(busiest, scene.check_idle("1970", 1.2 + scene.trial.random.random()))
        before = scene.refused_for_time() - known
        scene.expect(before <= 12, f"{before} requests in two seconds with a time that SLS refuses")
        # A correction may trigger an attempt before every thread of the gateway has noticed the step.
        scene.gateway.ask("/admin/destinations/app/pause", "POST")
        scene.clock.shift(0)
        scene.gateway.ask("/admin/destinations/app/resume", "POST")
        began = scene.clock.now
        scene.post(f"corrected, {number}")
        scene.gateway.require_drained(CORRECTED)
        after = scene.refused_for_time() - known - before
        scene.expect(after <= 12, f"{after} signatures were refused after the correction")
    arrived, _ = scene.check_delivered()
    for name, each in arrived.items():
        off = abs(int(each["__time__"]) - began)
        scene.expect(off < 60, f"{name} arrived with a time that is {off:.0f} s off")
    told = f"{before} signatures refused before the correction, {after} after it"
    scene.trial.say(f"1970: {len(scene.sent)} logs, {told}, {busiest:.0%} of a processor before it")


def crossing(scene: ClockScene, boundary: int, step: int) -> None:
    """Time crosses a boundary for the gateway and for SLS; with a step the second before it happens twice."""
    stepped = False
    while scene.clock.now < boundary + 1.5:
        scene.post(f"{len(scene.sent)} at {scene.clock.now - boundary:+.2f} s", count=1)
        if step and not stepped and scene.clock.now >= boundary:
            scene.clock.shift(scene.clock.offset - step)
            stepped = True
        time.sleep(0.1)
    scene.sandbox.fault(status=503)
    scene.post("waiting")
    scene.restart()
    scene.sandbox.clear_faults()
    arrived, _took = scene.check_delivered()
    for name, shown in scene.sent.items():
        off = abs(int(arrived[name]["__time__"]) - shown) if name in arrived else 0
        scene.expect(off <= 2, f"{name} has a time that is {off:.0f} s off")
    before = sum(shown < boundary for shown in scene.sent.values())
    scene.expect(0 < before < len(scene.sent), "the boundary was not crossed")
    scene.expect(scene.refused_for_time() == 0, "SLS refused signatures for their time")
    told = f"{before} logs before the boundary, {len(scene.sent) - before} after it"
    scene.trial.say(f"{scene.name}: {told}, all delivered after a restart")


def sls_is_off(scene: ClockScene) -> None:
    """SLS's own clock is wrong by hours in either direction, then right again. Signatures follow it."""
    for hours in (-5, 3):
        scene.sandbox.fault(clock_offset_s=hours * HOUR)
        for number in range(3):
            scene.post(f"{hours} h, {number}", 1, __time__=int(time.time()) + hours * HOUR - 60)
        scene.gateway.require_drained(FOLLOWED)
        scene.sandbox.clear_faults()
        scene.post(f"right again after {hours}")
        scene.gateway.require_drained(FOLLOWED)
    _, _took = scene.check_delivered()
    refused = scene.refused_for_time()
    scene.expect(refused <= 12, f"{refused} signatures had a wrong time")
    scene.trial.say(f"SLS's clock: 4 jumps, {len(scene.sent)} logs, {refused} signatures refused")


def right_logs(scene: ClockScene) -> None:
    """Late logs are dropped. Logs with the right time are not late only because the host's clock is wrong."""
    discarded = 0
    for label, seconds in {"behind": -5 * HOUR, "ahead": 9 * DAY, "1970": 30 - time.time()}.items():
        # The answer to these logs tells the gateway SLS's time. For 1970 it does not believe such a difference.
        scene.sandbox.fault(status=503)
        scene.post(f"{label}, before", __time__=int(time.time()))
        scene.clock.shift(seconds)
        scene.sandbox.clear_faults()
        if label != "1970":
            scene.gateway.require_drained(CORRECTED)
            known = scene.status()["delivery"]["host_clock_wrong_by_seconds"]
            told = f"{label}: the clock is wrong by {seconds} s, the status says {known}"
            scene.expect(known and abs(known + seconds) < 5, told)
        scene.post(f"{label}, right", __time__=int(time.time()))
        scene.clock.shift(0)
        before, discarded = discarded, scene.gateway.require_drained(CORRECTED)["ledger"]["discarded"]
        scene.expect(discarded == before, f"{label}: {discarded - before} of 10 logs were dropped as late")
    arrived, _ = scene.check_delivered()
    for name, each in arrived.items():
        off = abs(int(each["__time__"]) - scene.right[name])
        scene.expect(off == 0, f"{name} arrived with a time that is {off} s off")
    scene.trial.say(f"right logs: {len(arrived)} of {len(scene.sent)} are there, {discarded} were dropped")


def credential_ends(scene: ClockScene) -> None:
    """A credential that is valid for an hour, and a clock that is five hours ahead for a moment."""
    scene.sandbox.control("POST", "/keys", {"access_key_id": "STS.x", "access_key_secret": "s", "security_token": "t"})
    end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + HOUR))
    triple = {"AccessKeyId": "STS.x", "AccessKeySecret": "s", "SecurityToken": "t", "Expiration": end}
    scene.gateway.ask("/admin/credentials/default", "PUT", json.dumps(triple).encode())
    scene.post("before")
    scene.gateway.require_drained()
    scene.clock.shift(5 * HOUR)
    scene.post("ahead")
    busy = scene.check_idle("a credential that seems to have ended", 1.5)
    scene.clock.shift(0)
    scene.post("corrected")
    _, took = scene.check_delivered()
    scene.trial.say(f"credential: {len(scene.sent)} logs, delivered {took:.1f} s later, {busy:.0%} of a processor")


def check(trial: Trial) -> None:
    now = int(time.time())
    new_year = now - now % DAY + 40 * DAY
    scenes: list[tuple[str, Callable[[ClockScene], None], dict[str, Any]]] = [
        ("hours", hours, {}),
        ("1970", born_in_1970, {}),
        ("2038", lambda scene: crossing(scene, 2**31, 0), {"at": 2**31 - 1.2, "sls_too": True}),
        ("leap second", lambda scene: crossing(scene, new_year, 1), {"at": new_year - 1.2, "sls_too": True}),
        ("SLS's clock", sls_is_off, {}),
        ("right logs", right_logs, {"destination": ", late_logs: drop"}),
        ("credential", credential_ends, {}),
    ]
    for name, play, options in scenes:
        scene = ClockScene(trial, name, **options)
        try:
            scene.begin()
            play(scene)
        finally:
            scene.end()

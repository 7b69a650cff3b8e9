"""Attacks cost bounded time and memory, and disturb no other client: decompression bombs, expensive bodies, unread
answers, hostile paths, guessed tokens."""

import concurrent.futures
import gzip
import time
from collections.abc import Callable

from harness.calibration import slowness
from harness.gateway import Gateway
from harness.process import busy, contention, memory
from harness.sandbox import Sandbox
from harness.worker import Worker
from proof.attacks import decompression_bombs, expensive_bodies, held_connections, hostile_heads, token_guessing
from proof.attacks.attack_meter import AttackMeter
from proof.attacks.decompression_bombs import Body
from proof.clients.device import ConnectionLost, Device, is_whole
from proof.clients.neighbour import ControlGateway, Neighbour, check_neighbour
from proof.trial import Trial

# MiB of memory in all, by length of the run: the long one has several attackers at a time.
MEMORY = {False: 300, True: 500}
# The size that a request may have at SLS (docs/devices.md): a multiple of its bytes on the wire, and bounds in
# bytes.
FOLD, LEAST, MOST = 400, 2 << 20, 20 << 20
# Seconds by which an attack may delay the 99th percentile of another client's answers, compared with an undisturbed
# gateway: as long as the worst body occupies a loop, times the contention on this machine.
DELAY = {"bombs": 0.8, "floods": 1, "heads": 0.4, "guesses": 0.4, "growing": 0.8, "readers": 1, "held heads": 0.4}
# In the long form bodies are three times as large.
LONG_DELAY = DELAY | {"floods": 3, "growing": 2, "several": 4}


def growing(trial: Trial, gateway: Gateway, sandbox: Sandbox) -> None:
    """Small requests that become large, because an attribute that records share is stored with each record."""
    worst = (0.0, "")
    kinds = [(16_000, 125), (1000, 18_000), (100_000, 190), (300_000, 60)]
    for size, count in kinds + ([(100, 100_000), (300_000, 500_000)] if trial.is_long else []):
        for is_packed in (False, True):
            content = expensive_bodies.growing(size, count)
            content = gzip.compress(content, 9) if is_packed else content
            gateway.require_drained()
            before = stored(sandbox)
            device = Device(gateway.devices, 30, address="127.0.9.1")
            fields = [expensive_bodies.PROTOBUF, *(["Content-Encoding: gzip"] if is_packed else [])]
            status, answer = device.post(expensive_bodies.OTLP, content, *fields)
            device.close()
            gateway.require_drained()
            name, grown = f"{count} records that share {size} B, in {len(content)} B", stored(sandbox) - before
            trial.expect(status in (200, 413), f"{name}: {status} {answer[:200]!r}")
            # The head of each log and packet is not counted here.
            allowed = max(len(content) + LEAST, FOLD * len(content)) + 16 * count
            trial.at_most(f"{name}: came to SLS", grown, min(allowed, MOST + LEAST), "B")
            worst = max(worst, (grown / len(content), f"{name}: {grown} B at SLS"))
    trial.say(f"growing: {worst[0]:.0f}-fold at most ({worst[1]})")


def stored(sandbox: Sandbox) -> int:
    """Bytes stored by everybody but the neighbour."""
    places = sandbox.control("GET", "/stats")["logstores"]
    return sum(each["bytes"] for each in places if each["logstore"] != "neighbour")


def several(trial: Trial, gateway: Gateway, work: list[Body]) -> None:
    """Repeats the most expensive bodies from several connections at a time. Long form only."""
    until = time.monotonic() + 60
    chosen = ("names", "empty names", "Splunk", "zstd of", "gzip of", "OTLP, names")
    costly = [each for each in work if each[0].startswith(chosen)]

    def send(number: int) -> None:
        while time.monotonic() < until:
            name, path, content, fields, right = costly[number % len(costly)]
            number += 1
            try:
                device = Device(gateway.devices, 60, address=f"127.0.9.{number % 200 + 3}")
                status, answer = device.post(path, content, *fields)
                device.close()
                # With many large bodies there may be no room for one more: the gateway tells that client to retry.
                trial.expect(status in right | {503}, f"{name}, in parallel: answer {status} {answer[:200]!r}")
            except ConnectionLost:
                pass  # A gateway without room for one more body answers and closes before all of it is sent.
            except OSError as error:
                trial.wrong(f"{name}, in parallel: {error}")

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(send, range(4)))


class Arrivals(Worker):
    """The arrival times of the neighbour's logs. The sandbox keeps only the newest of many logs, so it is asked
    repeatedly."""

    def __init__(self, trial: Trial, sandbox: Sandbox) -> None:
        self.trial, self.sandbox, self.place = trial, sandbox, "0"
        self.moments: dict[str, str] = {}
        self.begin()

    def work(self, _: int) -> None:
        while not self.ended.wait(1):
            try:
                self.look()
            except OSError as error:
                self.trial.say(f"the sandbox did not answer: {error}")

    def look(self) -> None:
        more = True
        while more:
            page, self.place, more = self.sandbox.page(self.place, "neighbour")
            for each in page:
                self.trial.expect(is_whole(each), f"a log was altered: {each}")
            self.moments |= {each["name"]: each["__received__"] for each in page}


def check(trial: Trial) -> None:
    sandbox = trial.sandbox()
    gateway = trial.gateway(sandbox, settings="limits: { connections_per_address: 5000 }")
    pid, begun = gateway.process.pid, memory(gateway.process.pid)
    control = ControlGateway(trial)
    neighbour, started = Neighbour(gateway.devices, trial.seed), busy(pid)
    arrivals = Arrivals(trial, sandbox)
    try:
        size = (9 if trial.is_long else 3) << 20
        attack = AttackMeter(trial, gateway, size)
        explosives, inundation = list(decompression_bombs.bombs()), list(expensive_bodies.floods(size))
        tricks = list(hostile_heads.requests())
        for each in (explosives, inundation, tricks):
            trial.random.shuffle(each)
        parts: dict[str, Callable[[], object]] = {
            "bombs": lambda: [attack.body(*each) for each in explosives],
            "floods": lambda: [attack.body(*each) for each in inundation],
            # Often enough for the neighbour to notice.
            "heads": lambda: [attack.head(*each) for each in tricks * 10],
            "guesses": lambda: token_guessing.check(trial, gateway),
            "growing": lambda: growing(trial, gateway, sandbox),
            "readers": lambda: held_connections.readers(trial, gateway),
            "held heads": lambda: held_connections.heads(trial, gateway),
        }
        delay = LONG_DELAY if trial.is_long else DELAY
        if trial.is_long:
            parts["several"] = lambda: several(trial, gateway, explosives + inundation)
        for name, part in parts.items():
            gateway.require_drained()
            since, before = time.monotonic(), busy(pid)
            part()
            until, crowded = time.monotonic(), contention(before, busy(pid))
            if attack.count:
                attack.say(name)
            slow, calm = neighbour.slowest(since, until), control.neighbour.slowest(since, until, share=1)
            if slow is None or calm is None:
                trial.wrong(f"{name}: the neighbour had no answer in this time")
                continue
            allowed = crowded * delay[name] * slowness() + calm
            beside = f"undisturbed at most {calm:.3f} s; {memory(pid):.0f} MiB of memory at most so far"
            trial.at_most(f"{name}: the neighbour's 99th percentile ({beside})", slow, allowed, "s", says=True)
    finally:
        neighbour.end()
        control.end()
        arrivals.end()
    ledger, crowded = gateway.require_drained(), contention(started, busy(pid))
    arrivals.look()
    judge(trial, sandbox)
    trial.expect(ledger["closed"] and ledger["ledger"]["queued"] == 0, f"the ledger is {ledger['ledger']}")
    check_neighbour(trial, neighbour, arrivals.moments, control, crowded, max(delay[name] for name in parts))
    trial.at_most(
        f"memory at most ({begun:.0f} MiB at the start)", memory(pid), MEMORY[trial.is_long], "MiB", says=True
    )
    trial.expect(gateway.is_running, "the gateway ended")


def judge(trial: Trial, sandbox: Sandbox) -> None:
    """Every log that is still kept is in the logstore that its request named."""
    for each in sandbox.logs():
        known = each["__logstore__"] in ("bombs", "floods", "tricks", "neighbour", "demo", "otlp", "loki", "splunk")
        if "path" in each:
            trial.expect(each["__logstore__"] == "tricks", f"a path led to {each['__logstore__']}")
        trial.expect(known, f"no request named the logstore {each['__logstore__']}")

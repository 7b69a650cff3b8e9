"""Attacks cost bounded time and memory, and disturb no other client: decompression bombs, expensive bodies, unread
answers, hostile paths, guessed tokens."""

import collections
import concurrent.futures
import contextlib
import gzip
import re
import secrets
import time
from collections.abc import Callable

from harness.gateway import TOKEN, Gateway, Sandbox
from harness.measures import busy, contention, cpu_seconds, delay, memory, slowness
from harness.waiting import Worker
from proof.attacks import held_connections
from proof.attacks.hostile_requests import OTLP, PROTOBUF, Body, bombs, floods, heads, shared_attribute
from proof.clients.device import ConnectionLost, Device, exchange, is_whole, message, post_once, request
from proof.clients.neighbour import EVERY, ControlGateway, Neighbour
from proof.trial import Trial

# Seconds of wall time that a request may take, times the delay of the machine.
PATIENCE = 10
# Processor seconds allowed for the worst body, and the allowed multiple of the cost of an ordinary body of the same
# size; the sum is multiplied by the slowness of the machine.
EFFORT, ORDINARY = 0.5, 12


class AttackMeter:
    def __init__(self, trial: Trial, gateway: Gateway, size: int) -> None:
        self.trial, self.gateway, self.pid = trial, gateway, gateway.process.pid
        self.count = 0
        self.slowest, self.costliest = (0.0, ""), (0.0, "")
        self.ordinary = self.ordinary_cost(size)

    def ordinary_cost(self, size: int, times: int = 3) -> float:
        """The processor seconds of an ordinary body: one log per line."""
        line = b'{"level":"info","message":"' + b"x" * 200 + b'","n":1}\n'
        device, before = Device(self.gateway.devices, 30, address="127.0.9.1"), cpu_seconds(self.pid)
        for _ in range(times):
            status, answer = device.post("/logs/floods", line * (size // len(line)), "Content-Type: application/json")
            self.trial.expect(status == 200, f"an ordinary body: answer {status} {answer[:200]!r}")
        device.close()
        self.gateway.require_drained()
        return (cpu_seconds(self.pid) - before) / times

    def body(self, name: str, path: str, content: bytes, fields: list[str], right: set[int]) -> bool:
        before, began = cpu_seconds(self.pid), time.monotonic()
        try:
            status, answer = post_once(self.gateway.devices, path, content, *fields, address="127.0.9.1")
        except ConnectionLost as error:
            status, answer = None, str(error).encode()
        return self.judge(name, status, right, answer, before, began)

    def head(self, name: str, request: bytes, right: int) -> bool:
        before, began = cpu_seconds(self.pid), time.monotonic()
        status, answer = converse(self.gateway.devices, request)
        return self.judge(name, status, {right}, answer, before, began)

    def judge(self, name: str, status: int | None, right: set[int], answer: bytes, before: float, began: float) -> bool:
        took, used = time.monotonic() - began, cpu_seconds(self.pid) - before
        self.count += 1
        self.slowest, self.costliest = max(self.slowest, (took, name)), max(self.costliest, (used, name))
        self.trial.expect(status in right, f"{name}: answer {status} instead of {sorted(right)}: {answer[:200]!r}")
        allowed = EFFORT + ORDINARY * self.ordinary
        fine = took < PATIENCE and used < allowed
        if not fine:
            allowed *= slowness()
            fine = took < PATIENCE * delay() and used < allowed
        told = f"{name}: took {took:.1f} s, {used:.2f} s of processor time; {allowed:.2f} s are allowed"
        return self.trial.expect(fine, told)

    def say(self, what: str) -> None:
        slow, costly = ("{:.2f} s at most ({})".format(*most) for most in (self.slowest, self.costliest))
        self.trial.say(
            f"{what}: {self.count} requests, {slow}; of processor time {costly}, ordinary {self.ordinary:.2f} s"
        )
        self.count, self.slowest, self.costliest = 0, (0, ""), (0, "")


def converse(port: int, request: bytes) -> tuple[int | None, bytes]:
    """The first status and everything that arrived until the end of its head."""
    answer = b""
    with contextlib.suppress(OSError):
        for piece in exchange(port, request, "127.0.9.2", 10):
            answer += piece
            if b"\r\n\r\n" in answer:
                break
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return int(found[1]) if found else None, answer


def ask_with(port: int, token: str, address: str) -> tuple[int, str | None]:
    """The status for this token from this address, on a connection of its own, and its Retry-After."""
    sent = request("/admin/ledger", None, f"Authorization: Bearer {token}", "Connection: close", method="GET")
    answer = message(b"".join(exchange(port, sent, address, 10)))
    assert answer is not None, f"no answer to a token from {address}"
    return answer.status, answer.fields.get("retry-after")


def wrong() -> str:
    return f"{secrets.token_hex(16)}-is-not-the-token"


def guesses(trial: Trial, gateway: Gateway) -> None:
    """Guessers are throttled after a few tries; the right token is never throttled."""
    friend, many = "127.0.5.1", 200 if trial.is_long else 30
    trial.expect(ask_with(gateway.admin, TOKEN, friend)[0] == 200, "the right token is refused")
    statuses: collections.Counter[int] = collections.Counter()
    for number in range(many):
        # The last guesser shares the operator's address.
        address = f"127.0.6.{number + 1}" if number < many - 1 else friend
        mine = [ask_with(gateway.admin, wrong(), address) for _ in range(12)]
        statuses.update(status for status, _ in mine)
        looked = sum(status == 401 for status, _ in mine)
        trial.expect(4 <= looked <= 8, f"{address}: {looked} of 12 wrong tokens were checked")
        told = all(wait and 1 <= int(wait) <= 60 for status, wait in mine if status == 429)
        trial.expect(told, f"{address}: 429 without a Retry-After from 1 to 60")
    trial.expect(set(statuses) == {401, 429}, f"guesses were answered {dict(statuses)}")
    trial.expect(ask_with(gateway.admin, TOKEN, friend)[0] == 200, "the right token is throttled for others' guesses")
    fresh = ask_with(gateway.admin, TOKEN, "127.0.7.1")[0]
    trial.expect(fresh == 200, "the right token is throttled at an address without guesses")
    early = ask_with(gateway.admin, TOKEN, "127.0.6.1")[0]
    trial.expect(early in (200, 429), f"the right token from an address with guesses: {early}")
    if trial.is_long:
        many_guessers(trial, gateway)
    trial.say(f"admin: {sum(statuses.values())} guesses from {many} addresses, {statuses[401]} of them checked")


def many_guessers(trial: Trial, gateway: Gateway) -> None:
    """Guesses from very many addresses must not make the gateway forget a throttled one."""
    address = "127.0.8.1"
    for _ in range(12):
        ask_with(gateway.admin, wrong(), address)
    for number in range(1500):
        ask_with(gateway.admin, wrong(), f"127.1.{number // 250}.{number % 250 + 1}")
    statuses = [ask_with(gateway.admin, wrong(), address)[0] for _ in range(12)]
    looked = statuses.count(401)
    trial.expect(looked <= 4, f"after 1500 other addresses an old guesser had {looked} more guesses checked")


# MiB of memory in all, by length of the run: the long one has several attackers at a time.
MEMORY = {False: 300, True: 500}
# The size of a request at SLS (docs/devices.md): a multiple of its bytes on the wire, and bounds in bytes.
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
            content = shared_attribute(size, count)
            content = gzip.compress(content, 9) if is_packed else content
            gateway.require_drained()
            before = stored(sandbox)
            fields = [PROTOBUF, *(["Content-Encoding: gzip"] if is_packed else [])]
            status, answer = post_once(gateway.devices, OTLP, content, *fields, address="127.0.9.1")
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
                place = f"127.0.9.{number % 200 + 3}"
                status, answer = post_once(gateway.devices, path, content, *fields, seconds=60, address=place)
                # With many large bodies there may be no room for one more: the gateway tells that client to retry.
                trial.expect(status in right | {503}, f"{name}, in parallel: answer {status} {answer[:200]!r}")
            except ConnectionLost:
                pass  # A gateway without room for one more body answers and closes before all of it is sent.
            except OSError as error:
                trial.wrong(f"{name}, in parallel: {error}")

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(send, range(4)))


class Arrivals(Worker):
    """When the neighbour's logs arrived, asked repeatedly: the sandbox keeps only the newest of many logs."""

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
        explosives, inundation = list(bombs()), list(floods(size))
        tricks = list(heads())
        for each in (explosives, inundation, tricks):
            trial.random.shuffle(each)
        parts: dict[str, Callable[[], object]] = {
            "bombs": lambda: [attack.body(*each) for each in explosives],
            "floods": lambda: [attack.body(*each) for each in inundation],
            # Often enough for the neighbour to notice.
            "heads": lambda: [attack.head(*each) for each in tricks * 10],
            "guesses": lambda: guesses(trial, gateway),
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
            # The guesses of a fast machine end between two logs of the neighbour.
            time.sleep(max(0, since + 2 * EVERY - time.monotonic()))
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
        control.neighbour.end()
        arrivals.end()
    ledger, crowded = gateway.require_drained(), contention(started, busy(pid))
    arrivals.look()
    judge(trial, sandbox)
    trial.expect(ledger["closed"] and ledger["ledger"]["queued"] == 0, f"the ledger is {ledger['ledger']}")
    control.check(neighbour, arrivals.moments, crowded, max(delay[name] for name in parts))
    trial.at_most(f"memory ({begun:.0f} MiB at the start)", memory(pid), MEMORY[trial.is_long], "MiB", says=True)
    trial.expect(gateway.is_running, "the gateway ended")


def judge(trial: Trial, sandbox: Sandbox) -> None:
    """Every log that is still kept is in the logstore that its request named."""
    known = {"bombs", "floods", "tricks", "neighbour", "demo", "otlp", "loki", "splunk"}
    for each in sandbox.logs():
        place = each["__logstore__"]
        trial.expect(place in ({"tricks"} if "path" in each else known), f"no request named the logstore {place}")

"""Invalid answers cost bounded time and memory, disturb no other destination, and lose no log."""

import json
import select
import socket
import time
from random import Random

from harness.gateway import Gateway, Log
from harness.measures import busy, contention, cpu_seconds, memory, slowness
from harness.waiting import Worker
from proof import fan_out
from proof.clients.device import body, is_whole, log, post_once
from proof.clients.neighbour import ControlGateway, Neighbour
from proof.faults.servers import ANSWERS, ONLY_FOR_SLS, LogServer, LyingServer
from proof.trial import Trial

LOOKS_EVERY = 0.02
# Seconds. A machine that is later than this proves nothing about timeouts, and must not pass.
LATENESS_MOST = 1.0


class Lateness(Worker):
    """Measures until it is ended; `most` is the longest delay."""

    def __init__(self) -> None:
        self.seen = 0.0
        self.begin()

    def work(self, _: int) -> None:
        began = time.monotonic()
        while not self.ended.wait(LOOKS_EVERY):
            self.seen, began = max(self.seen, time.monotonic() - began - LOOKS_EVERY), time.monotonic()

    @property
    def most(self) -> float:
        return min(self.seen, LATENESS_MOST)


# Invalid answers of each kind before a valid one.
TIMES = 3
# Seconds: the longest request in all, and how much later a busy machine may end it, beside its measured lateness.
SEND_TIMEOUT, LATER = 1, 0.5
# MiB: the memory that all invalid answers together may cost, and how much the gateway may accept of one answer
# before it closes the connection. Most of that fills the kernel's buffers.
MEMORY = 32
TAKEN = 24

# By the name of the lie.
Servers = dict[str, LyingServer]


def project(number: int) -> str:
    return f"lies-{number}"


TIMES_OUT = f"packet: {{ age: 50ms }}, connect_timeout: 1s, send_timeout: {SEND_TIMEOUT}s, stall_timeout: 1s"


def destination(name: str, port: int) -> str:
    place = f'endpoint: "http://localhost:{port}", project: {name}, logstore: "*", region: sandbox'
    return f"  {name}: {{ {place}, {TIMES_OUT} }}"


def log_server(name: str, port: int) -> str:
    return f"  {name}-http: {{ kind: http, url: http://localhost:{port}/in, success: [200], {TIMES_OUT} }}"


def post_to_all(trial: Trial, gateway: Gateway, servers: list[LyingServer], number: int) -> dict[str, str]:
    """Posts for every lie, and waits until all of it is delivered. Returns the names that were sent, with their lie."""
    sent: dict[str, str] = {}
    for server in servers:
        with server.lock:
            server.left = TIMES
    for index, name in enumerate(ANSWERS):
        logs = [log(f"{name}/{number}/{count}", trial.random) for count in range(5)]
        status, answer = post_once(gateway.devices, f"/logs/{project(index)}", body(logs))
        trial.expect(status == 200, f"{name}: answer {status} {answer[:200]!r}")
        sent |= {each["name"]: name for each in logs}
    gateway.drain(120 if trial.is_long else 90)
    return sent


def check(trial: Trial) -> None:
    sandbox, trap = trial.sandbox(), socket.create_server(("127.0.0.1", 0))
    store, trap_port = trial.remember(LogServer(Random(trial.seed))), trap.getsockname()[1]
    servers = {name: LyingServer(sandbox.port, ANSWERS[name], TIMES, trap_port) for name in ANSWERS}
    both = [name for name in ANSWERS if name not in ONLY_FOR_SLS]
    seconds = {name: LyingServer(store.port, ANSWERS[name], TIMES, trap_port) for name in both}
    everyone = [*servers.values(), *seconds.values()]
    lines, routes = [destination("honest", sandbox.port)], []
    for index, (name, server) in enumerate(servers.items()):
        lines.append(destination(project(index), server.port))
        to = [project(index)]
        if name in seconds:
            lines.append(log_server(project(index), seconds[name].port))
            to.append(f"{project(index)}-http")
        routes.append(f"  - {{ match: {project(index)}, to: [{', '.join(to)}] }}")
    gateway = trial.gateway(sandbox, "\n".join(["routes:", *routes]), others="\n".join(lines))
    before, cpu, began = memory(gateway.process.pid), cpu_seconds(gateway.process.pid), time.monotonic()
    control, lateness = ControlGateway(trial), Lateness()
    neighbour, started = Neighbour(gateway.devices, trial.seed, host="honest"), busy(gateway.process.pid)
    sent: dict[str, str] = {}
    try:
        for number in range(5 if trial.is_long else 1):
            sent |= post_to_all(trial, gateway, everyone, number)
    finally:
        neighbour.end()
        control.neighbour.end()
        lateness.end()
    gateway.drain()
    took, cpu = time.monotonic() - began, cpu_seconds(gateway.process.pid) - cpu
    grown = memory(gateway.process.pid) - before
    longest = SEND_TIMEOUT + LATER * slowness() + lateness.most
    at_sls = list(sandbox.logs())
    judge(trial, gateway, "", servers, sent, at_sls, longest)
    judge(trial, gateway, "-http", seconds, sent, [each for _, each in store.logs()], longest)
    trial.wrong(*fan_out.open_sums(gateway.ledger(), 0))
    arrived = {each.get("name", ""): each["__received__"] for each in at_sls}
    control.check(neighbour, arrived, contention(started, busy(gateway.process.pid)))
    visits, _, _ = select.select([trap], [], [], 0)
    trial.expect(not visits, "a redirect was followed")
    trial.at_most("memory for the invalid answers", grown, MEMORY, "MiB", says=True)
    trial.expect(gateway.is_running, "the gateway ended")
    heard = sum(server.heard for server in everyone)
    kinds = f"{len(servers)} lies of SLS and {len(seconds)} of a log server"
    trial.say(f"{kinds}, {heard} requests, delivered after {took:.1f} s; {cpu:.1f} s of processor time")
    for server in everyone:
        server.kill()


def judge(
    trial: Trial, gateway: Gateway, kind: str, servers: Servers, sent: dict[str, str], logs: list[Log], longest: float
) -> None:
    """Every log is stored and counted by the ledger of the destination of this kind, and no request lasted too long."""
    whole = gateway.ledger()
    for each in logs:
        trial.expect(is_whole(each), f"a log was altered: {each}")
    arrived = {each.get("name", "") for each in logs}
    statuses = {each["name"]: each for each in json.loads(gateway.ask("/admin/status"))["destinations"]}
    for index, name in enumerate(ANSWERS):
        if not (server := servers.get(name)):
            continue
        ledger = whole["destinations"].get(f"{project(index)}{kind}", {})
        mine = [each for each, answer in sent.items() if answer == name]
        there = [each for each in mine if each in arrived]
        figures = {key: ledger.get(key) for key in ("delivered", "queued", "dead", "expired", "discarded")}
        if not (figures["delivered"] == len(there) == len(mine)):
            trouble = statuses[f"{project(index)}{kind}"]["trouble"]
            trial.wrong(f"{name}{kind}: {len(there)} of {len(mine)} logs arrived, the ledger says {figures}; {trouble}")
        trial.at_most(f"{name}{kind}: a request lasted", server.longest, longest, "s")
        trial.expect(server.most < TAKEN << 20, f"{name}{kind}: {server.most >> 20} MiB of an answer were accepted")
    slowest = max(servers, key=lambda name: servers[name].longest)
    largest = max(servers, key=lambda name: servers[name].most)
    told = f"{servers[slowest].longest:.2f} s at most ({slowest}) of {longest:.2f}"
    trial.say(f"requests lasted {told}, {servers[largest].most / 2**20:.1f} MiB at most ({largest})")

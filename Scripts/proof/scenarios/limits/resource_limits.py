"""Descriptors, memory, connections at their limits: new work is refused, old work goes on, and afterwards all is as before."""

import json
import os
import resource
import subprocess
import time
from collections.abc import Callable

from harness.gateway import TOKEN, Gateway
from harness.http import ask
from harness.sandbox import Sandbox
from harness.waiting import wait_until
from proof.clients.connection_herd import ConnectionHerd
from proof.clients.device import Device
from proof.gateway_life import Life
from proof.scenarios.limits import memory_limits
from proof.trial import Trial

SLACK = 6  # Descriptors for requests to SLS and a look at the status, which come and go.
# KiB that a crowd may cost: what the gateway takes for a few requests at the same time, and for each that only stays.
ONCE, EACH = 4096, 2
# Seconds that a quick device may wait beside slow ones, and how many times as long as it does alone on this machine.
QUICK, SLOWER = 0.2, 4


def check(trial: Trial) -> None:
    sandbox = trial.sandbox()
    few_descriptors(trial, sandbox)
    crowd(trial, sandbox)
    slow_crowd(trial, sandbox)
    memory_limits.check(trial, sandbox)


def figures(gateway: Gateway) -> tuple[int, int]:
    """Descriptors and resident KiB, as the kernel sees them."""
    directory = f"/proc/{gateway.process.pid}"
    with open(f"{directory}/status") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return len(os.listdir(f"{directory}/fd")), resident


def few_descriptors(trial: Trial, sandbox: Sandbox) -> None:
    """Many more connections than the process may have descriptors."""
    for most in (64, 128, 256):
        name = f"{most} descriptors"
        life = Life(trial, sandbox, name, preexec=descriptors(most))
        # The others are for files, the queue, SLS and operators.
        crowded(trial, life, name, 2 * most, at_most=most - max(48, most // 4))
        life.settle()


def descriptors(most: int) -> Callable[[], object]:
    """What gives a program so many of them. Only root may give more than its own hard limit."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def crowd(trial: Trial, sandbox: Sandbox) -> None:
    """As many connections as it may have, and more."""
    more, at_most, settings = (400, 20_000, "") if trial.is_long else (200, 600, "limits: { connections: 600 }")
    try:
        life = Life(trial, sandbox, "crowd", settings, preexec=descriptors(at_most + 1024))
    except subprocess.SubprocessError:
        # Fewer are tried, which does not prove what is promised.
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        trial.skip(
            f"a crowd of {at_most}",
            f"a process may have {hard} descriptors here, see ulimit -Hn; {hard - 1024} are tried",
        )
        at_most, life = hard - 1024, Life(trial, sandbox, "crowd", settings, preexec=descriptors(hard))
    crowded(trial, life, "crowd", at_most + more, at_most)
    life.settle()


def crowded(trial: Trial, life: Life, name: str, count: int, at_most: int) -> None:
    life.expect(life.post() == 200, "before the crowd it takes nothing")
    life.gateway.require_drained()
    before, resident = figures(life.gateway)
    herd = ConnectionHerd(life.gateway.devices, count)
    try:
        came = herd.ask("come")
        life.expect(not came["failed"], f"{came['failed']} of {count} connections did not come about")
        turned, kept = settled(herd)
        # The device that was there first is one of them; an operator's tool may have been, too.
        life.expect(at_most - 2 <= kept <= at_most, f"it keeps {kept} of {count} connections, and may have {at_most}")
        life.expect(set(turned) <= {"503", "closed"}, f"those that it does not keep are told {turned}")
        posts = herd.ask("post")
        life.expect(set(posts) == {"200", "lost"} and not posts["lost"], f"those that it keeps are answered {posts}")
        life.expect(life.post() == 200, "the device that was there first is not served")
        served = still_serves(life)
        life.expect(served, "while the crowd is there operators are not answered, or logs not delivered")
        most, grown = figures(life.gateway)
        grown -= resident
        life.expect(
            grown <= ONCE + EACH * kept, f"{kept} connections cost {grown} KiB, {ONCE} and {EACH} for each are enough"
        )
        herd.ask("leave")
    finally:
        herd.leave()
    wait_until(
        lambda: life.gateway.metric('sluice_http_connections{listener="devices"}') <= 1,
        what=f"{name}: connections stay",
    )
    wait_until(
        lambda: figures(life.gateway)[0] <= before + SLACK,
        what=f"{name}: descriptors stay: {before}, {figures(life.gateway)}",
    )
    device = Device(life.gateway.devices)
    life.expect(life.promises.post(device, life.promises.logs(2)) == 200, "after the crowd it takes nothing")
    trial.say(
        f"{name}: of {count} connections it kept {kept} and refused {turned.get('503', 0)} with 503, {turned.get('closed', 0)} without; "
        f"{most} descriptors at most, {before} before; {grown} KiB more memory, {grown / max(1, kept):.1f} for each"
    )


def still_serves(life: Life) -> bool:
    """Whether the admin listener answers, and says within seconds that all is delivered."""
    ends = time.monotonic() + 5
    while time.monotonic() < ends:
        try:
            ledger = ask(life.gateway.admin, "/admin/ledger", token=TOKEN, timeout=5)
        except OSError:
            return False
        if json.loads(ledger)["ledger"]["queued"] == 0:
            return True
        time.sleep(0.05)
    return False


def settled(herd: ConnectionHerd) -> tuple[dict[str, int], int]:
    """Goes on until nobody is turned away any more: how those were that were, and how many are left."""
    turned: dict[str, int] = {}
    while True:
        now = herd.ask("settle")
        kept = now.pop("kept")
        for key, value in now.items():
            turned[key] = turned.get(key, 0) + value
        if not any(now.values()):
            return turned, kept


def quick(life: Life, times: list[float], count: int) -> None:
    """What a device that is as it should be has to wait for its answers."""
    for _ in range(count):
        start = time.monotonic()
        life.expect(life.post() == 200, "a quick device is not served")
        times.append(time.monotonic() - start)
    times.sort()


def part(times: list[float], share: float) -> float:
    return times[int(len(times) * share)]


def slow_crowd(trial: Trial, sandbox: Sandbox) -> None:
    """Heads that come byte by byte take no one else's time and end at theirs."""
    count, settings = (10_000, "") if trial.is_long else (300, "limits: { head_timeout: 2s }")
    limit = 2 if settings else 10
    life = Life(trial, sandbox, "slow crowd", settings)
    alone: list[float] = []
    times: list[float] = []
    quick(life, alone, 40)
    life.gateway.require_drained()
    before, _ = figures(life.gateway)
    herd = ConnectionHerd(life.gateway.devices, count)
    try:
        herd.ask("come")
        _, kept = settled(herd)
        life.expect(kept == count, f"only {kept} of {count} were let in")
        began = time.monotonic()
        herd.ask("begin_slowly")
        told: dict[str, int] = {}
        while sum(told.values()) < kept and time.monotonic() < began + limit + 20:
            herd.ask("drip")
            quick(life, times, 20)
            for key, value in herd.ask("ends").items():
                told[key] = told.get(key, 0) + value
        took = time.monotonic() - began
    finally:
        herd.leave()
    life.expect(set(told) <= {"503", "closed"} and sum(told.values()) == kept, f"slow ones were told {told}")
    # A byte that meets the end of a connection takes the answer with it.
    life.expect(told.get("503", 0) >= 0.9 * kept, f"slow ones were told {told}")
    for share in (0.5, 0.9):
        now, before_it = part(times, share), part(alone, share)
        life.expect(
            now < QUICK + SLOWER * before_it,
            f"{share:.0%} of quick batches take up to {now:.3f} s, alone {before_it:.3f} s",
        )
    wait_until(
        lambda: figures(life.gateway)[0] <= before + SLACK,
        what=f"slow crowd: descriptors stay: {figures(life.gateway)}",
    )
    trial.say(
        f"slow crowd: {kept} slow heads were told {told} within {took:.0f} s; {len(times)} quick batches meanwhile, "
        f"median {1000 * part(times, 0.5):.1f} ms, alone {1000 * part(alone, 0.5):.1f} ms, worst {1000 * times[-1]:.0f} ms"
    )
    life.settle()

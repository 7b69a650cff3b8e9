"""Descriptors, memory, connections at their limits: new work is refused, old work goes on, and afterwards all is as before."""

import json
import os
import resource
import time

import memory
from bases import until
from device import Device
from herd import Herd
from life import Life
from program import TOKEN, ask


SLACK = 6  # Descriptors for requests to SLS and a look at the status, which come and go.


def check(trial):
    sandbox = trial.sandbox()
    few_descriptors(trial, sandbox)
    crowd(trial, sandbox)
    slow_crowd(trial, sandbox)
    memory.check(trial, sandbox)


def figures(gateway):
    """Descriptors and resident KiB, as the kernel sees them."""
    directory = f"/proc/{gateway.process.pid}"
    with open(f"{directory}/status") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))
    return len(os.listdir(f"{directory}/fd")), resident


def few_descriptors(trial, sandbox):
    """Many more connections than the process may have descriptors."""
    for most in (64, 128, 256):
        name = f"{most} descriptors"
        life = Life(trial, sandbox, name, preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
        crowded(trial, life, name, 2 * most, at_most=most)
        life.settle()


def crowd(trial, sandbox):
    """As many connections as it may have, and more."""
    count, settings = (20_000, "") if trial.is_long else (800, "limits: { connections: 600 }")
    life = Life(trial, sandbox, "crowd", settings)
    crowded(trial, life, "crowd", count, at_most=600 if settings else 20_000)
    life.settle()


def crowded(trial, life, name, count, at_most):
    life.expect(life.post() == 200, "before the crowd it takes nothing")
    life.gateway.drained()
    before, resident = figures(life.gateway)
    herd = Herd(life.gateway.devices, count)
    try:
        herd.ask("come")
        kept = settled(herd)
        life.expect(0 < kept["kept"] <= at_most, f"it keeps {kept}")
        posts = herd.ask("post")
        life.expect(set(posts) == {"200", "lost"} and not posts["lost"], f"those that it keeps are answered {posts}")
        life.expect(life.post() == 200, "the device that was there first is not served")
        served = still_serves(life)
        life.expect(served, "while the crowd is there operators are not answered, or logs not delivered")
        most, grown = figures(life.gateway)
        herd.ask("leave")
    finally:
        herd.leave()
    until(lambda: life.gateway.figure('sluice_http_connections{listener="devices"}') <= 1, what=f"{name}: connections stay")
    until(lambda: figures(life.gateway)[0] <= before + SLACK, what=f"{name}: descriptors stay: {before}, {figures(life.gateway)}")
    device = Device(life.gateway.devices)
    life.expect(life.promises.post(device, life.promises.logs(2)) == 200, "after the crowd it takes nothing")
    trial.say(
        f"{name}: of {count} connections it kept {kept['kept']} and refused {kept['503']} with 503, {kept['closed']} without; "
        f"{most} descriptors at most, {before} before; {(grown - resident) / max(1, kept['kept']):.1f} KiB for each"
    )


def still_serves(life):
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


def settled(herd):
    """Counts until nobody is turned away any more."""
    total = {"503": 0, "closed": 0}
    while True:
        now = herd.ask("settle")
        for key in total:
            total[key] += now[key]
        if not now["503"] and not now["closed"]:
            return total | {"kept": now["kept"]}


def slow_crowd(trial, sandbox):
    """Heads that come byte by byte take no one else's time and end at theirs."""
    count, settings = (10_000, "") if trial.is_long else (300, "limits: { head_timeout: 2s }")
    limit = 2 if settings else 10
    life = Life(trial, sandbox, "slow crowd", settings)
    life.post()
    life.gateway.drained()
    before, _ = figures(life.gateway)
    herd = Herd(life.gateway.devices, count)
    try:
        herd.ask("come")
        kept = settled(herd)["kept"]
        life.expect(kept == count, f"only {kept} of {count} were let in")
        began = time.monotonic()
        herd.ask("begin_slowly")
        told, times = {}, []
        while sum(told.values()) < kept and time.monotonic() < began + limit + 20:
            herd.ask("drip")
            for _ in range(20):
                start = time.monotonic()
                life.expect(life.post() == 200, "a quick device is not served")
                times.append(time.monotonic() - start)
            for key, value in herd.ask("ends").items():
                told[key] = told.get(key, 0) + value
        took = time.monotonic() - began
    finally:
        herd.leave()
    life.expect(set(told) <= {"408", "closed"} and sum(told.values()) == kept, f"slow ones were told {told}")
    times.sort()
    life.expect(times[len(times) // 2] < 0.2, f"a quick device waits {times[len(times) // 2]:.3f} s")
    until(lambda: figures(life.gateway)[0] <= before + SLACK, what=f"slow crowd: descriptors stay: {figures(life.gateway)}")
    trial.say(
        f"slow crowd: {kept} slow heads were told {told} within {took:.0f} s; {len(times)} quick batches meanwhile, "
        f"median {1000 * times[len(times) // 2]:.1f} ms, worst {1000 * times[-1]:.0f} ms"
    )
    life.settle()

"""Descriptors, memory and connections at their limits: new work is refused, current work goes on, and afterwards
everything is as before."""

import json
import os
import resource
import subprocess
import time
from collections import Counter
from collections.abc import Callable

from harness.calibration import delay
from harness.gateway import TOKEN, Gateway
from harness.http import ask
from harness.process import memory
from harness.sandbox import Sandbox
from harness.waiting import look_until, wait_until
from proof.clients.connection_herd import ConnectionHerd
from proof.clients.device import Device
from proof.gateway_life import Life
from proof.scenarios.limits import memory_limits
from proof.trial import Trial

SLACK = 6  # Descriptors for requests to SLS and for a look at the status.
# KiB that a crowd may cost: for a few requests at the same time, and for each idle connection.
ONCE, EACH = 4096, 2
# Seconds that an ordinary device may wait beside slow ones, and the multiple of its wait without them.
QUICK, SLOWER = 0.2, 4


def check(trial: Trial) -> None:
    sandbox = trial.sandbox()
    few_descriptors(trial, sandbox)
    crowd(trial, sandbox)
    slow_crowd(trial, sandbox)
    memory_limits.check(trial, sandbox)


def descriptors_and_memory(gateway: Gateway) -> tuple[int, int]:
    """Descriptors and resident KiB, from the kernel."""
    directory = f"/proc/{gateway.process.pid}"
    return len(os.listdir(f"{directory}/fd")), round(memory(gateway.process.pid, "VmRSS") * 1024)


def few_descriptors(trial: Trial, sandbox: Sandbox) -> None:
    """Many more connections than the process may have descriptors."""
    for most in (64, 128, 256):
        name = f"{most} descriptors"
        life = Life(trial, sandbox, name, preexec=descriptors(most))
        # The other descriptors are for files, the queue, SLS and operators.
        crowded(trial, life, name, 2 * most, at_most=most - max(48, most // 4))
        life.check_after_kill()


def descriptors(most: int) -> Callable[[], object]:
    """Sets the descriptor limit of a program. Only root may raise its hard limit."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def crowd(trial: Trial, sandbox: Sandbox) -> None:
    """The full number of allowed connections, and more."""
    more, at_most, settings = (400, 20_000, "") if trial.is_long else (200, 600, "limits: { connections: 600 }")
    try:
        life = Life(trial, sandbox, "crowd", settings, preexec=descriptors(at_most + 1024))
    except subprocess.SubprocessError:
        # With fewer connections the promise is not proven.
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        trial.skip(
            f"a crowd of {at_most}",
            f"a process may have {hard} descriptors here, see ulimit -Hn; {hard - 1024} are tried",
        )
        at_most, life = hard - 1024, Life(trial, sandbox, "crowd", settings, preexec=descriptors(hard))
    crowded(trial, life, "crowd", at_most + more, at_most)
    life.check_after_kill()


def crowded(trial: Trial, life: Life, name: str, count: int, at_most: int) -> None:
    life.expect(life.post() == 200, "before the crowd it accepts nothing")
    life.gateway.require_drained()
    before, resident = descriptors_and_memory(life.gateway)
    herd = ConnectionHerd(life.gateway.devices, count)
    try:
        opened = herd.ask("open")
        life.expect(not opened["failed"], f"{opened['failed']} of {count} connections failed")
        turned, kept = drop_refused(herd)
        # The first device has one of the connections. An operator's tool may have had another.
        life.expect(at_most - 2 <= kept <= at_most, f"it keeps {kept} of {count} connections, {at_most} are allowed")
        life.expect(set(turned) <= {"503", "closed"}, f"refused connections ended with {turned}")
        posts = herd.ask("post")
        life.expect(set(posts) == {"200", "lost"} and not posts["lost"], f"kept connections were answered {posts}")
        life.expect(life.post() == 200, "the first device is not served")
        served = still_serves(life)
        life.expect(served, "beside the crowd operators are not answered or logs not delivered")
        most, grown = descriptors_and_memory(life.gateway)
        grown -= resident
        trial.at_most(f"{name}: {kept} connections cost", grown, ONCE + EACH * kept, "KiB")
        herd.ask("close")
    finally:
        herd.end()
    wait_until(
        lambda: life.gateway.metric('sluice_http_connections{listener="devices"}') <= 1,
        what=f"{name}: connections are not closed",
    )
    wait_until(
        lambda: descriptors_and_memory(life.gateway)[0] <= before + SLACK,
        what=f"{name}: descriptors are not closed: {before}, {descriptors_and_memory(life.gateway)}",
    )
    device = Device(life.gateway.devices)
    life.expect(life.promises.post(device, life.promises.logs(2)) == 200, "after the crowd it accepts nothing")
    trial.say(
        f"{name}: of {count} connections it kept {kept} and refused {turned['503']} with 503, {turned['closed']} without; "
        f"{most} descriptors at most, {before} before; {grown} KiB more memory, {grown / max(1, kept):.1f} for each"
    )


def still_serves(life: Life) -> bool:
    """True if the admin listener answers, and reports within seconds that everything is delivered."""

    def is_delivered() -> bool:
        ledger = json.loads(ask(life.gateway.admin, "/admin/ledger", token=TOKEN, timeout=5))
        return ledger["ledger"]["queued"] == 0

    try:
        return look_until(is_delivered, 30, pause=0.05)
    except OSError:
        return False


def drop_refused(herd: ConnectionHerd) -> tuple[Counter[str], int]:
    """Repeats until no connection is refused any more. Returns how the others ended, and how many are left."""
    turned: Counter[str] = Counter()
    while True:
        now = herd.ask("drop refused")
        kept = now.pop("kept")
        turned.update(now)
        if not any(now.values()):
            return turned, kept


def ordinary_device(life: Life, times: list[float], count: int) -> None:
    """Measures the waits of an ordinary device."""
    for _ in range(count):
        start = time.monotonic()
        life.expect(life.post() == 200, "an ordinary device is not served")
        times.append(time.monotonic() - start)
    times.sort()


def quantile(times: list[float], share: float) -> float:
    return times[int(len(times) * share)]


def slow_crowd(trial: Trial, sandbox: Sandbox) -> None:
    """Heads that arrive byte by byte delay no other client, and are ended by their timeout."""
    count, settings = (10_000, "") if trial.is_long else (300, "limits: { head_timeout: 2s }")
    limit = 2 if settings else 10
    life = Life(trial, sandbox, "slow crowd", settings)
    alone: list[float] = []
    times: list[float] = []
    ordinary_device(life, alone, 40)
    life.gateway.require_drained()
    before, _ = descriptors_and_memory(life.gateway)
    herd = ConnectionHerd(life.gateway.devices, count)
    try:
        herd.ask("open")
        _, kept = drop_refused(herd)
        life.expect(kept == count, f"only {kept} of {count} were accepted")
        began = time.monotonic()
        herd.ask("begin heads")
        told: Counter[str] = Counter()
        while told.total() < kept and time.monotonic() < began + limit + 20:
            herd.ask("send a byte")
            ordinary_device(life, times, 20)
            told.update(herd.ask("count ended"))
        took = time.monotonic() - began
    finally:
        herd.end()
    life.expect(set(told) <= {"503", "closed"} and told.total() == kept, f"slow clients ended with {told}")
    # A byte that arrives after the end of a connection discards its answer.
    life.expect(told["503"] >= 0.9 * kept, f"slow clients ended with {told}")
    for share in (0.5, 0.9):
        now, before_it = quantile(times, share), quantile(alone, share)
        what = f"slow crowd: {share:.0%} of ordinary batches (without slow clients {before_it:.3f} s)"
        trial.at_most(what, now, QUICK * delay() + SLOWER * before_it, "s")
    wait_until(
        lambda: descriptors_and_memory(life.gateway)[0] <= before + SLACK,
        what=f"slow crowd: descriptors are not closed: {descriptors_and_memory(life.gateway)}",
    )
    trial.say(
        f"slow crowd: {kept} slow heads ended with {told} within {took:.0f} s; {len(times)} ordinary batches beside them, "
        f"median {1000 * quantile(times, 0.5):.1f} ms, alone {1000 * quantile(alone, 0.5):.1f} ms, worst {1000 * times[-1]:.0f} ms"
    )
    life.check_after_kill()

"""A disk that is full, fails, is slow or read-only: no false 2xx, a state that names the problem, and recovery
without help."""

import concurrent.futures
import shutil
import time
from collections.abc import Callable
from statistics import median

from harness.calibration import delay
from harness.process import context_switches
from harness.sandbox import Sandbox
from harness.waiting import wait_until
from proof.clients.device import Device
from proof.faults.syscall_faults import SyscallFault
from proof.gateway_life import Life
from proof.queues.queue_files import DATABASE, WAL
from proof.scenarios.disk import file_faults, small_disk
from proof.scenarios.kills import failed_syncs
from proof.trial import Trial

SYNC = "fdatasync,fsync"
# Voluntary context switches of a thread per second, with twenty requests in that second. Under strace a spinning
# thread gives up its processor at every call.
OFTEN = 1000
# The failing calls, the fault and the file. While the WAL fails no batch may be accepted.
FAULTS = [
    ("pwrite64", "error=ENOSPC", WAL),
    ("pwrite64", "error=EIO", WAL),
    ("pwrite64", "error=EROFS", WAL),
    (SYNC, "error=EIO", WAL),
    ("pwrite64", "error=ENOSPC", DATABASE),
    ("pwrite64", "error=EIO", DATABASE),
    (SYNC, "error=EIO", DATABASE),
]


def check(trial: Trial) -> None:
    sandbox = trial.sandbox()
    has_strace = shutil.which("strace") is not None
    if has_strace:
        for fault in FAULTS:
            failing(trial, sandbox, *fault)
        failing_for_long(trial, sandbox)
        one_failed_sync(trial, sandbox)
        failed_syncs.check(trial)
        slow(trial, sandbox)
    else:
        trial.skip("faults of single calls", "this machine has no strace")
    file_faults.check(trial, sandbox, has_strace)
    small_disk.check(trial, sandbox)


def failing(trial: Trial, sandbox: Sandbox, calls: str, how: str, file: str) -> None:
    """The fault lasts some seconds; the load goes on before, during and after it."""
    life = Life(trial, sandbox, f"{calls} {how} of {file}".replace(",", " "))
    before = [life.post() for _ in range(5)]
    life.expect(before == [200] * 5, f"before the fault batches are answered with {before}")
    with SyscallFault(life.gateway, calls, how, life.data / file) as fault:
        answers, states = [], []
        ends = time.monotonic() + (3 if trial.is_long else 0.4)
        while time.monotonic() < ends or (not fault.hits() and time.monotonic() < ends + 15):
            # Batches that are large enough for checkpoints.
            answers.append(life.post() if file == WAL else life.post(8, 60_000))
            states.append(life.state())
            time.sleep(0.02)
        health = life.gateway.ask("/healthz")
    life.expect(fault.hits(), "the fault hit no call")
    life.expect(health, "/healthz is empty")
    life.expect(set(answers) <= {200, 503}, f"answers are {sorted(set(map(str, answers)))}")
    if file == WAL:
        life.expect(200 not in answers, f"{answers.count(200)} of {len(answers)} batches were answered with 200")
    told = [state for state in states if state[0] in ("failing", "disk_full")]
    life.expect(not file == WAL or told, f"no state reports the fault: {set(states)}")
    unclear = [state for state in told if state[2] or not (state[1] or state[0] == "disk_full")]
    life.expect(not unclear, f"a state is unclear: {unclear[:1]}")
    began = time.monotonic()
    wait_until(lambda: life.post() == 200, what=f"{life.name}: the gateway does not recover")
    trial.say(
        f"{life.name}: {fault.hits()} calls hit, {answers.count(200)} of {len(answers)} batches accepted, "
        f"recovered {time.monotonic() - began:.1f} s after the fault"
    )
    life.check_after_kill()


def failing_for_long(trial: Trial, sandbox: Sandbox) -> None:
    """Between two attempts of the queue, which are seconds apart by then, no thread spins."""
    life = Life(trial, sandbox, "failing for long")
    with SyscallFault(life.gateway, "pwrite64", "error=EIO", life.data / WAL):
        expect_refusals(life, 2.5)
        before, began = context_switches(life.gateway.process.pid), time.monotonic()
        expect_refusals(life, 2.5)
        after, took = context_switches(life.gateway.process.pid), time.monotonic() - began
    often = max(after[thread] - before.get(thread, 0) for thread in after) / took
    life.expect(often <= OFTEN, f"between two attempts a thread has {often:.0f} voluntary context switches a second")
    wait_until(lambda: life.post() == 200, what=f"{life.name}: the gateway does not recover")
    trial.say(f"failing for long: at most {often:.0f} voluntary context switches a second in a thread")
    life.check_after_kill()


def expect_refusals(life: Life, seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        life.expect(life.post() == 503, "a batch that cannot be stored is accepted")
        time.sleep(0.05)


def one_failed_sync(trial: Trial, sandbox: Sandbox) -> None:
    """One sync fails: its batch is refused, and the WAL is not trusted until it was read, rewritten and
    checkpointed."""
    life = Life(trial, sandbox, "one failed sync")
    sandbox.fault(status=503)
    life.post()
    with SyscallFault(life.gateway, SYNC, "error=EIO:when=1", life.data / WAL, life.data / DATABASE) as fault:
        answer = life.post()
        wait_until(lambda: life.post() == 200, what="the gateway does not recover")
    life.expect(answer == 503, f"the batch whose sync failed is answered with {answer}")
    calls = list(fault.calls())
    failed = next((place for place, call in enumerate(calls) if call[2] and "sync" in call[0]), None)
    life.expect(failed is not None, f"no sync failed: {calls[:5]}")
    if failed is not None:
        after = calls[failed + 1 :]
        names = [(call, file) for call, file, _ in after]
        # The WAL's content may not be on the disk, even if a second sync succeeds. So it is read, written again and
        # synced, and then moved into the database. Only then comes the next commit.
        steps = [("openat", DATABASE), ("openat", WAL), ("pwrite64", WAL), ("fsync", WAL)]
        steps += [("pwrite64", DATABASE), ("fdatasync", DATABASE)]
        rest = iter(names)
        missing = [step for step in steps if step not in rest]
        life.expect(not missing, f"after the failed sync {missing} are missing or out of order: {names[:40]}")
        commits = [place for place, name in enumerate(names) if name == ("fdatasync", WAL)]
        is_late = ("fsync", WAL) in names and all(place > names.index(("fsync", WAL)) for place in commits)
        told = "after the failed sync the WAL was committed to before it was written again"
        life.expect(is_late, f"{told}: {names[:40]}")
    sandbox.clear_faults()
    life.check_after_kill()


def slow(trial: Trial, sandbox: Sandbox) -> None:
    """Each sync takes half a second: answers wait for it, and nothing else does."""
    life = Life(trial, sandbox, "slow disk")
    times = []
    posts, alone = [seconds_of(life.post) for _ in range(20)], median([seconds_of(life.state) for _ in range(20)])

    def device() -> None:
        device = Device(life.gateway.devices, seconds=30)
        for _ in range(3):
            began = time.monotonic()
            if life.promises.post(device, life.promises.logs(2)) == 200:
                times.append(time.monotonic() - began)

    fault = SyscallFault(life.gateway, "fdatasync", "delay_exit=500000", life.data / WAL)
    with fault, concurrent.futures.ThreadPoolExecutor(8) as pool:
        devices, looks = [pool.submit(device) for _ in range(8)], []
        while not all(device.done() for device in devices):
            looks.append(seconds_of(life.state))
            time.sleep(0.02)
    life.expect(len(times) == 24, f"{24 - len(times)} of 24 batches were refused")
    life.expect(times and min(times) >= 0.5, f"a batch was answered after {min(times, default=0):.3f} s")
    # One sync for each batch would take four seconds.
    allowed = 3 + min(0.9, 4 * max(posts)) * delay()
    what = f"slow disk: answers (without the fault within {max(posts):.3f} s)"
    trial.at_most(what, max(times, default=0), allowed, "s", says=True)
    # A request that waits for a running sync waits for half of it on average.
    what = f"slow disk: the median status request (without load {alone:.3f} s, the longest {max(looks):.2f} s)"
    trial.at_most(what, median(looks), 0.1 * delay() + 4 * alone, "s", says=True)
    life.check_after_kill()


def seconds_of(do: Callable[[], object]) -> float:
    began = time.monotonic()
    do()
    return time.monotonic() - began

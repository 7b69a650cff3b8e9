"""A disk that is full, fails, is slow or read-only: no false 2xx, a state that tells it, and recovery by itself."""

import concurrent.futures
import contextlib
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Self

from harness.gateway import Sandbox
from harness.measures import context_switches, delay
from harness.program import Program
from harness.waiting import look_until, wait_until
from proof.clients.device import Device
from proof.clients.promised_logs import ArchivingLife, Life
from proof.faults.machine import SmallDisk, fill
from proof.queues import DATABASE, WAL
from proof.scenarios import failed_syncs, small_disk
from proof.trial import Trial


class SyscallFault:
    """For the length of the block, calls on the files fail or are delayed: error=EIO, delay_exit=200000, when=1."""

    def __init__(self, program: Program, calls: str, how: str, *files: pathlib.Path) -> None:
        self.log = program.journal.with_suffix(".trace")
        self.notes = program.journal.with_suffix(".attached")
        words = ["strace", "-f", "-p", str(program.process.pid), "-o", str(self.log), "-y"]
        words += [word for file in files for word in ("-P", str(file))]
        # Traces the failing calls, and the calls that show how the program reacts.
        words += ["-e", f"trace={calls},openat,pwrite64,fdatasync,fsync", "-e", f"inject={calls}:{how}"]
        with open(self.notes, "wb") as notes:
            self.tracer = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=notes)

    def __enter__(self) -> Self:
        look_until(lambda: self.is_attached or self.tracer.poll() is not None, 30, pause=0.005)
        if not self.is_attached:
            self.__exit__()
            raise OSError(f"strace cannot trace: {self.notes.read_text()[-300:]}")
        return self

    @property
    def is_attached(self) -> bool:
        return " attached" in self.notes.read_text()

    def __exit__(self, *_: object) -> None:
        """Detaches strace. The program goes on without the fault."""
        if self.tracer.poll() is None:
            self.tracer.send_signal(signal.SIGINT)
        try:
            self.tracer.wait(10)
        finally:
            # A strace that does not detach would hold the program and outlive this trial.
            if self.tracer.poll() is None:
                self.tracer.kill()
                self.tracer.wait()

    def hits(self) -> int:
        return self.log.read_text(errors="replace").count("(INJECTED)")

    def calls(self) -> Iterator[tuple[str, str, bool]]:
        """Call, file name and whether it failed, in order."""
        pattern = re.compile(r'^\d+ +(\w+)\((?:AT_FDCWD<.*?>, "|\d+<)[^">]*?([\w.-]+)[">].* = (-?\d+)')
        for line in self.log.read_text(errors="replace").splitlines():
            if found := pattern.match(line):
                yield found[1], found[2], int(found[3]) < 0


FILE_FAULTS = [("write", "error=ENOSPC"), ("write", "error=EIO"), ("fdatasync", "error=EIO")]


def failing_file(trial: Trial, sandbox: Sandbox, calls: str, how: str) -> None:
    life = ArchivingLife(trial, sandbox, f"{calls} {how} of the file", trial.work / f"archive-{calls}-{how[-5:]}")
    life.post()
    life.gateway.drain()
    with SyscallFault(life.gateway, calls, how, life.fan_out.path) as fault:
        life.expect_posts(10, 200, "during the fault")
        life.expect_all_at_sls()
        wait_until(fault.hits, what=f"{life.name}: the fault hit no call")
        queued = life.gateway.ledger()["destinations"]["archive"]["queued"]
    life.expect(queued, "the file's logs left the queue though they are not safe")
    life.gateway.require_drained()
    trial.say(f"{life.name}: {fault.hits()} calls hit, {queued} logs waited for the file, none for SLS")
    life.check_both()


def killed_file(trial: Trial, sandbox: Sandbox) -> None:
    """Kills at random moments, while the file rotates and archives are compressed."""
    life = ArchivingLife(trial, sandbox, "killed while it writes", trial.work / "archive-killed")
    kills = 30 if trial.is_long else 6
    for _ in range(kills):
        timer = threading.Timer(trial.random.uniform(0.02, 0.8), life.gateway.kill)
        timer.start()
        # A connection that ends is opened again, and refused once the gateway is gone.
        with contextlib.suppress(OSError):
            while life.gateway.is_running:
                life.post(8, 30_000)
        timer.join()
        life.start()
    life.gateway.require_drained()
    files = life.fan_out.files()
    life.expect(len(files) > 2, f"the file did not rotate: {files}")
    trial.say(f"{life.name}: {kills} kills, {len(life.promises.answered)} answered logs, {len(files)} files")
    life.check_both()


def full_file(trial: Trial, sandbox: Sandbox, disk: SmallDisk) -> None:
    life = ArchivingLife(trial, sandbox, "a full disk of the file", disk.directory)
    life.post()
    life.gateway.drain()
    fill(disk.directory / "others")
    life.expect_posts(10, 200, "without room", 8, 3_000)
    life.expect_all_at_sls()
    life.restart()
    left = life.gateway.drain(1)["destinations"]["archive"]["queued"]
    life.expect(left, "the file's logs left the queue though its disk is full")
    (disk.directory / "others").unlink()
    life.gateway.require_drained()
    trial.say(f"{life.name}: {left} logs waited for room, none for SLS")
    life.check_both()


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
    for calls, how in FILE_FAULTS if has_strace else []:
        failing_file(trial, sandbox, calls, how)
    killed_file(trial, sandbox)
    with trial.skips("a full disk of a file"), SmallDisk(trial.work / "archive-disk", 8) as disk:
        full_file(trial, sandbox, disk)
    small_disk.check(trial, sandbox)


def failing(trial: Trial, sandbox: Sandbox, calls: str, how: str, file: str) -> None:
    """The fault lasts some seconds; the load goes on before, during and after it."""
    life = Life(trial, sandbox, f"{calls} {how} of {file}".replace(",", " "))
    life.expect_posts(5, 200, "before the fault")
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
    took = time.monotonic() - began
    trial.say(f"{life.name}: {answers.count(200)} of {len(answers)} batches accepted, recovered after {took:.1f} s")
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
    """The batch of a failed sync is refused, and the WAL is rewritten and checkpointed before it is trusted."""
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

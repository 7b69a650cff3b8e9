"""A gateway with limited memory: within the documented limit it lives; if it is killed for its memory it loses
nothing."""

import concurrent.futures
import contextlib
import os
import pathlib
import resource
import threading
import time

from harness.gateway import Gateway
from harness.process import memory
from harness.program import DidNotStart
from harness.sandbox import Sandbox
from harness.waiting import look_until
from proof.clients.device import Device
from proof.gateway_life import Life
from proof.trial import Trial

DOCUMENTED = 256 << 20  # docs/scaling.md, without TLS connections.
# Accepted batches in a burst: the sandbox would forget older logs.
TAKEN = 30
GROUPS = pathlib.Path("/sys/fs/cgroup/memory")


def check(trial: Trial, sandbox: Sandbox) -> None:
    confined(trial, sandbox)
    too_little_memory(trial, sandbox)


class MemoryGroup:
    """A control group of its own, version 1 or 2."""

    def __init__(self, bytes: int) -> None:
        is_old = GROUPS.is_dir()
        parent = GROUPS if is_old else GROUPS.parent
        self.directory = parent / f"sluice-proof-{os.getpid()}"
        self.directory.mkdir()
        try:
            (self.directory / ("memory.limit_in_bytes" if is_old else "memory.max")).write_text(str(bytes))
        except BaseException:
            self.directory.rmdir()
            raise

    def enter(self) -> None:
        """Runs between fork and exec of the program."""
        (self.directory / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self) -> bool:
        """Removes the group. The kernel may need a moment after its last process has ended."""
        with contextlib.suppress(OSError):
            self.directory.rmdir()
        return not self.directory.exists()


def confined(trial: Trial, sandbox: Sandbox) -> None:
    """The heaviest load in the memory that docs/scaling.md asks for."""
    try:
        group = MemoryGroup(DOCUMENTED)
    except OSError as error:
        return trial.skip("confined memory", f"this machine has no control groups for it: {error}")
    mark = len(trial.programs.started)
    try:
        life = Life(trial, sandbox, "confined memory", preexec=group.enter)
        for _ in range(4 if trial.is_long else 1):
            sandbox.fault(status=503)
            answers = burst(life, 10 if trial.is_long else 2)
            sandbox.clear_faults()
            life.expect(200 in answers and set(answers) <= {200, 503, None}, f"answers are {answers}")
            if not life.expect(life.gateway.is_running, f"it was killed for its memory, after {answers}"):
                break
            life.gateway.require_drained(60)
            peak = memory(life.gateway.process.pid)
            trial.say(f"confined memory: {answers}, at most {peak:.0f} MiB resident of {DOCUMENTED >> 20}")
            life.check_after_kill(keeps_running=True)
        life.check_after_kill()
    finally:
        sandbox.clear_faults()
        for program in trial.programs.started[mark:]:
            program.kill()
        trial.expect(look_until(group.remove, 5), f"confined memory: {group.directory} cannot be removed")


def too_little_memory(trial: Trial, sandbox: Sandbox) -> None:
    """An address space that is too small for the load: the gateway may end, but loses nothing it promised."""
    life = Life(trial, sandbox, "strangled", preexec=lambda: None)
    most = status_bytes(life.gateway, "VmSize") + (16 << 20)
    life.gateway.kill()
    life.options = {"preexec": lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))}
    try:
        life.start()
    except DidNotStart as error:
        life.expect(False, f"it does not start with 16 MiB more than it has at rest: {str(error)[-300:]}")
        return
    answers = burst(life, 2)
    if set(answers) == {200}:
        # That memory was enough this time. A fresh process has no spare memory, and may not have room for one body.
        life.gateway.kill()
        life.options = {}
        life.start()
        most = status_bytes(life.gateway, "VmData") + (4 << 20)
        resource.prlimit(life.gateway.process.pid, resource.RLIMIT_DATA, (most, most))
        answers = burst(life, 2)
    ended = not life.gateway.is_running
    life.expect(set(answers) <= {200, 503, None}, f"without memory batches are answered with {answers}")
    life.expect(ended or set(answers) != {200}, f"it had enough memory for all of {answers}, which proves nothing")
    trial.say(f"strangled: {answers}, {'it ended' if ended else 'it lived'}")
    life.options = {}
    life.check_after_kill()


def status_bytes(gateway: Gateway, name: str) -> int:
    """Bytes, from the gateway's /proc status."""
    return round(memory(gateway.process.pid, name) * (1 << 20))


def burst(life: Life, seconds: float) -> dict[int | None, int]:
    """Large batches over many connections at once. Returns the statuses with their counts; None is no answer."""
    noise = f"{life.promises.random.getrandbits(400_000):x}"
    ends, lock = time.monotonic() + seconds, threading.Lock()
    answers: dict[int | None, int] = {}

    def device(_: int) -> None:
        status: int | None = 0
        while time.monotonic() < ends and life.gateway.is_running and answers.get(200, 0) < TAKEN:
            try:
                connection = Device(life.gateway.devices, seconds=30)
            except OSError:
                continue
            while status is not None and time.monotonic() < ends and answers.get(200, 0) < TAKEN:
                with lock:
                    logs = life.promises.logs(40, noise=noise)
                status = life.promises.post(connection, logs)
                with lock:
                    answers[status] = answers.get(status, 0) + 1
            status = 0

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        list(pool.map(device, range(24)))
    return answers

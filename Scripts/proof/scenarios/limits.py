"""At limits of descriptors, memory and connections new work is refused, and afterwards all is as before."""

import concurrent.futures
import contextlib
import os
import pathlib
import resource
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable

from harness.gateway import Gateway, Sandbox
from harness.measures import delay, memory
from harness.program import DidNotStart
from harness.waiting import look_until, wait_until
from proof.clients.connection_herd import HEAD, ConnectionHerd
from proof.clients.device import Device
from proof.clients.promised_logs import Life
from proof.trial import Trial

DOCUMENTED = 256 << 20  # docs/scaling.md, without TLS connections.
# Accepted batches in a burst: the sandbox would forget older logs.
TAKEN = 30
GROUPS = pathlib.Path("/sys/fs/cgroup/memory")


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
    most = round(memory(life.gateway.process.pid, "VmSize") + 16) << 20
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
        most = round(memory(life.gateway.process.pid, "VmData") + 4) << 20
        resource.prlimit(life.gateway.process.pid, resource.RLIMIT_DATA, (most, most))
        answers = burst(life, 2)
    ended = not life.gateway.is_running
    life.expect(set(answers) <= {200, 503, None}, f"without memory batches are answered with {answers}")
    life.expect(ended or set(answers) != {200}, f"it had enough memory for all of {answers}, which proves nothing")
    trial.say(f"strangled: {answers}, {'it ended' if ended else 'it lived'}")
    life.options = {}
    life.check_after_kill()


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
                status = life.promises.post(connection, life.promises.logs(40, noise=noise))
                with lock:
                    answers[status] = answers.get(status, 0) + 1
            status = 0

    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        list(pool.map(device, range(24)))
    return answers


SLACK = 6  # Descriptors for requests to SLS and for a look at the status.
# KiB that a crowd may cost: for a few requests at the same time, and for each idle connection.
ONCE, EACH = 4096, 2
# Seconds that an ordinary device may wait beside slow ones, and the multiple of its wait without them.
QUICK, SLOWER = 0.2, 4


def check(trial: Trial) -> None:
    sandbox = trial.sandbox()
    # Many more connections than the process may have descriptors.
    for most in (64, 128, 256):
        life = Life(trial, sandbox, f"{most} descriptors", preexec=descriptors(most))
        # The other descriptors are for files, the queue, SLS and operators.
        crowded(life, 2 * most, at_most=most - max(48, most // 4))
    crowd(trial, sandbox)
    slow_crowd(trial, sandbox)
    confined(trial, sandbox)
    too_little_memory(trial, sandbox)


def descriptors_and_memory(gateway: Gateway) -> tuple[int, int]:
    directory = f"/proc/{gateway.process.pid}"
    return len(os.listdir(f"{directory}/fd")), round(memory(gateway.process.pid, "VmRSS") * 1024)


def wait_for_descriptors(life: Life, before: int) -> None:
    is_closed = lambda: descriptors_and_memory(life.gateway)[0] <= before + SLACK
    wait_until(is_closed, what=f"{life.name}: descriptors are not closed, {before} before")


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
        why = f"a process may have {hard} descriptors here, see ulimit -Hn; {hard - 1024} are tried"
        trial.skip(f"a crowd of {at_most}", why)
        at_most, life = hard - 1024, Life(trial, sandbox, "crowd", settings, preexec=descriptors(hard))
    crowded(life, at_most + more, at_most)


def crowded(life: Life, count: int, at_most: int) -> None:
    trial, name = life.trial, life.name
    life.expect(life.post() == 200, "before the crowd it accepts nothing")
    life.gateway.require_drained()
    before, resident = descriptors_and_memory(life.gateway)
    herd = ConnectionHerd(life.gateway.devices, count)
    try:
        life.expect(not herd.failed, f"{herd.failed} of {count} connections failed")
        turned, kept = herd.drop_refused(), len(herd.devices)
        # The first device has one of the connections. An operator's tool may have had another.
        life.expect(at_most - 2 <= kept <= at_most, f"it keeps {kept} of {count} connections, {at_most} are allowed")
        life.expect(set(turned) <= {"503", "closed"}, f"refused connections ended with {turned}")
        posts = herd.post_sample()
        life.expect(set(posts) == {"200", "lost"} and not posts["lost"], f"kept connections were answered {posts}")
        life.expect(life.post() == 200, "the first device is not served")
        life.expect(not life.gateway.drain(30)["ledger"]["queued"], "beside the crowd logs are not delivered")
        most, grown = descriptors_and_memory(life.gateway)
        grown -= resident
        trial.at_most(f"{name}: {kept} connections cost", grown, ONCE + EACH * kept, "KiB")
    finally:
        herd.close()
    connections = 'sluice_http_connections{listener="devices"}'
    wait_until(lambda: life.gateway.metric(connections) <= 1, what=f"{name}: connections are not closed")
    wait_for_descriptors(life, before)
    device = Device(life.gateway.devices)
    life.expect(life.promises.post(device, life.promises.logs(2)) == 200, "after the crowd it accepts nothing")
    figures = f"{most} descriptors, {before} before; {grown} KiB more memory"
    trial.say(f"{name}: of {count} connections {kept} are kept, the others ended with {dict(turned)}; {figures}")
    life.check_after_kill()


def ordinary_device(life: Life, count: int) -> list[float]:
    times = []
    for _ in range(count):
        start = time.monotonic()
        life.expect(life.post() == 200, "an ordinary device is not served")
        times.append(time.monotonic() - start)
    return times


def quantile(times: list[float], share: float) -> float:
    return sorted(times)[int(len(times) * share)]


def slow_crowd(trial: Trial, sandbox: Sandbox) -> None:
    """Heads that arrive byte by byte delay no other client, and are ended by their timeout."""
    count, settings = (10_000, "") if trial.is_long else (300, "limits: { head_timeout: 2s }")
    limit = 2 if settings else 10
    life = Life(trial, sandbox, "slow crowd", settings)
    alone = ordinary_device(life, 40)
    times: list[float] = []
    life.gateway.require_drained()
    before, _ = descriptors_and_memory(life.gateway)
    herd = ConnectionHerd(life.gateway.devices, count)
    try:
        herd.drop_refused()
        kept = len(herd.devices)
        life.expect(kept == count, f"only {kept} of {count} were accepted")
        began = time.monotonic()
        herd.send(HEAD)
        told: Counter[str] = Counter()
        while told.total() < kept and time.monotonic() < began + limit + 20:
            herd.send(b"x")
            times += ordinary_device(life, 20)
            told.update(herd.drop_ended())
        took = time.monotonic() - began
    finally:
        herd.close()
    life.expect(set(told) <= {"503", "closed"} and told.total() == kept, f"slow clients ended with {told}")
    # A byte that arrives after the end of a connection discards its answer.
    life.expect(told["503"] >= 0.9 * kept, f"slow clients ended with {told}")
    for share in (0.5, 0.9):
        now, before_it = quantile(times, share), quantile(alone, share)
        what = f"slow crowd: {share:.0%} of ordinary batches (without slow clients {before_it:.3f} s)"
        trial.at_most(what, now, QUICK * delay() + SLOWER * before_it, "s")
    wait_for_descriptors(life, before)
    medians = f"median {1000 * quantile(times, 0.5):.1f} ms, alone {1000 * quantile(alone, 0.5):.1f} ms"
    trial.say(f"slow crowd: {kept} slow heads ended with {dict(told)} within {took:.0f} s; ordinary batches: {medians}")
    life.check_after_kill()

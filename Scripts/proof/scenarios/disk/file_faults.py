"""A file as a second destination, whose writes and syncs fail, whose disk is full, and whose gateway is killed: SLS gets
all logs meanwhile, and in the end the file has them, too."""

import contextlib
import pathlib
import threading

from harness.sandbox import Sandbox
from harness.waiting import wait_until
from proof import fan_out
from proof.fan_out import FanOut, is_dropped
from proof.faults.mounts import SmallDisk, fill
from proof.faults.syscall_faults import SyscallFault
from proof.gateway_life import Life
from proof.trial import Trial, Unavailable

FAULTS = [("write", "error=ENOSPC"), ("write", "error=EIO"), ("fdatasync", "error=EIO")]


class ArchivingLife(Life):
    """A gateway that fans out to SLS and to a file below `directory`."""

    def __init__(self, trial: Trial, sandbox: Sandbox, name: str, directory: pathlib.Path) -> None:
        directory.mkdir(exist_ok=True)
        self.fan_out = FanOut(directory, ", keep: 1000, compress: gzip")
        super().__init__(trial, sandbox, name, fan_out.SETTINGS, others=self.fan_out.destination)

    def expect_all_at_sls(self) -> None:
        """Waits until SLS has all answered logs, while the file takes none."""
        kept = {name for name in self.promises.answered if not is_dropped(name)}
        wait_until(
            lambda: kept <= self.promises.arrived(self.sandbox).names,
            what=f"{self.name}: SLS does not get all logs while the file cannot be written",
            pause=0.1,
        )

    def check_both(self) -> None:
        """Kills and restarts the gateway. Both destinations must have everything that it promised."""
        self.gateway.kill()
        self.start()
        ledger = self.gateway.drain(30)
        self.expect(not ledger["ledger"]["queued"], f"logs still wait: {ledger}")
        self.expect(not ledger["ledger"]["discarded"], f"logs were discarded: {ledger}")
        self.wrong(*self.fan_out.wrong(self.gateway, self.sandbox.logs(), self.promises.answered))
        altered = self.promises.arrived(self.sandbox).altered
        self.expect(not altered, f"altered: {altered[:1]}")
        self.gateway.kill()
        self.sandbox.control("DELETE", "/logs")


def check(trial: Trial, sandbox: Sandbox, has_strace: bool) -> None:
    for calls, how in FAULTS if has_strace else []:
        failing(trial, sandbox, calls, how)
    killed(trial, sandbox)
    disk = SmallDisk(trial.work / "archive-disk", 8)
    with contextlib.ExitStack() as mounted:
        try:
            mounted.enter_context(disk)
        except Unavailable as error:
            return trial.skip("a full disk of a file", f"this machine cannot mount it: {error}")
        full(trial, sandbox, disk)


def failing(trial: Trial, sandbox: Sandbox, calls: str, how: str) -> None:
    life = ArchivingLife(trial, sandbox, f"{calls} {how} of the file", trial.work / f"archive-{calls}-{how[-5:]}")
    life.post()
    life.gateway.drain()
    with SyscallFault(life.gateway, calls, how, life.fan_out.path) as fault:
        answers = [life.post() for _ in range(10)]
        life.expect_all_at_sls()
        wait_until(fault.hits, what=f"{life.name}: the fault hit no call")
        queued = life.gateway.ledger()["destinations"]["archive"]["queued"]
    life.expect(answers == [200] * 10, f"batches are answered with {answers}")
    life.expect(queued, "the file's logs left the queue though they are not safe")
    life.gateway.require_drained()
    trial.say(f"{life.name}: {fault.hits()} calls hit, {queued} logs waited for the file, none for SLS")
    life.check_both()


def killed(trial: Trial, sandbox: Sandbox) -> None:
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


def full(trial: Trial, sandbox: Sandbox, disk: SmallDisk) -> None:
    life = ArchivingLife(trial, sandbox, "a full disk of the file", disk.directory)
    life.post()
    life.gateway.drain()
    fill(disk.directory / "others")
    answers = [life.post(8, 3_000) for _ in range(10)]
    life.expect(answers == [200] * 10, f"batches are answered with {answers}")
    life.expect_all_at_sls()
    life.gateway.kill()
    life.start()
    left = life.gateway.drain(1)["destinations"]["archive"]["queued"]
    life.expect(left, "the file's logs left the queue though its disk is full")
    (disk.directory / "others").unlink()
    life.gateway.require_drained()
    trial.say(f"{life.name}: {left} logs waited for room, none for SLS")
    life.check_both()

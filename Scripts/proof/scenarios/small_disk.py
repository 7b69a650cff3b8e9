"""A small file system that the queue fills, one that other files fill, and one that becomes read-only."""

import os
from collections.abc import Callable
from typing import Any

from harness.gateway import Sandbox
from harness.program import DidNotStart
from harness.waiting import wait_until
from proof.clients.promised_logs import Life
from proof.faults.machine import FragileDisk, Mounted, SmallDisk, fill
from proof.queues import DATABASE, first_pages, wipe
from proof.trial import Trial

ROOM = "queue: { min_free_bytes: 1MiB }\ndrain_timeout: 100ms"


def check(trial: Trial, sandbox: Sandbox) -> None:
    scenarios: list[tuple[Callable[[Trial, Sandbox, Any], None], Mounted]] = [
        (filled_by_itself, SmallDisk(trial.work / "small", 24)),
        (filled_by_others, SmallDisk(trial.work / "shared", 24)),
        (damaged_and_full, SmallDisk(trial.work / "damaged-and-full", 24)),
        (without_any_room, SmallDisk(trial.work / "full", 2)),
        (read_only, FragileDisk(trial.work / "fragile", 32)),
    ]
    for scenario, disk in scenarios:
        with trial.skips(scenario.__name__), disk:
            scenario(trial, sandbox, disk)
        sandbox.clear_faults()


def fill_queue(life: Life) -> int:
    """Posts until the disk is full. Returns the number of accepted batches."""
    taken = 0
    for size in (30_000, 300):
        while taken < 2000 and life.post(8, size) == 200:
            taken += 1
    return taken


def expect_full(life: Life) -> None:
    admission, _, is_ready = life.state()
    life.expect(admission == "disk_full" and not is_ready, f"the state is {admission}, ready: {is_ready}")


def filled_by_itself(trial: Trial, sandbox: Sandbox, disk: SmallDisk) -> None:
    """SLS is away until the disk is full. All accepted logs are delivered later, also after a kill."""
    life = Life(trial, sandbox, "filled by itself", ROOM, disk.directory)
    sandbox.fault(status=503)
    taken = fill_queue(life)
    life.expect_posts(5, 503, "on a full disk", 8, 300)
    expect_full(life)
    life.restart()
    free = os.statvfs(disk.directory).f_bavail * os.statvfs(disk.directory).f_frsize
    sandbox.clear_faults()
    ledger = life.gateway.drain(60)
    life.expect(not ledger["ledger"]["queued"], f"a full queue is not delivered: {ledger}")
    wait_until(lambda: life.post() == 200, what=f"{life.name}: it accepts nothing after all is delivered")
    trial.say(f"{life.name}: full after {taken} batches with {free >> 10} KiB free; all delivered, new ones accepted")
    life.check_after_kill()


def filled_by_others(trial: Trial, sandbox: Sandbox, disk: SmallDisk) -> None:
    """Other files take the last byte while SLS is away, and are removed again."""
    life = Life(trial, sandbox, "filled by others", ROOM, disk.directory)
    sandbox.fault(status=503)
    life.expect_posts(20, 200, "before the fault")
    fill(disk.directory / "others")
    answers = [life.post(8, 3000) for _ in range(200)]
    life.expect(503 in answers and set(answers) <= {200, 503}, f"a full disk answers {set(answers)}")
    expect_full(life)
    life.restart()
    sandbox.clear_faults()
    left = life.gateway.drain(3)["ledger"]["queued"]
    (disk.directory / "others").unlink()
    wait_until(lambda: life.post() == 200, what=f"{life.name}: it accepts nothing though there is room again")
    life.gateway.require_drained(30)
    trial.say(f"{life.name}: {answers.count(200)} of 200 small batches still fit; {left} logs waited for room")
    life.check_after_kill()


def damaged_and_full(trial: Trial, sandbox: Sandbox, disk: SmallDisk) -> None:
    """A damaged queue without room for a second copy. Readable logs are delivered, also after kills."""
    life = Life(trial, sandbox, "damaged and full", ROOM, disk.directory)
    sandbox.fault(status=503)
    taken = fill_queue(life)
    life.gateway.stop()
    # Every log is still readable, but a start needs a new database.
    wipe(life.data / DATABASE, first_pages(life.data)["rows_by_stream"])
    life.start()
    life.gateway.wait_for("the disk has no room for all of a damaged queue; the rest is copied as logs leave")
    before = life.gateway.ledger()["ledger"]
    life.expect(before["queued"] == before["accepted"], f"a salvage that does not fit loses logs: {before}")
    for _ in range(3):
        sandbox.fault(status=503)
        life.restart()
        sandbox.clear_faults()
        wait_until(
            lambda: life.gateway.ledger()["ledger"]["queued"] < before["queued"],
            what=f"{life.name}: nothing is delivered",
        )
    ledger = life.gateway.drain(120)
    life.expect(
        not ledger["ledger"]["queued"] and not ledger["ledger"]["discarded"],
        f"a damaged queue is not delivered: {ledger}",
    )
    wait_until(lambda: life.post() == 200, what=f"{life.name}: it accepts nothing after all is delivered")
    trial.say(f"{life.name}: full after {taken} batches; all delivered, new ones accepted")
    life.check_after_kill()


def without_any_room(trial: Trial, sandbox: Sandbox, disk: SmallDisk) -> None:
    """On a disk without a free byte a new queue reports the problem and ends."""
    fill(disk.directory / "others")
    try:
        life = Life(trial, sandbox, "without any room", ROOM, disk.directory)
    except DidNotStart as error:
        said = str(error)
        trial.expect("free" in said and "space" in said, f"without any room: no remedy is named: {said[-400:]}")
        return trial.say("without any room: it does not start and reports the reason")
    life.expect(life.post() == 503, "a disk without room accepts logs")
    life.gateway.kill()


def read_only(trial: Trial, sandbox: Sandbox, disk: FragileDisk) -> None:
    """ext4 becomes read-only after an error, as on a breaking disk, and writable by a new mount."""
    settings = ROOM.replace("100ms", "1s")
    life = Life(trial, sandbox, "read-only", settings, disk.directory)
    sandbox.fault(status=503)
    life.expect_posts(20, 200, "before the fault")
    disk.break_down()
    life.expect_posts(20, 503, "on a read-only disk")
    admission, problem, is_ready = life.state()
    life.expect(admission == "failing" and problem and not is_ready, f"it is {admission}: {problem}, {is_ready}")
    code = life.gateway.stop()
    life.expect(code == 0, f"it ends with {code}")
    try:
        life.start()
        life.expect(False, "it starts on a read-only disk")
    except DidNotStart as error:
        life.expect("Read-only" in str(error) and "writable" in str(error), f"no remedy is named: {str(error)[-400:]}")
    life.gateway.kill()
    sandbox.clear_faults()
    disk.renew()
    life.start()
    wait_until(lambda: life.post() == 200, what=f"{life.name}: it accepts nothing after a new mount")
    trial.say(f"{life.name}: {problem}")
    life.check_after_kill()

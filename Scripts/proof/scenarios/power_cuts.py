"""After a power cut at any moment the queue opens, and has everything it promised."""

import os
import pathlib
import random
import shutil
import threading
from collections.abc import Iterator

from harness.gateway import Gateway, Sandbox
from harness.waiting import wait_until
from proof import queues
from proof.clients.writer import Writer, arrivals_by_name, check_left, post_together
from proof.disk.recording import Recording
from proof.fan_out import FanOut, is_dropped
from proof.scenarios import exactly_once
from proof.trial import Trial


def reopen(trial: Trial, recording: Recording, place: int, image: pathlib.Path, sandbox: Sandbox) -> int:
    """Starts a gateway on the image, and compares. Returns the number of answered logs that are missing."""
    where = f"{recording.name}, cut at call {place} of {len(recording.events)}"
    sandbox.control("DELETE", "/logs")
    data = image / "data"
    options = {"settings": recording.settings, "others": recording.others(data)}
    gateway = trial.gateway(sandbox, data=data, token=None, **options)
    fresh = Writer(random.Random(place), "fresh")
    # While the gateway rebuilds the queue it refuses logs, and devices retry.
    wait_until(lambda: fresh.post(gateway) == 200, what="no log is accepted")
    ledger = check_left(trial, gateway, where, len(recording.gone), "salvage" in recording.name)
    arrived = set(arrivals_by_name(trial, sandbox, (recording.writer, fresh), where))
    promised = recording.promised(place)
    lost = (promised | fresh.answered) - recording.known(place) - arrived
    if recording.fans_out:
        answered = promised | fresh.answered
        arrived |= {name for name in answered if is_dropped(name)}
        lost -= arrived
        wrong = FanOut.beside(data).wrong(gateway, sandbox.logs(), answered, recording.known(place))
        trial.wrong(*(f"{where}: {line}" for line in wrong))
    trial.expect(not lost, f"{where}: {len(lost)} of {len(promised)} promised logs are lost: {ledger}")
    accepted = ledger["ledger"]["accepted"]
    trial.expect(accepted >= len(promised | fresh.answered), f"{where}: the ledger has lost logs: {ledger}")
    if recording.ready is not None and place > recording.ready:
        trial.expect(gateway.token == recording.token, f"{where}: the admin token has changed")
    gateway.kill()
    shutil.rmtree(image)
    return len(recording.answered(place) - recording.known(place) - arrived)


def quiet(gateway: Gateway, writer: Writer, sandbox: Sandbox) -> None:
    """Posts while SLS is reachable, while it is not, and around a checkpoint of the idle WAL."""
    posts(gateway, writer, 10)
    sandbox.fault(status=503)
    posts(gateway, writer, 10)
    queues.checkpointed(gateway, lambda: writer.post(gateway, 40, "large", 4_000))
    posts(gateway, writer, 6)


def several(gateway: Gateway, writer: Writer, sandbox: Sandbox) -> None:
    """Batches that arrive while others are written and synced."""
    post_together(gateway, writer, 3)
    sandbox.fault(status=503)
    post_together(gateway, writer, 3)


def stopped(gateway: Gateway, writer: Writer, sandbox: Sandbox) -> None:
    """Begins where the last run was killed, and stops in order."""
    posts(gateway, writer, 3)
    sandbox.clear_faults()
    posts(gateway, writer, 6)
    gateway.drain(5)
    writer.post(gateway)
    gateway.stop()


def delivered(gateway: Gateway, writer: Writer, sandbox: Sandbox) -> None:
    writer.post(gateway)
    gateway.drain(5)


def large(gateway: Gateway, writer: Writer, sandbox: Sandbox) -> None:
    """So many logs that checkpoints run during the posts."""
    for count in (0, 0, 1, 1):
        for _ in range(4):
            writer.post(gateway, 30, "large", 40_000)
        posts(gateway, writer, 3)
        sandbox.clear_faults() if count else sandbox.fault(status=503)
    gateway.drain(5)


def posts(gateway: Gateway, writer: Writer, count: int) -> None:
    for _ in range(count):
        writer.post(gateway)


def normal(trial: Trial, name: str) -> Recording:
    return Recording(trial, name, None, [quiet, stopped, delivered], "normal")


def recordings(trial: Trial) -> Iterator[tuple[Recording, float]]:
    """The recordings, each with its share of the cuts."""
    yield Recording(trial, "full", None, [quiet, stopped, delivered]), 0.4
    yield Recording(trial, "several at a time", None, [several]), 0.2
    yield normal(trial, "normal"), 0.1
    yield Recording(trial, "fan-out", None, [quiet, stopped, delivered], fans_out=True), 0.2
    backlog = queues.backlog(trial)
    data, writer, gone = queues.damaged(trial, backlog)
    yield Recording(trial, "salvage", (data, writer), [delivered, delivered], gone=frozenset(gone)), 0.1
    yield Recording(trial, "salvage with a log", queues.damaged_behind_log(trial), [delivered]), 0.1
    for older in queues.older(trial, backlog)[:1]:
        yield Recording(trial, "migration", older, [delivered, delivered]), 0.1
    if trial.is_long:
        yield Recording(trial, "large", None, [large, delivered]), 0.1


def check(trial: Trial) -> None:
    count = 1000 if trial.is_long else 40
    exactly_once.check(trial)
    # Images take space, so no more are written than are checked soon.
    slots = threading.Semaphore(4 * (os.cpu_count() or 2))

    def attempt(recording: Recording, place: int, image: pathlib.Path) -> int:
        try:
            return reopen(trial, recording, place, image, sandbox())
        except Exception as error:
            trial.wrong(f"{recording.name}, cut at call {place}: {type(error).__name__}: {error}; {image}")
            return 0
        finally:
            slots.release()

    with trial.pool() as (pool, sandbox):

        def look(recording: Recording, part: float) -> int:
            results, places, ends = [], set(), set(recording.boundaries)
            for cut in recording.cuts(trial.random, recording.places(trial.random, int(part * count)), moves=True):
                slots.acquire()
                places.add(cut[0])
                results.append(pool.submit(attempt, recording, *cut))
            lost = [result.result() for result in results]
            told = f"{len(lost)} power cuts, at {len(places & ends)} of {len(ends)} ends of syncs"
            disks = f"{len(recording.images)} different disks, at most {max(lost)} answered logs lost on one"
            trial.say(f"{recording.name}: {len(recording.answers)} answers; {told}; {disks}")
            missed = ends - places
            trial.expect(not trial.is_long or not missed, f"{recording.name}: {len(missed)} ends of syncs have no cut")
            trial.expect(len(recording.images) > len(lost) / 4, f"{recording.name}: most cuts left the same disk")
            return max(lost)

        for recording, part in recordings(trial):
            lacking = look(recording, part)
            # Without syncs some cut must lose a log, or the check proves nothing. A slow machine syncs in its
            # pauses, so that few cuts do.
            for again in range(3):
                if recording.durability == "normal" and not lacking:
                    lacking = look(normal(trial, f"normal again {again}"), part)
            trial.expect(
                recording.durability == "full" or lacking, f"{recording.name}: no log is lost: the check is blind"
            )

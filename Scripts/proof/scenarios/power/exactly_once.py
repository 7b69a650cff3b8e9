"""After a power cut no sequence number of a lane is used for other logs, which SLS would take for stored."""

import collections
import concurrent.futures
import functools
import os
import pathlib
import random
import shutil
import time
from collections.abc import Iterable
from random import Random

from harness.gateway import Gateway
from harness.sandbox import Sandbox
from harness.waiting import wait_until
from proof.clients.writer import Writer, arrivals_by_name, post_together
from proof.disk.recording import Recording
from proof.disk.sls_storage import SLSStorage
from proof.queues import starting_queues
from proof.trial import Trial

# Packets, the logs that were stored twice by the phase of each cut, and different disks.
CutResults = tuple[int, list[tuple[str, int]], int]


LOGSTORE = "app"


def write_load(random: Random, gateway: Gateway, writer: Writer, sandbox: Sandbox) -> None:
    """Ends while SLS has stored packets whose answers the gateway has not received."""
    # The waiting logs are on the disk even without syncs, because a checkpoint ran. Their packets are not: they are
    # sealed later.
    gateway.ask("/admin/destinations/app/pause", "POST")
    starting_queues.checkpointed(gateway, lambda: post_together(gateway, writer, 1, LOGSTORE))
    gateway.ask("/admin/destinations/app/resume", "POST")
    gateway.drain(20)
    # A packet is sealed after 50 ms, so that several are in flight at a time, one for each lane.
    sandbox.fault(latency_ms=random.randint(1, 150))
    for _ in range(random.randint(4, 9)):
        post_together(gateway, writer, 1, LOGSTORE)
        time.sleep(random.uniform(0, 0.1))
    gateway.drain(20)
    gateway.drain(20)
    sandbox.fault(hold=True)
    stored = sum(1 for _ in sandbox.logs())
    post_together(gateway, writer, 1, LOGSTORE)
    wait_until(lambda: sum(1 for _ in sandbox.logs()) > stored, 60, "SLS has stored nothing")


def reopen(trial: Trial, recording: Recording, storage: SLSStorage, place: int, phase: str, image: pathlib.Path) -> int:
    """The number of logs that SLS has twice."""
    where = f"{recording.name}, cut at call {place} of {len(recording.events)}, {phase}"
    choices = random.Random(f"{trial.seed} {recording.name} {place}")
    copy = trial.work / f"{image.name}-sls"
    sandbox = trial.sandbox(storage=str(storage.copy_at(place, choices, copy)))
    gateway = trial.gateway(
        sandbox, data=image / "data", settings=recording.settings, destination=recording.destination, token=None
    )
    gateway.ask("/admin/destinations/app/resume", "POST")
    fresh = Writer(choices, "fresh")
    for _ in range(3):
        fresh.post(gateway, logstore=LOGSTORE)
        gateway.drain(20)
    arrivals = arrivals_by_name(trial, sandbox, (recording.writer, fresh), where)
    missing = (recording.promised(place) | fresh.answered) - set(arrivals)
    trial.expect(not missing, f"{where}: {len(missing)} logs never arrived: {sorted(missing)[:3]}")
    trial.expect(len(fresh.answered) == 9, f"{where}: logs posted afterwards were refused")
    twice = sum(count - 1 for count in arrivals.values())
    trial.expect(not twice or recording.durability != "full", f"{where}: {twice} logs were stored twice")
    trial.expect(gateway.is_running, f"{where}: the gateway ended by itself with {gateway.process.poll()}")
    gateway.kill()
    sandbox.kill()
    shutil.rmtree(copy)
    shutil.rmtree(image)
    return twice


def cut(
    trial: Trial, pool: concurrent.futures.ThreadPoolExecutor, number: int, durability: str, count: int
) -> CutResults:
    """Records a run, and cuts the power at this number of places."""
    work, lanes = trial.work / f"sls-{durability}-{number}", trial.random.randint(1, 3)
    work.mkdir()
    run = functools.partial(write_load, random.Random(trial.random.random()))
    sandbox = trial.sandbox(storage=str(work / "sls.db"))
    name, destination = f"once-{durability}-{number}", f", exactly_once: true, lanes: {lanes}"
    recording = Recording(trial, name, None, [run], durability, destination, sandbox)
    storage = SLSStorage(work, recording.events)
    phases = storage.phases([index for index, _ in recording.log_syncs])
    phases["anywhere"] = list(range(len(recording.events)))
    # A cut at the end that leaves only synced data: without syncs, the sealed packets are forgotten.
    chosen = [(len(recording.events), "synced", "with answers on their way")]
    for turn in range(count - 1):
        phase = sorted(phases)[turn % len(phases)]
        chosen.append((trial.random.choice(phases[phase]), trial.random.choice(("kept", "any", "synced")), phase))
    chosen.sort()
    results = [
        pool.submit(reopen, trial, recording, storage, place, phase, image)
        for (_, _, phase), (place, image) in zip(
            chosen, recording.cuts(trial.random, [(place, order) for place, order, _ in chosen])
        )
    ]
    twice = [(phase, result.result()) for (_, _, phase), result in zip(chosen, results)]
    return len(storage.packets), twice, len(recording.images)


def some_twice(runs: Iterable[CutResults]) -> bool:
    return any(logs for _, twice, _ in runs for _, logs in twice)


def check(trial: Trial) -> None:
    count, runs = (20, 3) if trial.is_long else (6, 1)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        for durability in ("full", "normal"):
            done = [cut(trial, pool, number, durability, count) for number in range(runs)]
            # Without syncs some logs must be stored twice. A slow machine syncs much in between, so that few cuts
            # show it.
            while durability == "normal" and len(done) < runs + 3 and not some_twice(done):
                done.append(cut(trial, pool, len(done), durability, count))
            packets, found, images = zip(*done)
            twice = [each for one in found for each in one]
            phases = collections.Counter(phase for phase, _ in twice)
            trial.say(
                f"exactly once, {durability}: {sum(packets)} packets; {len(twice)} power cuts, {sum(images)} disks differ "
                f"({', '.join(f'{count} {phase}' for phase, count in sorted(phases.items()))}); "
                f"at most {max(logs for _, logs in twice)} logs were stored twice"
            )
            trial.expect(sum(images) > len(twice) / 4, f"exactly once, {durability}: most cuts left the same disk")
            is_seen = durability == "full" or some_twice(done)
            trial.expect(is_seen, "without syncs nothing was stored twice: the check is blind")

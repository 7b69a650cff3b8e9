"""After a power cut no number of a lane is used for other logs, which SLS would take for stored."""

import random
import shutil

import scenes
from recording import Recording

ONE_LANE = ", exactly_once: true, lanes: 1"


def busy(gateway, writer, sandbox):
    """Ends while SLS has stored a packet, and the gateway does not know."""
    for _ in range(15):
        writer.post(gateway, logstore="app")
    gateway.drained(5)
    sandbox.fault(latency_ms=2000)
    writer.post(gateway, logstore="app")
    while len(list(sandbox.logs())) < len(writer.posted):
        pass


def reopen(trial, recording, image, storage):
    """The number of logs that SLS has twice."""
    where = f"exactly once, {recording.durability}, {image.name}"
    copy = shutil.copytree(storage, trial.work / f"{image.name}-sls")
    sandbox = trial.sandbox(storage=str(copy / "sls.db"))
    gateway = trial.gateway(
        sandbox, data=image / "data", settings=recording.settings, destination=recording.destination, token=None
    )
    fresh = scenes.Writer(random.Random(1), "fresh")
    for _ in range(4):
        fresh.post(gateway, logstore="app")
        gateway.drained(20)
    arrivals = scenes.arrivals(trial, sandbox, (recording.writer, fresh), where)
    missing = (recording.promised(len(recording.events)) | fresh.answered) - set(arrivals)
    trial.expect(not missing, f"{where}: {len(missing)} logs never arrived: {sorted(missing)[:3]}")
    trial.expect(len(fresh.answered) == 12, f"{where}: not all that was posted afterwards was taken")
    gateway.kill()
    sandbox.kill()
    shutil.rmtree(copy)
    shutil.rmtree(image)
    return sum(count - 1 for count in arrivals.values())


def check(trial, count):
    for durability in ("full", "normal"):
        storage = trial.work / f"sls-{durability}"
        storage.mkdir()
        sandbox = trial.sandbox(storage=str(storage / "sls.db"))
        recording = Recording(trial, f"once-{durability}", None, [busy], durability, ONE_LANE, sandbox)
        end = len(recording.events)
        recording.places = lambda *_: [(end, "kept")] * count
        twice = [reopen(trial, recording, image, storage) for _, image in recording.cuts(trial.random, count)]
        trial.say(f"exactly once, {durability}: {len(twice)} power cuts; {max(twice)} logs were stored twice at most")
        trial.expect(durability != "full" or not any(twice), "logs were stored twice although every sync was done")

"""A request allocates no more than a fixed number of times, and no more often when it has a hundred logs."""

import os
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable

from proof.clients.device import Device, request
from proof.trial import Trial, Unavailable

SOURCE = pathlib.Path(__file__).with_suffix(".c")
COMPILERS = ("cc", "clang", "gcc")


def counting(work: pathlib.Path) -> tuple[dict[str, str], Callable[[], int]]:
    """An environment in which a program counts its allocations, and the count, which never goes down."""
    if (compiler := next(filter(None, map(shutil.which, COMPILERS)), None)) is None:
        raise Unavailable(f"none of {', '.join(COMPILERS)} is installed")
    library, file = work / "allocations.so", work / "allocations"
    words = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
    subprocess.run(words, check=True, capture_output=True)
    file.write_bytes(bytes(8))
    environment = {"LD_PRELOAD": str(library), "SLUICE_ALLOCATIONS": str(file)}
    return environment, lambda: int.from_bytes(file.read_bytes(), sys.byteorder)


CONNECTIONS, WARM_UP, ROUNDS = 16, 50, {False: 100, True: 1000}
LOG = b'{"level":"info","msg":"hello","device":"d-17","n":"1"}'
BODIES = {"one log": LOG, "a hundred logs": b"[" + b",".join([LOG] * 100) + b"]"}
# Allocations of one request, with its part of a commit of up to sixteen. A release build makes 20 with one log; a debug
# build copies more.
MOST = {"release": 23.0, "debug": 600.0}
# How many more allocations a hundred logs may take than one. One for each log would be 99.
MORE = {"release": 10.0, "debug": 90.0}


def round_of(devices: list[Device], sent: bytes, trial: Trial) -> None:
    """One request on each connection at the same time."""
    for device in devices:
        device.socket.sendall(sent)
    for device in devices:
        status, answer = device.answer()
        trial.expect(status == 200, f"answer {status} {answer[:200]!r}")


def check(trial: Trial) -> None:
    environment, count = counting(trial.work)
    gateway = trial.gateway(trial.nowhere(), environment=environment)
    devices = [Device(gateway.devices) for _ in range(CONNECTIONS)]
    began = count()
    time.sleep(1)
    # What the gateway does by itself: housekeeping, figures, attempts to deliver.
    idle = count() - began
    found: dict[str, float] = {}
    for name, body in BODIES.items():
        sent = request("/logs/app", body, "Content-Type: application/json")
        for _ in range(WARM_UP):
            round_of(devices, sent, trial)
        began, start = count(), time.monotonic()
        rounds = ROUNDS[trial.is_long]
        for _ in range(rounds):
            round_of(devices, sent, trial)
        own = idle * (time.monotonic() - start)
        found[name] = (count() - began - own) / (rounds * CONNECTIONS)
        trial.say(f"{name}: {found[name]:.1f} allocations for each request")
    one, hundred = found.values()
    build = "debug" if "debug" in pathlib.Path(os.environ["SLUICE"]).parts else "release"
    trial.expect(one > 1, f"{one} allocations for a request: the count does not count")
    trial.at_most("a request with one log", one, MOST[build], "allocations")
    trial.at_most("a hundred logs more than one", hundred - one, MORE[build], "allocations")

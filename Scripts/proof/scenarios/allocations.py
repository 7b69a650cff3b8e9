"""A request allocates no more than a fixed number of times, and no more often when it has a hundred logs."""

import os
import pathlib
import shutil
import struct
import subprocess
import time

from proof.clients.device import Device, request
from proof.trial import Trial, Unavailable

SOURCE = pathlib.Path(__file__).with_suffix(".c")
COMPILERS = ("cc", "clang", "gcc")


class AllocationCount:
    """`environment` is for the program to count. Its count starts with the program and never goes down."""

    def __init__(self, work: pathlib.Path) -> None:
        compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
        if compiler is None:
            raise Unavailable(f"none of {', '.join(COMPILERS)} is installed")
        self.library, self.file = work / "allocations.so", work / "allocations"
        words = [compiler, "-O2", "-shared", "-fPIC", "-o", str(self.library), str(SOURCE)]
        subprocess.run(words, check=True, capture_output=True)
        self.file.write_bytes(bytes(8))

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self.library), "SLUICE_ALLOCATIONS": str(self.file)}

    @property
    def now(self) -> int:
        (count,) = struct.unpack("=Q", self.file.read_bytes())
        return int(count)


CONNECTIONS, WARM_UP, ROUNDS = 16, 50, {False: 100, True: 1000}
LOG = b'{"level":"info","msg":"hello","device":"d-17","n":"1"}'
BODIES = {"one log": LOG, "a hundred logs": b"[" + b",".join([LOG] * 100) + b"]"}
# Allocations of one request, with its part of a commit of up to sixteen. A release build makes 27 with one log; a debug
# build copies more.
MOST = {"release": 30.0, "debug": 600.0}
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
    count = AllocationCount(trial.work)
    gateway = trial.gateway(trial.nowhere(), environment=count.environment)
    devices = [Device(gateway.devices) for _ in range(CONNECTIONS)]
    began = count.now
    time.sleep(1)
    # What the gateway does by itself: housekeeping, figures, attempts to deliver.
    idle = count.now - began
    found: dict[str, float] = {}
    for name, body in BODIES.items():
        sent = request("/logs/app", body, "Content-Type: application/json")
        for _ in range(WARM_UP):
            round_of(devices, sent, trial)
        began, start = count.now, time.monotonic()
        rounds = ROUNDS[trial.is_long]
        for _ in range(rounds):
            round_of(devices, sent, trial)
        own = idle * (time.monotonic() - start)
        found[name] = (count.now - began - own) / (rounds * CONNECTIONS)
        trial.say(f"{name}: {found[name]:.1f} allocations for each request")
    one, hundred = found.values()
    build = "debug" if "debug" in pathlib.Path(os.environ["SLUICE"]).parts else "release"
    trial.expect(one > 1, f"{one} allocations for a request: the count does not count")
    trial.at_most("a request with one log", one, MOST[build], "allocations")
    trial.at_most("a hundred logs more than one", hundred - one, MORE[build], "allocations")

"""How long a shard waits for its next gateway, by its size."""

import concurrent.futures
import json
import pathlib
import sys
import tempfile
import time
from random import Random
from typing import Any

from harness.gateway import Gateway
from harness.queues import Brokers
from harness.waiting import look_until
from proof.clients.device import Device
from proof.trial import Trial

SENDERS = 4
# A request of the load, which lz4 halves.
LOGS, DIGITS = 200, 16_000
TIMEOUT = 180


def fill(gateway: Gateway, megabytes: int) -> None:
    noise = Random(1)
    logs = [{"k": f"{noise.getrandbits(4 * DIGITS):x}"} for _ in range(LOGS)]
    body = json.dumps({"__topic__": "t", "__source__": "s", "__logs__": logs}).encode()

    def send(_: int) -> None:
        device = Device(gateway.devices, 60)
        while queue(gateway)["bytes"] < megabytes * 1_000_000:
            if device.post("/logstores/app/track", body)[0] != 200:
                time.sleep(0.2)

    with concurrent.futures.ThreadPoolExecutor(SENDERS) as senders:
        list(senders.map(send, range(SENDERS)))


def queue(gateway: Gateway) -> dict[str, Any]:
    return json.loads(gateway.ask("/admin/status"))["queue"]


def wait(gateway: Gateway, figure: str) -> float:
    """The seconds until the gateway counts one."""
    began = time.monotonic()
    if not look_until(lambda: queue(gateway)["fleet"][figure], TIMEOUT, pause=0.05):
        sys.exit(f"adoption: no {figure} within {TIMEOUT} s")
    return time.monotonic() - began


def main() -> None:
    with tempfile.TemporaryDirectory() as work:
        trial = Trial("adoption", pathlib.Path(work), 1, is_long=False)
        try:
            measure(trial, int(sys.argv[1]))
        finally:
            trial.programs.end()


def measure(trial: Trial, megabytes: int) -> None:
    brokers, sandbox = Brokers(trial.work, trial.programs), trial.sandbox()
    sandbox.fault(status=503, code="ServerBusy")

    def start(node: str) -> Gateway:
        settings = brokers.settings(node, more=", max_bytes: 2GiB")
        return trial.gateway(sandbox, settings, data=trial.work / node, seconds=60)

    lost, heir = start("lost"), start("heir")
    fill(lost, megabytes)
    size = queue(lost)["bytes"] / 1_000_000
    lost.kill()
    adopted = wait(heir, "adoptions")
    sandbox.clear_faults()
    delivered = wait(heir, "absorptions")
    print(f"{size:.0f} MB: adopted {adopted:.1f} s after the kill, delivered and absorbed {delivered:.1f} s later")


main()

"""Days of operation in minutes: memory, descriptors, threads and disk must not grow."""

import json
import os
import signal
import socket
import statistics
import time
from typing import Any

from harness.gateway import Sandbox
from harness.measures import delay
from harness.program import KEY
from proof import fan_out
from proof.clients.device import ConnectionLost, Device
from proof.clients.promised_logs import Life
from proof.fan_out import FanOut
from proof.trial import Trial

QUOTA: dict[str, Any] = {"status": 403, "code": "WriteQuotaExceed", "count": 3}
FAULTS: list[dict[str, Any]] = [
    {"status": 503, "fraction": 0.3},
    QUOTA,
    {"code": "Unauthorized", "count": 3},
    {"reset": True, "store": True, "fraction": 0.3},
    {"latency_ms": 50},
    {"truncate": True, "count": 5},
    {"without_request_id": True, "count": 2},
]
KEYS = json.dumps(
    {"access_key_id": KEY["ALIBABA_CLOUD_ACCESS_KEY_ID"], "access_key_secret": KEY["ALIBABA_CLOUD_ACCESS_KEY_SECRET"]}
).encode()
# Seconds without faults, times the delay of the machine. The pace that a quota causes ends a minute after the last
# refusal.
DELIVERED_WITHIN, DELIVERED_AFTER_QUOTA_WITHIN = 30, 75


class SoakedLife(Life):
    reloads = rotations = broken = 0
    has_quota, is_paced_until = False, 0.0

    def __init__(self, trial: Trial, sandbox: Sandbox) -> None:
        logs = trial.work / "logs"
        logs.mkdir()
        self.fan_out = FanOut(logs, ", keep: 100, compress: gzip")
        super().__init__(trial, sandbox, "soak", fan_out.SETTINGS, others=self.fan_out.destination)


def check(trial: Trial) -> None:
    sandbox = trial.sandbox()
    life = SoakedLife(trial, sandbox)
    alone: list[float] = []
    is_short = not trial.is_long and not trial.minutes
    samples: list[dict[str, int]] = []
    total, ends = 0, time.monotonic() + (5 if is_short else 60 * (trial.minutes or 5) - 15)
    while len(samples) < 6 or time.monotonic() < ends:
        total += busy(trial, sandbox, life, 0.6 if is_short else 10)
        # Every third quiet phase has no key rotation: a push may end a wait that does not end by itself.
        if len(samples) % 3 < 2:
            rotate(trial, sandbox, life)
            quiet(sandbox, life)
        else:
            alone.append(quiet(sandbox, life))
        samples.append(sample(life))
    rounds = len(samples)
    trial.say(
        f"{total} actions, {rounds} quiet phases; {life.reloads} reloads, {life.rotations} rotations, {life.broken} broken connections"
    )
    trial.say(f"without a rotation all was delivered within {max(alone):.1f} s after the last fault")
    middle, last = samples[rounds // 3 : 2 * rounds // 3], samples[2 * rounds // 3 :]
    for what, least, share in LIMITS:
        before, after = (statistics.median(sample[what] for sample in part) for part in (middle, last))
        most = before + max(least, before * share)
        if is_short and "KiB" in what:
            # In the middle of a short run memory and disk still grow. Only an absolute limit applies to it.
            most = SHORT
        trial.expect(after <= most, f"{what} grew from {before:.0f} to {after:.0f}: {[each[what] for each in samples]}")
        trial.say(f"{what}: {samples[0][what]} at first, {before:.0f} in the middle, {after:.0f} at the end")


# KiB of memory or disk.
SHORT = 128 << 10
# A figure, its allowed absolute growth and its allowed relative growth.
LIMITS = [
    ("resident KiB", 2048, 0.04),
    ("private dirty KiB", 2048, 0.04),
    ("descriptors", 6, 0),
    ("threads", 1, 0),
    ("disk KiB", 4096, 0),
]


def sample(life: SoakedLife) -> dict[str, int]:
    directory = f"/proc/{life.gateway.process.pid}"
    figures: dict[str, str] = {}
    for file in ("status", "smaps_rollup"):
        with open(f"{directory}/{file}") as lines:
            figures |= dict(line.split(":", 1) for line in lines if ":" in line)
    return {
        "resident KiB": int(figures["VmRSS"].split()[0]),
        "private dirty KiB": int(figures["Private_Dirty"].split()[0]),
        "descriptors": len(os.listdir(f"{directory}/fd")),
        "threads": int(figures["Threads"]),
        "disk KiB": sum(file.stat().st_blocks for file in life.data.iterdir()) // 2,
    }


def busy(trial: Trial, sandbox: Sandbox, life: SoakedLife, seconds: float) -> int:
    """Everything that happens to a gateway, at random."""
    deeds = [post] * 60 + [large] * 3 + [broken] * 4 + [malformed] * 4 + [look] * 4 + [reload, rotate] + [trouble] * 2
    ends, count = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        trial.random.choice(deeds)(trial, sandbox, life)
        count += 1
    return count


def quiet(sandbox: Sandbox, life: SoakedLife) -> float:
    """Removes all faults and waits for the delivery. No promised log may be missing. Returns how long that took."""
    sandbox.clear_faults()
    began = time.monotonic()
    if life.has_quota:
        life.has_quota, life.is_paced_until = False, began + DELIVERED_AFTER_QUOTA_WITHIN
    within = max(DELIVERED_WITHIN, life.is_paced_until - began) * delay()
    ledger = life.gateway.drain(within)
    took = time.monotonic() - began
    left = ledger["ledger"]["queued"]
    life.expect(not left, f"{left} logs still wait after {within:.0f} s without faults")
    arrived = life.promises.arrived(sandbox)
    life.expect(not arrived.altered, f"altered: {arrived.altered[:1]}")
    life.expect(ledger["closed"], f"the ledger: {ledger}")
    life.wrong(*life.fan_out.wrong(life.gateway, sandbox.logs(), life.promises.answered))
    life.fan_out.clear()
    life.promises.answered.clear()
    life.promises.unanswered.clear()
    sandbox.control("DELETE", "/logs")
    time.sleep(0.2)
    return took


def post(trial: Trial, sandbox: Sandbox, life: SoakedLife) -> None:
    status = life.post(trial.random.randint(1, 8), trial.random.choice((60, 300, 3000)))
    life.expect(status == 200, f"a batch is answered with {status}")


def large(trial: Trial, sandbox: Sandbox, life: SoakedLife) -> None:
    status = life.post(40, 30_000)
    life.expect(status == 200, f"a large batch is answered with {status}")


def broken(trial: Trial, sandbox: Sandbox, life: SoakedLife) -> None:
    """A connection that ends in the middle of a body, half of them with a reset."""
    life.broken += 1
    connection = socket.create_connection(("127.0.0.1", life.gateway.devices), 10)
    connection.sendall(
        b"POST /logs/app HTTP/1.1\r\nHost: gateway\r\nContent-Length: 100000\r\n\r\n"
        + bytes(trial.random.randrange(90_000))
    )
    if trial.random.random() < 0.5:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def malformed(trial: Trial, sandbox: Sandbox, life: SoakedLife) -> None:
    device = Device(life.gateway.devices)
    try:
        status, _ = device.post("/logs/app", trial.random.choice((b"{", b"\xff", b'{"a":1]')))
        life.expect(status == 400, f"a malformed batch is answered with {status}")
    except ConnectionLost:
        life.expect(False, "a malformed batch is not answered")
    device.close()


def look(trial: Trial, sandbox: Sandbox, life: SoakedLife) -> None:
    life.gateway.ask(trial.random.choice(("/metrics", "/admin/status", "/admin/ledger", "/admin/queue")))


def reload(trial: Trial, sandbox: Sandbox, life: SoakedLife) -> None:
    life.reloads += 1
    life.gateway.signal(signal.SIGHUP)


def rotate(trial: Trial, sandbox: Sandbox, life: SoakedLife) -> None:
    """The gateway verifies a pushed key first, which needs an SLS without faults."""
    sandbox.clear_faults()
    life.rotations += 1
    life.gateway.ask("/admin/credentials/default", "PUT", KEYS)


def trouble(trial: Trial, sandbox: Sandbox, life: SoakedLife) -> None:
    sandbox.clear_faults()
    fault = trial.random.choice(FAULTS)
    life.has_quota |= fault is QUOTA
    sandbox.fault(**fault)

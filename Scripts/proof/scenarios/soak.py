"""Days of operation in minutes: memory, descriptors, threads and disk must not grow."""

import json
import os
import signal
import socket
import statistics
import time
from collections import Counter
from typing import Any

from harness.program import KEY
from proof.clients.device import ConnectionLost, post_once
from proof.clients.promised_logs import ArchivingLife
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
# Seconds without faults. The pace of a quota ends a minute after the last refusal.
DELIVERED_WITHIN, DELIVERED_AFTER_QUOTA_WITHIN = 30, 75
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


class SoakedLife(ArchivingLife):
    has_quota, is_paced_until = False, 0.0

    def busy(self, seconds: float) -> Counter[str]:
        """Everything that happens to a gateway, at random. Returns how often each did."""
        deeds: Counter[str] = Counter()
        often = {"post": 60, "large": 3, "broken": 4, "malformed": 4, "look": 4, "reload": 1, "rotate": 1, "trouble": 2}
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            (deed,) = self.trial.random.choices(list(often), list(often.values()))
            getattr(self, f"do_{deed}")()
            deeds[deed] += 1
        return deeds

    def do_post(self) -> None:
        status = self.post(self.trial.random.randint(1, 8), self.trial.random.choice((60, 300, 3000)))
        self.expect(status == 200, f"a batch is answered with {status}")

    def do_large(self) -> None:
        status = self.post(40, 30_000)
        self.expect(status == 200, f"a large batch is answered with {status}")

    def do_broken(self) -> None:
        """A connection that ends in the middle of a body, half of them with a reset."""
        connection = socket.create_connection(("127.0.0.1", self.gateway.devices), 10)
        head = b"POST /logs/app HTTP/1.1\r\nHost: gateway\r\nContent-Length: 100000\r\n\r\n"
        connection.sendall(head + bytes(self.trial.random.randrange(90_000)))
        if self.trial.random.random() < 0.5:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()

    def do_malformed(self) -> None:
        content = self.trial.random.choice((b"{", b"\xff", b'{"a":1]'))
        try:
            status, _ = post_once(self.gateway.devices, "/logs/app", content)
            self.expect(status == 400, f"a malformed batch is answered with {status}")
        except ConnectionLost:
            self.wrong("a malformed batch is not answered")

    def do_look(self) -> None:
        self.gateway.ask(self.trial.random.choice(("/metrics", "/admin/status", "/admin/ledger", "/admin/queue")))

    def do_reload(self) -> None:
        self.gateway.signal(signal.SIGHUP)

    def do_rotate(self) -> None:
        """The gateway verifies a pushed key first, which needs an SLS without faults."""
        self.sandbox.clear_faults()
        self.gateway.ask("/admin/credentials/default", "PUT", KEYS)

    def do_trouble(self) -> None:
        self.sandbox.clear_faults()
        fault = self.trial.random.choice(FAULTS)
        self.has_quota |= fault is QUOTA
        self.sandbox.fault(**fault)

    def quiet(self) -> float:
        """Removes all faults and waits for the delivery. No promised log may be missing. Returns how long that took."""
        self.sandbox.clear_faults()
        began = time.monotonic()
        if self.has_quota:
            self.has_quota, self.is_paced_until = False, began + DELIVERED_AFTER_QUOTA_WITHIN
        within = max(DELIVERED_WITHIN, self.is_paced_until - began)
        ledger = self.gateway.drain(within)
        took = time.monotonic() - began
        left = ledger["ledger"]["queued"]
        self.expect(not left, f"{left} logs still wait after {within:.0f} s without faults")
        arrived = self.promises.arrived(self.sandbox)
        self.expect(not arrived.altered, f"altered: {arrived.altered[:1]}")
        self.expect(ledger["closed"], f"the ledger: {ledger}")
        self.wrong(*self.fan_out.wrong(self.gateway, self.sandbox.logs(), self.promises.answered))
        self.fan_out.clear()
        self.promises.answered.clear()
        self.promises.unanswered.clear()
        self.sandbox.control("DELETE", "/logs")
        return took

    def sample(self) -> dict[str, int]:
        directory = f"/proc/{self.gateway.process.pid}"
        figures: dict[str, str] = {}
        for file in ("status", "smaps_rollup"):
            with open(f"{directory}/{file}") as lines:
                figures |= dict(line.split(":", 1) for line in lines if ":" in line)
        return {
            "resident KiB": int(figures["VmRSS"].split()[0]),
            "private dirty KiB": int(figures["Private_Dirty"].split()[0]),
            "descriptors": len(os.listdir(f"{directory}/fd")),
            "threads": int(figures["Threads"]),
            "disk KiB": sum(file.stat().st_blocks for file in self.data.iterdir()) // 2,
        }


def check(trial: Trial) -> None:
    life = SoakedLife(trial, trial.sandbox(), "soak", trial.work / "logs")
    alone: list[float] = []
    counts: Counter[str] = Counter()
    is_short = not trial.is_long and not trial.minutes
    samples: list[dict[str, int]] = []
    ends = time.monotonic() + (5 if is_short else 60 * (trial.minutes or 5) - 15)
    while len(samples) < 6 or time.monotonic() < ends:
        counts += life.busy(0.6 if is_short else 10)
        # Every third quiet phase has no key rotation: a push may end a wait that does not end by itself.
        if len(samples) % 3 < 2:
            life.do_rotate()
            life.quiet()
        else:
            alone.append(life.quiet())
        samples.append(life.sample())
    rounds = len(samples)
    deeds = ", ".join(f"{count} {deed}" for deed, count in counts.items())
    trial.say(f"{rounds} quiet phases; {deeds}; without a rotation all was delivered within {max(alone):.1f} s")
    middle, last = samples[rounds // 3 : 2 * rounds // 3], samples[2 * rounds // 3 :]
    for what, least, share in LIMITS:
        before, after = (statistics.median(sample[what] for sample in part) for part in (middle, last))
        most = before + max(least, before * share)
        if is_short and "KiB" in what:
            # In the middle of a short run memory and disk still grow. Only an absolute limit applies to it.
            most = SHORT
        trial.expect(after <= most, f"{what} grew from {before:.0f} to {after:.0f}: {[each[what] for each in samples]}")
        trial.say(f"{what}: {samples[0][what]} at first, {before:.0f} in the middle, {after:.0f} at the end")

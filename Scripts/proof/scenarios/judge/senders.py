"""Devices that send numbered logs in all formats, one batch after the other, and record the answers."""

from __future__ import annotations

import dataclasses
import gzip
import json
import random
import threading
import time
from collections.abc import Callable
from random import Random

from harness.encodings import field, varint
from harness.gateway import Log
from proof.clients.device import ConnectionLost, Device, log, request

# The fate of a batch: answered with 200; unknown; cut off by the device itself, so that it never was a batch.
STORED, UNKNOWN, TORN = "stored", "unknown", "torn"
# Retry later: the device keeps its logs, and nothing of the batch may be stored.
LATER = (429, 503)
# Path, header fields and body.
Request = tuple[str, list[str], bytes]
# Makes the request that sends logs of a stream, under an identity or without one.
Dialect = Callable[["DeviceStream", list[Log], str | None], Request]
TIME = "__time__"


def lines(stream: DeviceStream, logs: list[Log], identity: str | None) -> Request:
    fields = [f"Idempotency-Key: {identity}"] if identity else []
    body = "\n".join(json.dumps(log) for log in logs).encode()
    return f"/logs/{stream.logstore}.{stream.topic}", fields, body


def packed_lines(stream: DeviceStream, logs: list[Log], identity: str | None) -> Request:
    path, fields, body = lines(stream, logs, identity)
    return path, [*fields, "Content-Encoding: gzip"], gzip.compress(body, 1)


def tracking(stream: DeviceStream, logs: list[Log], identity: str | None) -> Request:
    """SLS web tracking. The identity is a pack id."""
    tags = {"__pack_id__": identity} if identity else {}
    document = {"__topic__": stream.topic, "__source__": "judge", "__tags__": tags, "__logs__": logs}
    return f"/logstores/{stream.logstore}/track", ["x-log-apiversion: 0.6.0"], json.dumps(document).encode()


def log_group(stream: DeviceStream, logs: list[Log], identity: str | None) -> Request:
    """SLS PutLogs: a LogGroup in protobuf."""
    body = b"".join(field(1, entry(log)) for log in logs) + field(3, stream.topic) + field(4, "judge")
    if identity:
        body += field(6, field(1, "__pack_id__") + field(2, identity))
    fields = ["x-log-apiversion: 0.6.0", f"x-log-bodyrawsize: {len(body)}", "Content-Type: application/x-protobuf"]
    return f"/logstores/{stream.logstore}/shards/lb", fields, body


def entry(log: Log) -> bytes:
    pairs = (field(2, field(1, key) + field(2, value)) for key, value in log.items() if key != TIME)
    return b"\x08" + varint(int(log[TIME])) + b"".join(pairs)


DIALECTS: list[Dialect] = [lines, packed_lines, tracking, log_group]


class GatewayAddress:
    def __init__(self) -> None:
        self.port: int | None = None
        self.is_over = False
        self.changed = threading.Condition()

    def set(self, port: int | None, is_over: bool = False) -> None:
        with self.changed:
            self.port, self.is_over = port, is_over
            self.changed.notify_all()

    def wait(self) -> int | None:
        with self.changed:
            self.changed.wait_for(lambda: self.port or self.is_over)
            return self.port


class DeviceStream:
    """A stream of a device: the place of its logs, and their dialect. Devices share streams. The requests of a routed
    stream have a tag from which its destinations follow; those of another one name their project."""

    def __init__(self, device: int, number: int, project: str, is_routed: bool, random: Random) -> None:
        self.name = f"{device}.{number}"
        self.project, self.logstore = project, random.choice(["views", "clicks", "crashes"])
        self.is_routed = is_routed
        if is_routed:
            self.logstore = f"{project}-{self.logstore}"
        self.topic = random.choice(["home", "shop"])
        self.dialect = random.choice(DIALECTS)
        self.count = 0

    @property
    def place(self) -> tuple[str, str, str]:
        is_tag = self.dialect in (lines, packed_lines)
        return self.project, self.logstore, f"{self.logstore}.{self.topic}" if is_tag else self.topic

    def batch(self, size: int) -> Batch:
        batch = Batch(self, range(self.count, self.count + size))
        self.count += size
        return batch


@dataclasses.dataclass
class Batch:
    stream: DeviceStream
    numbers: range
    fate: str = UNKNOWN
    # When it was sent last, and when its 200 arrived.
    sent: float = 0.0
    heard: float = 0.0

    def names(self) -> list[str]:
        return [f"{self.stream.name}.{number}" for number in self.numbers]


def time_of(name: str, base: int) -> str:
    """A log's time follows from its name, so that it need not be remembered."""
    return str(base - int(name.rsplit(".", 1)[1]) % 3600)


class Sender(threading.Thread):
    """A device. A patient one repeats a batch without an answer under the same identity, possibly while the gateway
    still handles the first one. An impatient one gives it up."""

    def __init__(self, number: int, projects: list[str], address: GatewayAddress, seed: int, base: int) -> None:
        super().__init__(daemon=True)
        self.random, self.address, self.base = random.Random(seed), address, base
        self.is_patient = number % 4 != 3
        # Shorter than most pauses of the gateway.
        self.seconds = 0.15 if number % 4 == 2 else 10
        self.streams = [
            DeviceStream(number, index, project, index < len(projects), self.random)
            for index, project in enumerate(projects * 2)
        ]
        self.batches: list[Batch] = []
        self.refusals: list[str] = []
        self.repeats = 0
        self.stored = 0
        self.device: Device | None = None
        self.port: int | None = None

    def run(self) -> None:
        try:
            while not self.address.is_over:
                size = self.random.choice([1, 2, 3, 5, 8, 8, 60])
                batch = self.random.choice(self.streams).batch(size)
                self.batches.append(batch)
                self.send(batch)
                time.sleep(self.random.expovariate(1 / 0.05))
        except Exception as error:  # A device that ended would make the test easier.
            self.refusals.append(f"a device ended: {type(error).__name__}: {error}")

    def send(self, batch: Batch) -> None:
        stream = batch.stream
        logs = [log(name, self.random) | {TIME: time_of(name, self.base)} for name in batch.names()]
        identity = f"{self.random.getrandbits(128):032X}" if self.is_patient else None
        path, fields, body = stream.dialect(stream, logs, identity)
        if not stream.is_routed:
            fields = [f"x-log-project: {stream.project}", *fields]
        while device := self.reached():
            try:
                if self.random.random() < 0.02:
                    is_torn = self.hang_up(device, request(path, body, *fields))
                    if self.is_patient:
                        continue
                    batch.fate = TORN if is_torn else UNKNOWN
                    return
                batch.sent = time.monotonic()
                status, answer = device.post(path, body, *fields)
            except (ConnectionLost, OSError):
                self.leave()
                if not self.is_patient:
                    return
                self.repeats += 1
                continue
            if status == 200:
                batch.fate, batch.heard = STORED, time.monotonic()
                self.stored += len(batch.numbers)
                return
            if status not in LATER:
                self.refusals.append(f"{path}: {status} {answer[:200]!r}")
                return
            time.sleep(0.02)

    def reached(self) -> Device | None:
        """The connection to the current gateway process; None at the end."""
        while port := self.address.wait():
            if self.device and self.port == port:
                return self.device
            self.leave()
            try:
                self.device, self.port = Device(port, self.seconds), port
            except OSError:
                time.sleep(0.01)
        return None

    def hang_up(self, device: Device, whole: bytes) -> bool:
        """Closes the connection after the request or in the middle of it. Returns whether it was in the middle."""
        size = self.random.choice([len(whole), self.random.randrange(len(whole))])
        device.socket.sendall(whole[:size])
        self.leave()
        return size < len(whole)

    def leave(self) -> None:
        if self.device:
            self.device.close()
        self.device = None

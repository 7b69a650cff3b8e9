"""The formats in which a device sends its logs. Each dialect makes a path, header fields and a body."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.protobuf import field, varint
from harness.sandbox import Log

if TYPE_CHECKING:
    from proof.scenarios.judge.senders import DeviceStream

# Path, header fields and body.
Request = tuple[str, list[str], bytes]
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
    fields = [
        "x-log-apiversion: 0.6.0",
        f"x-log-bodyrawsize: {len(body)}",
        "Content-Type: application/x-protobuf",
    ]
    return f"/logstores/{stream.logstore}/shards/lb", fields, body


def entry(log: Log) -> bytes:
    pairs = (field(2, field(1, key) + field(2, value)) for key, value in log.items() if key != TIME)
    return b"\x08" + varint(int(log[TIME])) + b"".join(pairs)


DIALECTS = [lines, packed_lines, tracking, log_group]


def topic_of(dialect: Dialect, stream: DeviceStream) -> str:
    """The topic that the logs have at SLS."""
    return f"{stream.logstore}.{stream.topic}" if dialect in (lines, packed_lines) else stream.topic

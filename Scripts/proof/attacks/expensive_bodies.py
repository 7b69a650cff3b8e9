"""Bodies of some megabytes that are the most expensive to decode: a million names, similar names, deep nesting,
records with almost no content."""

import json
from collections.abc import Callable, Iterator

from harness.encodings import field
from proof.attacks.decompression_bombs import Body

JSON = "Content-Type: application/json"
PROTOBUF = "Content-Type: application/x-protobuf"


def names(one: Callable[[int], str], size: int) -> bytes:
    """One object with as many names as fit; `one` makes the name and value from a number."""
    parts, length, number = [], 2, 0
    while length < size:
        part = one(number)
        parts.append(part)
        length, number = length + len(part) + 1, number + 1
    return ("{" + ",".join(parts) + "}").encode()


def text(key: bytes, value: bytes) -> bytes:
    """An OpenTelemetry KeyValue."""
    return field(1, key) + field(2, field(1, value))


def otlp(resource: list[bytes], records: list[bytes]) -> bytes:
    """A request with these resource attributes and these records."""
    return field(1, field(1, b"".join(field(1, each) for each in resource)) + field(2, b"".join(records)))


def growing(size: int, count: int) -> bytes:
    """One attribute that many empty records share."""
    return otlp([text(b"host", b"x" * size)], [b"\x12\x00"] * count)


LOGS, TRACK, OTLP = "/logs/floods", "/logstores/floods/track", "/v1/logs"


def floods(size: int) -> Iterator[Body]:
    """Every expensive body, with the accepted statuses."""
    many = {"names without end", "long names", "names with the same sums"}  # More than `limits.log_fields`.
    for name, one in {
        "names without end": lambda n: f'"{n:x}":0',
        "one name again and again": lambda n: '"a":0',
        "empty names": lambda n: '"":0',
        "names that SLS keeps": lambda n: '"__time__":1',
        "names that are marks": lambda n: '"__truncated__":1',
        "long names": lambda n: f'"{n:0200x}":0',
        "names with the same sums": lambda n: f'"{"z" * 50}{n:020x}{"z" * 50}":0',
        "long names alike": lambda n: f'"{"y" * 200}":0',
        "names that are escaped": lambda n: '"\\u0061":0',
    }.items():
        yield name, LOGS, names(one, size), [JSON], {400} if name in many else {200}
    tags = b'{"__logs__":[{"a":"b"}],"__tags__":' + names(lambda n: f'"{n:x}":"0"', size) + b"}"
    yield "tracked tags without end", TRACK, tags, [JSON, "x-log-apiversion: 0.6.0"], {200}
    yield "depth", LOGS, b'{"a":' + b"[" * size, [JSON], {400}
    yield "depth of objects", LOGS, b'{"a":' * (size // 5), [JSON], {400}
    yield "depth just allowed", LOGS, b"\n".join([b'{"a":' * 60 + b"1" + b"}" * 60] * 10000), [JSON], {200}
    yield "empty objects", LOGS, b"{}" * (size // 2), [JSON], {400}
    yield "empty objects of an array", LOGS, b"[" + b"{}," * (size // 3) + b"{}]", [JSON], {400}
    yield "lines of one letter", LOGS + "?format=lines", b"x\n" * (size // 2), [], {400}
    yield "a number without end", LOGS, b'{"a":' + b"9" * size + b"}", [JSON], {200}
    record = field(2, b"".join(field(6, text(b"%x" % number, b"")) for number in range(size // 20)))
    yield "OTLP, names without end", OTLP, otlp([], [record]), [PROTOBUF], {200}
    yield "OTLP, records that are nothing", OTLP, growing(300_000, 2_000_000), [PROTOBUF], {400}
    yield "OTLP, depth", OTLP, otlp([], [field(2, field(5, nested(3000)))]), [PROTOBUF], {400}
    lines = ["Content-Type: application/x-ndjson"]
    yield "Bulk, lines without end", "/floods/_bulk", b'{"index":{}}\n{}\n' * (size // 16), lines, {400, 413}
    action = b'{"index":' + names(lambda n: f'"{n:x}":0', size // 2) + b"}\n{}\n"
    yield "Bulk, names of an action", "/floods/_bulk", action, lines, {200, 400}
    streams = [{"stream": {f"l{number}": "x"}, "values": [["1", "a"]]} for number in range(20_000)]
    yield "Loki, streams without end", "/loki/api/v1/push", json.dumps({"streams": streams}).encode(), [JSON], {400}
    event = b'{"event":"x","fields":' + names(lambda n: f'"{n:x}":"0"', size) + b"}"
    yield "Splunk, fields without end", "/services/collector/event", event, [JSON], {400}


def nested(depth: int) -> bytes:
    """Nested lists of OpenTelemetry values."""
    value = field(1, b"x")
    for _ in range(depth):
        value = field(5, field(1, value))
    return value

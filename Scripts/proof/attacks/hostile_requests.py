"""Heads that try to reach another path or are far too long, bombs, and bodies that are expensive to decode."""

import gzip
import json
import struct
import zlib
from collections.abc import Callable, Iterator

from harness.encodings import field, lz4, varint

# The target and its expected status. A 200 must go to the logstore `tricks` and to no other.
TARGETS = {
    b"/logs/../admin/status": 404,
    b"/logs/%2e%2e/admin/status": 404,
    b"/%2e%2e/%2e%2e/etc/passwd": 404,
    b"/admin/status": 404,
    b"/metrics": 404,
    b"//logs/tricks": 404,
    b"/logs//tricks": 404,
    b"/logs/tricks/": 404,
    b"/logs/tricks/..": 404,
    b"/LOGS/tricks": 404,
    b"\\logs\\tricks": 400,
    b"/logs/tricks%00": 400,
    b"/logs/tricks%00.x": 400,
    b"/logs/tricks\0": 400,
    b"/logs/tricks%0d%0aX-Y:%20z": 400,
    b"/logs/tricks%2f..": 404,
    b"/logs/tricks%252f": 404,
    b"/logs/tricks;x=1": 404,
    b"/logs/tricks#x": 400,
    b"/logs/tricks?x=%00": 200,
    b"/logs/tricks?" + b"a=b&" * 1500: 200,
    b"/logs/%": 400,
    b"/logs/%zz": 400,
    b"/logs/tricks%ff": 400,
    b"/logs/tri\xc3\xa9": 400,
    b"/logs/.": 404,
    b"/logs/..": 404,
    b"/logs/" + b"t" * 7000: 400,
    b"/logs/" + b"t" * 9000: 414,
    b"/logs/" + b"../" * 1000 + b"tricks": 404,
    b"/logs/" + b"%2e" * 1000: 400,
    b"/logstores/../track": 404,
    b"/logstores/%2e%2e/track": 404,
    b"/logstores/a%2fb/track": 404,
    b"/logstores/tricks/shards/lb/../track": 404,
    b"http://evil.example/logs/tricks": 400,
    b"HTTP://evil.example:99/logs/tricks": 400,
    b"http://user:pw@gateway/logs/tricks": 400,
    b"http:///logs/tricks": 400,
    b"ftp://gateway/logs/tricks": 400,
    b"gateway:443": 400,
    b"*": 400,
    b"": 400,
    b"logs/tricks": 400,
    b"/logs/%74ricks": 200,
    b"/logs/tricks.%2e%2e.x": 200,
    b"http://gateway/logs/tricks": 200,
}

START = b"POST /logs/tricks HTTP/1.1\r\nHost: gateway\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"
HEADS = {
    "a field without end": (START + b"X: " + b"x" * (1 << 20), 431),
    "fields without end": (START + b"X: y\r\n" * 200_000, 431),
    "names of fields without end": (START + b"X" * (1 << 20), 431),
    "a line without end": (b"A" * (1 << 20), 414),
    "empty lines without end": (b"\r\n" * (1 << 19), 400),
    "a name of a host without end": (b"POST /logs/tricks HTTP/1.1\r\nHost: " + b"a." * (1 << 19), 431),
    "trailers without end": (CHUNKED + b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 200_000, 400),
    "extensions of a chunk without end": (CHUNKED + b"2;" + b"x" * (1 << 20), 400),
}


def heads() -> Iterator[tuple[str, bytes, int]]:
    """Name, bytes and expected status."""
    body = b'{"path":"x"}'
    rest = b" HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    for target, status in TARGETS.items():
        yield f"POST {target[:40].decode('latin-1')!r}", b"POST " + target + rest, status
    for name, (head, status) in HEADS.items():
        yield name, head, status


# Name, path, body, header fields and the accepted statuses.
Body = tuple[str, str, bytes, list[str], set[int]]

MIB = 1 << 20


def deflated(size: int, bits: int = 15) -> bytes:
    """A zlib stream, with 31 bits a gzip stream. The content is blanks, which JSON allows."""
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    return b"".join([*(packer.compress(b" " * MIB) for _ in range(size // MIB)), packer.flush()])


def zstd(size: int, window: int = 0x58, claimed: int | None = None) -> bytes:
    """Run-length blocks: one byte, repeated 128 Ki times."""
    if claimed is None:
        head = struct.pack("<IBB", 0xFD2FB528, 0x00, window)
    else:
        head = struct.pack("<IBBQ", 0xFD2FB528, 0xC0, window, claimed)
    count = max(1, size >> 17)
    blocks = [(1 << 17) << 3 | 1 << 1 | (number == count - 1) for number in range(count)]
    return head + b"".join(struct.pack("<I", block)[:3] + b" " for block in blocks)


def snappy(size: int, claimed: int | None = None) -> bytes:
    """A blank, and copies of 64 bytes of it."""
    copies = size // 64
    return varint(1 + 64 * copies if claimed is None else claimed) + b"\x00 " + b"\xfe\x01\x00" * copies


# A frame header for independent blocks of 4 MiB.
LZ4_FRAME = bytes.fromhex("04224d18607073")


def lz4_frame(blocks: int) -> bytes:
    block = lz4(b" " * (4 * MIB))
    return LZ4_FRAME + (struct.pack("<I", len(block)) + block) * blocks + bytes(4)


SNAPPY_START = b"\xff\x06\x00\x00sNaPpY"


def snappy_chunks(count: int) -> bytes:
    """Chunks of 64 KiB of blanks, each after its checksum."""
    block = varint(1 << 16) + b"\x00 " + b"\xfe\x01\x00" * 1023 + b"\xfa\x01\x00"
    chunk = struct.pack("<I", 0xDFD66B37) + block
    return SNAPPY_START + (b"\x00" + struct.pack("<I", len(chunk))[:3] + chunk) * count


PLAIN, LOKI = "/logs/bombs", "/loki/api/v1/push"
PUT = "/logstores/bombs/shards/lb"
PROTOBUF = "Content-Type: application/x-protobuf"
RAW = "x-log-apiversion: 0.6.0"


def package(name: str, size: int) -> list[str]:
    return [PROTOBUF, RAW, f"x-log-compresstype: {name}", f"x-log-bodyrawsize: {size}"]


def coded(name: str, coding: str, content: bytes, *right: int, claims: int | None = None) -> Body:
    """A body in a content coding, which may claim its inflated size."""
    fields = [] if claims is None else [f"x-log-bodyrawsize: {claims}"]
    return name, PLAIN, content, [f"Content-Encoding: {coding}", *fields], set(right)


def bombs() -> Iterator[Body]:
    large, claim = 64 * MIB, 1 << 62
    packed = lz4(b" " * large)
    twice, skipped = gzip.compress(deflated(large, 31)), bytes.fromhex("502a4d1800000000") * MIB
    yield coded("gzip", "gzip", deflated(large, 31), 413)
    yield coded("deflate", "deflate", deflated(large), 413)
    yield coded("zstd", "zstd", zstd(1 << 30), 413)
    yield coded("lz4", "lz4", packed, 413, claims=large)
    yield coded("gzip in gzip", "gzip", twice, 400)
    yield coded("gzip, gzip", "gzip, gzip", twice, 400, 415)
    yield coded("gzip of many members", "gzip", gzip.compress(b" " * 9000) * 60000, 400, 413)
    yield coded("gzip of empty members", "gzip", gzip.compress(b"") * 400000, 400, 413)
    yield coded("zstd of empty frames", "zstd", bytes.fromhex("28b52ffd2000010000") * MIB, 400, 413)
    yield coded("zstd that is skipped", "zstd", skipped, 400, 413)
    yield coded("zstd with a window of 2^41", "zstd", zstd(MIB, window=0xFF), 400, 413)
    yield coded("zstd with a window of 128 MiB", "zstd", zstd(MIB, window=0x88), 400, 413)
    yield coded("zstd that claims 2^62", "zstd", zstd(MIB, claimed=claim), 400, 413)
    yield coded("lz4 frame", "lz4", lz4_frame(16), 413)
    yield coded("lz4 frame that claims its size", "lz4", lz4_frame(16), 413, claims=large)
    yield coded("lz4 of empty frames", "lz4", (LZ4_FRAME + bytes(4)) * 900000, 400)
    yield coded("lz4 of frames that are skipped", "lz4", LZ4_FRAME + bytes(4) + skipped, 400)
    yield coded("snappy in chunks", "snappy", snappy_chunks(300), 413)
    yield coded("snappy of padding", "snappy", SNAPPY_START + bytes.fromhex("fe000000") * (2 * MIB), 400)
    empty = bytes.fromhex("01040000d8ea82a2")
    yield coded("snappy of empty chunks", "x-snappy-framed", SNAPPY_START + empty * MIB, 400)
    yield coded("lz4 that claims nothing", "lz4", packed, 400)
    yield "PutLogs, lz4", PUT, packed, package("lz4", large), {400, 413}
    yield "PutLogs, lz4 that claims 1 B", PUT, packed, package("lz4", 1), {400, 413}
    yield "PutLogs, lz4 that claims 2^62", PUT, lz4(b" " * MIB), package("lz4", claim), {400, 413}
    yield "PutLogs, deflate", PUT, deflated(large), package("deflate", large), {400, 413}
    yield "PutLogs, zstd", PUT, zstd(large), package("zstd", 9 * MIB), {400, 413}
    yield "Loki, snappy", LOKI, snappy(9 * MIB), [PROTOBUF], {400, 413}
    yield "Loki, snappy that claims 4 GiB", LOKI, snappy(MIB, (1 << 32) - 1), [PROTOBUF], {400, 413}
    yield "Loki, snappy that claims 2^62", LOKI, snappy(MIB, claim), [PROTOBUF], {400, 413}
    yield "Loki, snappy that claims 9 MiB", LOKI, varint(9 * MIB), [PROTOBUF], {400, 413}


JSON = "Content-Type: application/json"


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
    return field(1, field(1, b"".join(field(1, each) for each in resource)) + field(2, b"".join(records)))


def shared_attribute(size: int, count: int) -> bytes:
    """One attribute that many empty records share."""
    return otlp([text(b"host", b"x" * size)], [b"\x12\x00"] * count)


LOGS, TRACK, OTLP = "/logs/floods", "/logstores/floods/track", "/v1/logs"


def floods(size: int) -> Iterator[Body]:
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
    yield "OTLP, records that are nothing", OTLP, shared_attribute(300_000, 2_000_000), [PROTOBUF], {400}
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
    value = field(1, b"x")
    for _ in range(depth):
        value = field(5, field(1, value))
    return value

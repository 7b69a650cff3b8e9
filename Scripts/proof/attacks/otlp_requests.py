"""Costly requests of OpenTelemetry, in protobuf and in JSON."""

import struct
from typing import Any

from harness.encodings import field, varint
from proof.attacks import pieces
from proof.attacks.expensive_bodies import JSON, PROTOBUF
from proof.attacks.pieces import CODINGS, COUNTS, NAMES, Built, Dialects, Genes, many, pair, repeated

DEEP = b""
for _ in range(60):
    DEEP = field(6, field(1, field(2, DEEP)))
# OpenTelemetry values, in protobuf and in JSON.
ANY = {
    "text": field(1, b"x" * 20),
    "none": b"",
    "truth": b"\x10\x01",
    "integer": b"\x18" + varint((1 << 64) - 1),
    "double": b"\x21" + struct.pack("<d", 1.7976931348623157e307),
    "tiny": b"\x21" + struct.pack("<d", 5e-324),
    "third": b"\x21" + struct.pack("<d", 1 / 3),
    "bytes": field(7, b"\xff" * 60),
    "broken": field(1, b"\xff" * 60),
    "controls": field(1, b"\x01" * 60),
    "list": field(5, field(1, b"") * 30),
    "pairs": field(6, field(1, field(1, b"a")) * 30),
    "deep": DEEP,
    "oversize": field(1, b"\x01" * (1 << 20)),
}
JSON_ANY = {
    "text": b'{"stringValue":"xxxxxxxx"}',
    "none": b"{}",
    "escapes": b'{"stringValue":"' + b"\\n" * 60 + b'"}',
    "integer": b'{"intValue":"-9223372036854775808"}',
    "double": b'{"doubleValue":1.7976931348623157e+308}',
    "tiny": b'{"doubleValue":4.9406564584124654e-324}',
    "digits": b'{"doubleValue":0.' + b"1234567890" * 70 + b"e-300}",
    "many digits": b'{"doubleValue":2.' + b"4703282292062327208" * 400 + b"e-324}",
    "endless digits": b'{"doubleValue":2.' + b"4703282292062327208" * 40_000 + b"e-324}",
    "bytes": b'{"bytesValue":"' + b"/" * 80 + b'"}',
    "list": b'{"arrayValue":{"values":[{},{},{},{},{},{},{},{}]}}',
    "pairs": b'{"kvlistValue":{"values":[{"key":"a"},{"key":"b"}]}}',
    "deep": b'{"arrayValue":{"values":[' * 60 + b"{}" + b"]}}" * 60,
    "backwards": b'{"kvlistValue":{"values":[{"value":' * 7 + b"{}" + b',"key":"a"}]}}' * 7,
}


def otlp(genes: Genes) -> Built:
    value, where, half = ANY[genes["value"]], genes["where"], pieces.size() // 2

    def attributes(number: int, limit: int | None = None, spare: int = 0) -> bytes:
        wrap = lambda each: field(number, pair(each, value))
        return many(genes["name"], wrap, genes["count"], limit=limit, spare=spare)

    def empty_records(most: int) -> bytes:
        return b"\x12\x00" * min(genes["records"], most)

    if where == "resource":
        shared = attributes(1, spare=1000)
        records = empty_records(max(1, (pieces.size() - len(shared) - 64) // 2))
        content = field(1, field(1, shared)[: pieces.size()] + field(2, records))
    elif where == "resources":
        content = repeated(field(1, field(1, attributes(1, limit=half)) + field(2, empty_records(1 << 20))))
    elif where == "scopes":
        scope = field(1, attributes(3, limit=half)) + empty_records(1 << 20)
        content = field(1, repeated(field(2, scope), spare=32))
    else:
        record = field(2, field(5, value)) if where == "body" else field(2, attributes(6, spare=64))
        content = field(1, field(2, repeated(record, spare=32)))
    return "/v1/logs", content, [PROTOBUF]


def otlp_json(genes: Genes) -> Built:
    value, where = JSON_ANY[genes["value"]], genes["where"]
    first, second = b'{"key":"', b'","value":' + value + b"}"
    if genes["is_backwards"]:
        first, second = b'{"value":' + value + b',"key":"', b'"}'

    def attributes(limit: int | None = None, spare: int = 0) -> bytes:
        pairs = many(genes["name"], lambda each: first + each + second, genes["count"], b",", limit, spare)
        return b'"attributes":[' + pairs + b"]"

    resource = b'"resource":{}'
    if where == "record" or where == "body":
        record = b'{"body":' + value + b"}" if where == "body" else b"{" + attributes(spare=200) + b"}"
        records = repeated(record, b",", spare=100)
    else:
        shared = attributes(spare=1000) if where == "resource" else attributes(limit=pieces.size() // 2)
        records = b",".join([b"{}"] * min(genes["records"], max(1, (pieces.size() - len(shared) - 200) // 3)))
        resource = b'"resource":{' + shared + b"}"
    parts = [resource, b'"scopeLogs":[{"logRecords":[' + records + b"]}]"]
    if genes["is_backwards"]:
        parts.reverse()
    body = repeated(b"{" + b",".join(parts) + b"}", b",", spare=20)
    return "/v1/logs", b'{"resourceLogs":[' + body + b"]}", [JSON]


ATTRIBUTES: dict[str, Any] = {
    "name": list(NAMES),
    "count": COUNTS,
    "where": ["record", "resource", "resources", "scopes", "body"],
    "records": [1, 100, 10_000, 500_000],
}


DIALECTS: Dialects = {
    "otlp": (otlp, ATTRIBUTES | {"value": list(ANY), "coding": CODINGS}),
    "otlp json": (otlp_json, ATTRIBUTES | {"value": list(JSON_ANY), "is_backwards": [False, True], "coding": CODINGS}),
}

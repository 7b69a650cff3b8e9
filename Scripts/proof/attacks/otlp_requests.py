"""Costly requests of OpenTelemetry, in protobuf and in JSON."""

import struct
from typing import Any

from harness.protobuf import field, varint
from proof.attacks import pieces
from proof.attacks.expensive_bodies import JSON, PROTOBUF
from proof.attacks.pieces import CODINGS, COUNTS, NAMES, Built, Dialects, Genes, many, repeated

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
    value, where = ANY[genes["value"]], genes["where"]

    def attributes(number: int, limit: int | None) -> bytes:
        return many(
            genes["name"], lambda each: field(number, field(1, each) + field(2, value)), genes["count"], limit=limit
        )

    if where == "resource":
        shared = attributes(1, pieces.size() - 1000)
        content = field(
            1,
            field(1, shared)[: pieces.size()]
            + field(2, b"\x12\x00" * min(genes["records"], max(1, (pieces.size() - len(shared) - 64) // 2))),
        )
    elif where == "resources":
        content = repeated(
            field(
                1, field(1, attributes(1, pieces.size() // 2)) + field(2, b"\x12\x00" * min(genes["records"], 1 << 20))
            )
        )
    elif where == "scopes":
        content = field(
            1,
            repeated(
                field(2, field(1, attributes(3, pieces.size() // 2)) + b"\x12\x00" * min(genes["records"], 1 << 20)),
                limit=pieces.size() - 32,
            ),
        )
    else:
        record = field(2, field(5, value)) if where == "body" else field(2, attributes(6, pieces.size() - 64))
        content = field(1, field(2, repeated(record, limit=pieces.size() - 32)))
    return "/v1/logs", content, [PROTOBUF]


def otlp_json(genes: Genes) -> Built:
    value, where = JSON_ANY[genes["value"]], genes["where"]
    first, second = (
        (b'{"value":' + value + b',"key":"', b'"}')
        if genes["is_backwards"]
        else (b'{"key":"', b'","value":' + value + b"}")
    )

    def attributes(limit: int | None) -> bytes:
        return (
            b'"attributes":['
            + many(genes["name"], lambda each: first + each + second, genes["count"], b",", limit)
            + b"]"
        )

    if where == "record" or where == "body":
        record = b'{"body":' + value + b"}" if where == "body" else b"{" + attributes(pieces.size() - 200) + b"}"
        parts = [
            b'"resource":{}',
            b'"scopeLogs":[{"logRecords":[' + repeated(record, b",", pieces.size() - 100) + b"]}]",
        ]
    else:
        shared = attributes(pieces.size() - 1000 if where == "resource" else pieces.size() // 2)
        records = b",".join([b"{}"] * min(genes["records"], max(1, (pieces.size() - len(shared) - 200) // 3)))
        parts = [b'"resource":{' + shared + b"}", b'"scopeLogs":[{"logRecords":[' + records + b"]}]"]
    if genes["is_backwards"]:
        parts.reverse()
    return (
        "/v1/logs",
        b'{"resourceLogs":[' + repeated(b"{" + b",".join(parts) + b"}", b",", pieces.size() - 20) + b"]}",
        [JSON],
    )


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

"""Costly requests of each dialect: SLS's own, OpenTelemetry, Elasticsearch's bulk API, Splunk's collector, Loki."""

import struct
import zlib
from collections.abc import Callable
from typing import Any

from harness.encodings import field, snappy, varint
from proof.attacks import pieces
from proof.attacks.hostile_requests import JSON, PROTOBUF
from proof.attacks.pieces import (
    CODINGS,
    COUNTS,
    MEMBERS,
    NAMES,
    TEXTS,
    Built,
    Dialects,
    Genes,
    many,
    members,
    name,
    pair,
    repeated,
)


def track(genes: Genes) -> Built:
    tags = members(genes, genes["count"], spare=1 << 16)
    rest = members(genes, 2, 1 << 20)
    logs = repeated(b"{" + rest + b"}", b",", max(100, pieces.size() - len(tags) - 64)) if genes["logs"] else b'{"a":0}'
    body = b'{"__tags__":{' + tags + b'},"__logs__":[' + logs + b"]}"
    return "/logstores/cost/track", body, [JSON, "x-log-apiversion: 0.6.0"]


def query(genes: Genes) -> Built:
    text, limit = genes["value"], 2_400 if genes["is_escaped"] else 7_800
    pairs = many(genes["name"], lambda each: each + b"=" + text, genes["count"], b"&", limit)
    if genes["is_escaped"]:
        pairs = b"".join(b"%%%02X" % byte if byte not in b"=&" else bytes([byte]) for byte in pairs)
    return "/logstores/cost/track.gif?APIVersion=0.6.0&" + "".join(map(chr, pairs)), None, []


def put(genes: Genes) -> Built:
    """A LogGroup, or packages of several."""
    text, limit = TEXTS[genes["text"]], pieces.size() // genes["packages"] - 64
    tags = many(genes["name"], lambda each: field(6, pair(each, text)), genes["tags"], limit=limit - 100)
    room = limit - len(tags) - 20
    contents = many(genes["name"], lambda each: field(2, pair(each, text)), genes["count"], limit=room)
    log = field(1, (b"\x08\xe6\x9b\x99\xbc\x06" if genes["is_usual"] else b"") + contents)
    group = tags + repeated(log, limit=limit - len(tags))
    fields = [PROTOBUF, "x-log-apiversion: 0.6.0"]
    if genes["packages"] == 1:
        return "/logstores/cost/shards/lb", group, [*fields, f"x-log-bodyrawsize: {len(group)}"]
    packed, kind = (zlib.compress(group, 1), 1) if genes["is_packed"] else (group, 0)
    content = field(1, field(1, packed) + b"\x10" + varint(len(group)) + b"\x18" + bytes([kind])) * genes["packages"]
    fields += ["x-log-mode: batch_group", f"x-log-bodyrawsize: {len(content)}"]
    return "/logstores/cost/shards/lb", content, fields


NAMED: dict[str, Any] = {"name": list(NAMES), "count": COUNTS}
PUT = {
    "text": list(TEXTS),
    "tags": [0, 16, 17, 1024, 1025, 100_000],
    "is_usual": [True, False],
    "packages": [1, 2, 1024],
    "is_packed": [False, True],
    "coding": [None, "lz4", "deflate", "zstd"],
}
SLS: Dialects = {
    "track": (track, MEMBERS | {"count": COUNTS, "logs": [False, True], "coding": CODINGS}),
    "query": (query, NAMED | {"value": [b"", b"%E0", b"x"], "is_escaped": [False, True], "coding": [None]}),
    "putlogs": (put, NAMED | PUT),
}

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

OTLP: Dialects = {
    "otlp": (otlp, ATTRIBUTES | {"value": list(ANY), "coding": CODINGS}),
    "otlp json": (otlp_json, ATTRIBUTES | {"value": list(JSON_ANY), "is_backwards": [False, True], "coding": CODINGS}),
}

ACTIONS: dict[str, Callable[[bytes], bytes]] = {
    "bare": lambda each: b'{"index":{}}',
    "index": lambda each: b'{"index":{"_index":"' + each + b'"}}',
    "id": lambda each: b'{"create":{"_id":"' + each + b'"}}',
    "long id": lambda each: b'{"create":{"_id":"' + b"\x7f" * 512 + b'"}}',
    "delete": lambda each: b'{"delete":{"_id":"' + b"\x7f" * 512 + b'","_index":"' + b"\x7f" * 512 + b'"}}',
    "blank": lambda each: b" ",
    "blanks": lambda each: b" " * 70,
    "empty": lambda each: b"",
}
DOCUMENTS = {
    "empty": b"{}",
    "small": b'{"a":0}',
    "date": b'{"@timestamp":"2025-01-14T08:30:00Z"}',
    "broken": b'{"a":',
    "broken end": b'{"a":"' + b"x" * 1000 + b'","b":tru}',
    "not text": b'{"a":"' + b"x" * 1000 + b'\xff"}',
}


def bulk(genes: Genes) -> Built:
    action, document = ACTIONS[genes["action"]], DOCUMENTS[genes["document"]]
    if genes["fields"]:
        document = b"{" + members(genes | {"name": genes["names"]}, genes["fields"], spare=2000) + b"}"
    ending = b"\n" if genes["action"] in ("blank", "empty", "blanks", "delete") else b"\n" + document + b"\n"
    head = b"" if genes["action"] != "blank" else b'{"index":{}}\n{}\n'
    body = head + many(genes["name"], lambda each: action(each) + ending, spare=20)
    return "/cost/_bulk", body, ["Content-Type: application/x-ndjson"]


ORIGINS: dict[str, Callable[[bytes], bytes]] = {
    "none": lambda each: b"",
    "host": lambda each: b'"host":"' + each + b'",',
    "source": lambda each: b'"source":"' + each + b'",',
    "long": lambda each: b'"source":"' + each + b"x" * 1200 + b'",',
    "index": lambda each: b'"index":"' + each + b'",',
}
EVENTS = {
    "letter": b'"x"',
    "time": b'"x","time":"1700000000.123456"',
    "bad time": b'"x","time":"x"',
    "object": b'{"a":0}',
    "deep": b"[" * 40 + b"]" * 40,
}


def splunk(genes: Genes) -> Built:
    origin, event = ORIGINS[genes["origin"]], b'"event":' + EVENTS[genes["event"]]
    if genes["fields"]:
        event += b',"fields":{' + members(genes | {"name": genes["names"]}, genes["fields"], spare=2000) + b"}"
    return "/services/collector/event", many(genes["name"], lambda each: b"{" + origin(each) + event + b"}"), [JSON]


FIELDS: dict[str, Any] = {"names": list(NAMES), "fields": [0, 1, 65, 70_000, 1 << 30], "coding": CODINGS}
AGENTS: Dialects = {
    "bulk": (bulk, MEMBERS | {"action": list(ACTIONS), "document": list(DOCUMENTS)} | FIELDS),
    "splunk": (splunk, MEMBERS | {"origin": list(ORIGINS), "event": list(EVENTS)} | FIELDS),
}


def streams(
    genes: Genes, pairs: Callable[[bytes, bytes], bytes], stream: Callable[[bytes], bytes], between: bytes
) -> bytes:
    """As many Loki streams as fit. Their labels are equal or differ, as the genes say."""
    kind, count, sets = genes["name"], genes["count"], genes["sets"]
    value = b"v" * genes["length"]

    def labels(first: int = 0) -> bytes:
        return many(kind, lambda each: pairs(each, value), count, b",", pieces.size() // 2, first=first)

    if sets == "same":
        return repeated(stream(labels()), between, spare=20)
    if sets == "values":
        shared = labels()
        numbered = lambda each: stream(pairs(b"number", each) + b"," + shared)
        return many(genes["few"], numbered, between=between, spare=20)
    parts, length, number = [], 0, 0
    while length < pieces.size() - 20:
        if sets == "names":
            text = labels(number * count % (1 << 20))
        else:
            text = labels()
            size = len(pairs(name(kind, 0), value)) + 1
            at = number * size % (len(text) + 1)
            text = (text[at:] + b"," + text[: at - 1]) if at else text
        parts.append(stream(text))
        length, number = length + len(parts[-1]) + len(between), number + 1
    return between.join(parts[:-1] or parts)


def loki(genes: Genes) -> Built:
    entry = b'["1","a"]'
    if genes["metadata"]:
        entry = b'["1","a",{' + many("hex", lambda each: b'"' + each + b'":"v"', genes["metadata"], b",") + b"}]"
    rows = b",".join([entry] * genes["entries"])
    stream = lambda labels: b'{"stream":{' + labels + b'},"values":[' + rows + b"]}"
    body = streams(genes, lambda key, value: b'"' + key + b'":"' + value + b'"', stream, b",")
    return "/loki/api/v1/push", b'{"streams":[' + body + b"]}", [JSON]


def loki_protobuf(genes: Genes) -> Built:
    metadata = many("hex", lambda each: field(3, pair(each, b"v")), genes["metadata"])
    entry = field(2, field(1, b"\x08\x01") + field(2, b"a") + metadata)
    stream = lambda labels: field(1, field(1, b"{" + labels + b"}") + entry * genes["entries"])
    body = streams(genes, lambda key, value: b'"' + key + b'"="' + value + b'"', stream, b"")
    return "/loki/api/v1/push", snappy(body), [PROTOBUF]


LABELS: dict[str, Any] = {
    "name": list(NAMES),
    "count": [1, 2, 15, 64, 200, 1023, 1024, 1025, 5000],
    "length": [1, 8, 100, 3000],
    "sets": ["same", "values", "names", "orders"],
    "few": ["few", "marks", "hex", "many marks"],
    "entries": [1, 4, 100],
    "metadata": [0, 4, 70],
}

LOKI: Dialects = {
    "loki": (loki, LABELS | {"coding": CODINGS}),
    "loki protobuf": (loki_protobuf, LABELS | {"coding": [None]}),
}

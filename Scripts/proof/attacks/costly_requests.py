"""Requests made from genes: for each dialect a table of choices, and a function that builds the request from them."""

import gzip
import struct
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

from harness.protobuf import field, varint
from proof.attacks.compressors import lz4, snappy, zstd
from proof.attacks.expensive_bodies import JSON, PROTOBUF

Genes = dict[str, Any]
# Path, body and header fields.
Built = tuple[str, bytes | None, list[str]]


# Bytes of a body: limits.body and limits.inflated_body, and the most that a loop handles itself.
LARGE, SHORT = 10 << 20, 1 << 20
SIZE = LARGE  # of the request under construction
COMBINING = [chr(code).encode() for code in range(0x300, 0x370)]

# Sources of names: one text, a format for numbers, or a list of texts. All names of one kind have the same length.
NAMES: dict[str, bytes | list[bytes]] = {
    "same": b"a",
    "hex": b"%05x",
    "empty": b"",
    "long": b"%0120x",
    "alike": b"z" * 50 + b"%020x" + b"z" * 50,
    "cut": b"%0140x",
    "cut alike": b"y" * 160,
    "reserved": b"__topic__",
    "time": b"__time__",
    "mark": b"__truncated__",
    "hidden": b"_%05x",
    "few": [b"%04x" % number for number in range(8192)],
    "marks": [one + other for one in COMBINING for other in COMBINING],
    "many marks": [
        b"".join(COMBINING[(number * 31 + each * (7 + number // 112)) % 112] for each in range(60))
        for number in range(4096)
    ],
    "hangul": [chr(0xAC00 + number).encode() for number in range(11_000)],
}
HOLE = b"\xf9\xf8"


def width(kind: str) -> int:
    form = NAMES[kind]
    return len(form[0] if isinstance(form, list) else form % 0 if b"%" in form else form)


def many(
    kind: str,
    wrap: Callable[[bytes], bytes],
    count: int = 1 << 30,
    between: bytes = b"",
    limit: int | None = None,
    first: int = 0,
) -> bytes:
    """Up to `count` pieces, as many as fit. `wrap` makes a piece from a name; all pieces have the same length."""
    limit = SIZE if limit is None else limit
    form, hole = NAMES[kind], (HOLE * 80)[: width(kind)]
    piece = wrap(hole)
    size = len(piece) + len(between)
    count = min(count, (limit + len(between)) // size)
    has_hole = hole != b"" and hole in piece
    if isinstance(form, bytes) and has_hole and b"%" not in form:
        piece, has_hole = piece.replace(hole, form), False
    if not has_hole:
        return repeated(piece, between, count * size - len(between)) if count else b""
    if isinstance(form, bytes):
        numbered = piece.replace(b"%", b"%%").replace(hole, form)
        return between.join(map(numbered.__mod__, range(first, first + count)))
    names = form[first % len(form) :] + form[: first % len(form)]
    block = between.join(piece.replace(hole, name) for name in names[:count]) + between
    return (block * (count // len(form) + 1))[: count * size - len(between)] if count else b""


def name(kind: str, number: int) -> bytes:
    form = NAMES[kind]
    return form[number % len(form)] if isinstance(form, list) else form % number if b"%" in form else form


# Values as JSON, and below the same ideas as plain text for the other formats.
VALUES = {
    "zero": b"0",
    "empty": b'""',
    "null": b"null",
    "word": b'"value"',
    "number": b"-1.5e-7",
    "text": b'"' + b"x" * 200 + b'"',
    "escapes": b'"' + b"\\n" * 100 + b'"',
    "scalars": b'"' + b"\\u00e9" * 40 + b'"',
    "pairs": b'"' + b"\\ud83d\\ude00" * 20 + b'"',
    "late escape": b'"' + b"x" * 200 + b'\\n"',
    "marks": b'"' + b"".join(COMBINING[:100]) + b'"',
    "wide": b"[" + b"0," * 50 + b"0]",
    "objects": b"[" + b'{"a":0},' * 20 + b"{}]",
    "deep": b"[" * 50 + b"]" * 50,
    "date": b'"2025-01-14T08:30:00.123456789+08:00"',
    "long": b'"' + b"x" * 70_000 + b'"',
    "oversize": b'"' + b"x" * ((1 << 20) + 1) + b'"',
    "oversize marks": b'"' + b"\xcc\x80" * (1 << 19) + b'"',
    "blanks": b'   "x"   ',
    "letters": b'"xxxxxxxxxx"',
}
TEXTS = {
    "empty": b"",
    "letter": b"x",
    "byte": b"\xff",
    "word": b"value",
    "text": b"x" * 200,
    "marks": b"".join(COMBINING[:100]),
    "broken": b"\xff" * 100,
    "half broken": b"x\xff" * 60,
    "quotes": b'"\n' * 60,
    "controls": b"\x01" * 100,
    "long": b"x" * 70_000,
    "oversize": b"x" * ((1 << 20) + 1),
    "oversize broken": b"\xff" * ((1 << 20) + 1),
}
COUNTS = [1, 2, 4, 16, 63, 64, 65, 130, 1024, 1025, 8192, 70_000, 1 << 30]
CODINGS = [None, None, "gzip", "deflate", "zstd", "lz4"]


def repeated(piece: bytes, between: bytes = b"", limit: int | None = None) -> bytes:
    """One piece, repeated as often as it fits."""
    limit = SIZE if limit is None else limit
    unit = piece + between
    return (unit * max(1, (limit + len(between)) // len(unit)))[: -len(between) or None]


def members(genes: Genes, count: int, limit: int | None = None) -> bytes:
    """Up to `count` members of a JSON object."""
    return many(genes["name"], lambda each: b'"' + each + b'":' + VALUES[genes["value"]], count, b",", limit)


def logs(genes: Genes) -> Built:
    one = b"{" + members(genes, genes["count"], SIZE - 40) + b"}"
    path, between = "/logs/cost" + genes["query"], genes["between"]
    if between == b",":
        return path, b"[" + repeated(one, between, SIZE - 2) + b"]", [JSON]
    return path, repeated(one, between), [JSON]


def lines(genes: Genes) -> Built:
    return "/logs/cost?format=lines", repeated(TEXTS[genes["text"]] + genes["end"]), []


def track(genes: Genes) -> Built:
    tags = members(genes, genes["count"], SIZE - (1 << 16))
    rest = members(genes, 2, 1 << 20)
    logs = repeated(b"{" + rest + b"}", b",", max(100, SIZE - len(tags) - 64)) if genes["logs"] else b'{"a":0}'
    return (
        "/logstores/cost/track",
        b'{"__tags__":{' + tags + b'},"__logs__":[' + logs + b"]}",
        [JSON, "x-log-apiversion: 0.6.0"],
    )


def pair(key: bytes, value: bytes) -> bytes:
    return field(1, key) + field(2, value)


def put(genes: Genes) -> Built:
    """A LogGroup, or packages of several."""
    text, limit = TEXTS[genes["text"]], SIZE // genes["packages"] - 64
    tags = many(genes["name"], lambda each: field(6, pair(each, text)), genes["tags"], limit=limit - 100)
    contents = many(
        genes["name"], lambda each: field(2, pair(each, text)), genes["count"], limit=limit - len(tags) - 20
    )
    log = field(1, (b"\x08\xe6\x9b\x99\xbc\x06" if genes["is_usual"] else b"") + contents)
    group = tags + repeated(log, limit=limit - len(tags))
    fields = [PROTOBUF, "x-log-apiversion: 0.6.0"]
    if genes["packages"] == 1:
        return "/logstores/cost/shards/lb", group, [*fields, f"x-log-bodyrawsize: {len(group)}"]
    packed, kind = (zlib.compress(group, 1), 1) if genes["is_packed"] else (group, 0)
    content = field(1, field(1, packed) + b"\x10" + varint(len(group)) + b"\x18" + bytes([kind])) * genes["packages"]
    return (
        "/logstores/cost/shards/lb",
        content,
        [*fields, "x-log-mode: batch_group", f"x-log-bodyrawsize: {len(content)}"],
    )


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
        shared = attributes(1, SIZE - 1000)
        content = field(
            1,
            field(1, shared)[:SIZE]
            + field(2, b"\x12\x00" * min(genes["records"], max(1, (SIZE - len(shared) - 64) // 2))),
        )
    elif where == "resources":
        content = repeated(
            field(1, field(1, attributes(1, SIZE // 2)) + field(2, b"\x12\x00" * min(genes["records"], 1 << 20)))
        )
    elif where == "scopes":
        content = field(
            1,
            repeated(
                field(2, field(1, attributes(3, SIZE // 2)) + b"\x12\x00" * min(genes["records"], 1 << 20)),
                limit=SIZE - 32,
            ),
        )
    else:
        record = field(2, field(5, value)) if where == "body" else field(2, attributes(6, SIZE - 64))
        content = field(1, field(2, repeated(record, limit=SIZE - 32)))
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
        record = b'{"body":' + value + b"}" if where == "body" else b"{" + attributes(SIZE - 200) + b"}"
        parts = [b'"resource":{}', b'"scopeLogs":[{"logRecords":[' + repeated(record, b",", SIZE - 100) + b"]}]"]
    else:
        shared = attributes(SIZE - 1000 if where == "resource" else SIZE // 2)
        records = b",".join([b"{}"] * min(genes["records"], max(1, (SIZE - len(shared) - 200) // 3)))
        parts = [b'"resource":{' + shared + b"}", b'"scopeLogs":[{"logRecords":[' + records + b"]}]"]
    if genes["is_backwards"]:
        parts.reverse()
    return "/v1/logs", b'{"resourceLogs":[' + repeated(b"{" + b",".join(parts) + b"}", b",", SIZE - 20) + b"]}", [JSON]


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
        document = b"{" + members(genes | {"name": genes["names"]}, genes["fields"], SIZE - 2000) + b"}"
    ending = b"\n" if genes["action"] in ("blank", "empty", "blanks", "delete") else b"\n" + document + b"\n"
    head = b"" if genes["action"] != "blank" else b'{"index":{}}\n{}\n'
    return (
        "/cost/_bulk",
        head + many(genes["name"], lambda each: action(each) + ending, limit=SIZE - 20),
        ["Content-Type: application/x-ndjson"],
    )


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
        event += b',"fields":{' + members(genes | {"name": genes["names"]}, genes["fields"], SIZE - 2000) + b"}"
    return "/services/collector/event", many(genes["name"], lambda each: b"{" + origin(each) + event + b"}"), [JSON]


def streams(
    genes: Genes, pairs: Callable[[bytes, bytes], bytes], stream: Callable[[bytes], bytes], between: bytes
) -> bytes:
    """As many Loki streams as fit. Their labels are equal or differ, as the genes say."""
    kind, count, sets = genes["name"], genes["count"], genes["sets"]
    value = b"v" * genes["length"]
    if sets == "same":
        labels = many(kind, lambda each: pairs(each, value), count, b",", SIZE // 2)
        return repeated(stream(labels), between, SIZE - 20)
    if sets == "values":
        few = genes["few"]
        labels = many(kind, lambda each: pairs(each, value), count, b",", SIZE // 2)
        return many(few, lambda each: stream(pairs(b"number", each) + b"," + labels), (1 << 30), between, SIZE - 20)
    parts, length, number = [], 0, 0
    while length < SIZE - 20:
        if sets == "names":
            labels = many(
                kind, lambda each: pairs(each, value), count, b",", SIZE // 2, first=number * count % (1 << 20)
            )
        else:
            labels = many(kind, lambda each: pairs(each, value), count, b",", SIZE // 2)
            size = len(pairs(name(kind, 0), value)) + 1
            at = number * size % (len(labels) + 1)
            labels = (labels[at:] + b"," + labels[: at - 1]) if at else labels
        parts.append(stream(labels))
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


def query(genes: Genes) -> Built:
    text = genes["value"]
    pairs = many(
        genes["name"], lambda each: each + b"=" + text, genes["count"], b"&", 2_400 if genes["is_escaped"] else 7_800
    )
    if genes["is_escaped"]:
        pairs = b"".join(b"%%%02X" % byte if byte not in b"=&" else bytes([byte]) for byte in pairs)
    return "/logstores/cost/track.gif?APIVersion=0.6.0&" + "".join(map(chr, pairs)), None, []


LABELS: dict[str, Any] = {
    "name": list(NAMES),
    "count": [1, 2, 15, 64, 200, 1023, 1024, 1025, 5000],
    "length": [1, 8, 100, 3000],
    "sets": ["same", "values", "names", "orders"],
    "few": ["few", "marks", "hex", "many marks"],
    "entries": [1, 4, 100],
    "metadata": [0, 4, 70],
}
ATTRIBUTES: dict[str, Any] = {
    "name": list(NAMES),
    "count": COUNTS,
    "where": ["record", "resource", "resources", "scopes", "body"],
    "records": [1, 100, 10_000, 500_000],
}
MEMBERS: dict[str, Any] = {"name": list(NAMES), "value": list(VALUES)}
# For each dialect the function that builds a request, and the choices for each gene.
DIALECTS: dict[str, tuple[Callable[[Genes], Built], dict[str, Any]]] = {
    "logs": (
        logs,
        MEMBERS | {"count": COUNTS, "between": [b"", b"\n", b","], "query": ["", "?time_field=a"], "coding": CODINGS},
    ),
    "lines": (lines, {"text": list(TEXTS), "end": [b"\n", b"\r\n", b"x\n"], "coding": CODINGS}),
    "track": (track, MEMBERS | {"count": COUNTS, "logs": [False, True], "coding": CODINGS}),
    "putlogs": (
        put,
        {
            "name": list(NAMES),
            "text": list(TEXTS),
            "count": COUNTS,
            "tags": [0, 16, 17, 1024, 1025, 100_000],
            "is_usual": [True, False],
            "packages": [1, 2, 1024],
            "is_packed": [False, True],
            "coding": [None, "lz4", "deflate", "zstd"],
        },
    ),
    "otlp": (otlp, ATTRIBUTES | {"value": list(ANY), "coding": CODINGS}),
    "otlp json": (otlp_json, ATTRIBUTES | {"value": list(JSON_ANY), "is_backwards": [False, True], "coding": CODINGS}),
    "bulk": (
        bulk,
        MEMBERS
        | {
            "action": list(ACTIONS),
            "document": list(DOCUMENTS),
            "names": list(NAMES),
            "fields": [0, 1, 65, 70_000, 1 << 30],
            "coding": CODINGS,
        },
    ),
    "splunk": (
        splunk,
        MEMBERS
        | {
            "origin": list(ORIGINS),
            "event": list(EVENTS),
            "names": list(NAMES),
            "fields": [0, 1, 65, 70_000, 1 << 30],
            "coding": CODINGS,
        },
    ),
    "loki": (loki, LABELS | {"coding": CODINGS}),
    "loki protobuf": (loki_protobuf, LABELS | {"coding": [None]}),
    "query": (
        query,
        {
            "name": list(NAMES),
            "count": COUNTS,
            "value": [b"", b"%E0", b"x"],
            "is_escaped": [False, True],
            "coding": [None],
        },
    ),
}


# Damage that phones and bad networks do to JSON.
DAMAGES: dict[str | None, Callable[[bytes], bytes]] = {
    None: lambda text: text,
    "letters": lambda text: text.replace(b"x", b"\xff").replace(b"v", b"\xff"),
    "names": lambda text: text.replace(b"a", b"\xff"),
    "controls": lambda text: text.replace(b"a", b"\x01").replace(b"x", b"\n"),
    "colons": lambda text: text.replace(b'":', b'" '),
    "commas": lambda text: text.replace(b",", b" "),
    "end": lambda text: text[:-1],
    "numbers": lambda text: text.replace(b":0", b":-"),
}
# Genes of every dialect.
COMMON: dict[str, Any] = {"size": [LARGE, LARGE, SHORT], "damage": [None, None, None, *filter(None, DAMAGES)]}
DIALECTS = {dialect: (build, choices | COMMON) for dialect, (build, choices) in DIALECTS.items()}


def known(dialect: str, **genes: Any) -> tuple[str, Genes]:
    """The named genes, and the first choice for all others."""
    return dialect, {name: genes.get(name, choices[0]) for name, choices in DIALECTS[dialect][1].items()}


def random_genes(dialect: str, random: Random) -> Genes:
    return {name: random.choice(choices) for name, choices in DIALECTS[dialect][1].items()}


def mutated(dialect: str, genes: Genes, random: Random) -> Genes:
    """The same genes with one or two changed."""
    table = DIALECTS[dialect][1]
    changed = dict(genes)
    for name in random.sample(list(table), random.choice([1, 1, 2])):
        changed[name] = random.choice(table[name])
    return changed


def request(dialect: str, genes: Genes) -> Built | None:
    """Path, body and fields; the body is None for a GET. Returns None when the genes make a larger body than the
    limit."""
    global SIZE
    SIZE = genes["size"]
    path, content, fields = DIALECTS[dialect][0](genes)
    if content is not None and (JSON in fields or dialect == "bulk"):
        content = DAMAGES[genes["damage"]](content)
    made = (path, *packed(content, fields, genes["coding"]))
    return made if len(made[1] or b"") <= LARGE else None


def packed(content: bytes | None, fields: list[str], coding: str | None) -> tuple[bytes | None, list[str]]:
    if coding is None or content is None:
        return content, fields
    sized = [each for each in fields if not each.startswith("x-log-bodyrawsize")]
    how = {
        "gzip": lambda: gzip.compress(content, 1),
        "deflate": lambda: zlib.compress(content, 1),
        "zstd": lambda: zstd(content),
        "lz4": lambda: lz4(content),
    }
    raw = [f"x-log-bodyrawsize: {len(content)}"] if coding == "lz4" or len(sized) < len(fields) else []
    name = "x-log-compresstype" if len(sized) < len(fields) else "Content-Encoding"
    return how[coding](), [*sized, f"{name}: {coding}", *raw]

"""Costly pushes to Loki, in JSON and in protobuf."""

from collections.abc import Callable
from typing import Any

from harness.encodings import field, snappy
from proof.attacks import pieces
from proof.attacks.expensive_bodies import JSON, PROTOBUF
from proof.attacks.pieces import CODINGS, NAMES, Built, Dialects, Genes, many, name, pair, repeated


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


DIALECTS: Dialects = {
    "loki": (loki, LABELS | {"coding": CODINGS}),
    "loki protobuf": (loki_protobuf, LABELS | {"coding": [None]}),
}

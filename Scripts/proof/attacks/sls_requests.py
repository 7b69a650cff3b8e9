"""Costly requests of SLS's own dialects: web tracking and PutLogs."""

import zlib
from typing import Any

from harness.encodings import field, varint
from proof.attacks import pieces
from proof.attacks.expensive_bodies import JSON, PROTOBUF
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
DIALECTS: Dialects = {
    "track": (track, MEMBERS | {"count": COUNTS, "logs": [False, True], "coding": CODINGS}),
    "query": (query, NAMED | {"value": [b"", b"%E0", b"x"], "is_escaped": [False, True], "coding": [None]}),
    "putlogs": (put, NAMED | PUT),
}

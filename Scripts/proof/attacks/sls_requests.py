"""Costly requests of SLS's own dialects: web tracking and PutLogs."""

import zlib

from harness.protobuf import field, varint
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
    tags = members(genes, genes["count"], pieces.size() - (1 << 16))
    rest = members(genes, 2, 1 << 20)
    logs = repeated(b"{" + rest + b"}", b",", max(100, pieces.size() - len(tags) - 64)) if genes["logs"] else b'{"a":0}'
    return (
        "/logstores/cost/track",
        b'{"__tags__":{' + tags + b'},"__logs__":[' + logs + b"]}",
        [JSON, "x-log-apiversion: 0.6.0"],
    )


def query(genes: Genes) -> Built:
    text = genes["value"]
    pairs = many(
        genes["name"], lambda each: each + b"=" + text, genes["count"], b"&", 2_400 if genes["is_escaped"] else 7_800
    )
    if genes["is_escaped"]:
        pairs = b"".join(b"%%%02X" % byte if byte not in b"=&" else bytes([byte]) for byte in pairs)
    return "/logstores/cost/track.gif?APIVersion=0.6.0&" + "".join(map(chr, pairs)), None, []


def put(genes: Genes) -> Built:
    """A LogGroup, or packages of several."""
    text, limit = TEXTS[genes["text"]], pieces.size() // genes["packages"] - 64
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


DIALECTS: Dialects = {
    "track": (track, MEMBERS | {"count": COUNTS, "logs": [False, True], "coding": CODINGS}),
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
}

"""Requests made from genes: for each dialect a function that builds one, and the choices for its genes."""

import gzip
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

from harness.encodings import lz4, zstd
from proof.attacks.dialects import AGENTS, LOKI, OTLP, SLS
from proof.attacks.hostile_requests import JSON
from proof.attacks.pieces import (
    CODINGS,
    COUNTS,
    LARGE,
    MEMBERS,
    SHORT,
    TEXTS,
    Built,
    Dialects,
    Genes,
    members,
    repeated,
    set_size,
)


def logs(genes: Genes) -> Built:
    one = b"{" + members(genes, genes["count"], spare=40) + b"}"
    path, between = "/logs/cost" + genes["query"], genes["between"]
    if between == b",":
        return path, b"[" + repeated(one, between, spare=2) + b"]", [JSON]
    return path, repeated(one, between), [JSON]


def lines(genes: Genes) -> Built:
    return "/logs/cost?format=lines", repeated(TEXTS[genes["text"]] + genes["end"]), []


PLAIN: Dialects = {
    "logs": (
        logs,
        MEMBERS | {"count": COUNTS, "between": [b"", b"\n", b","], "query": ["", "?time_field=a"], "coding": CODINGS},
    ),
    "lines": (lines, {"text": list(TEXTS), "end": [b"\n", b"\r\n", b"x\n"], "coding": CODINGS}),
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
DIALECTS: Dialects = {
    dialect: (build, choices | COMMON)
    for part in (PLAIN, SLS, OTLP, AGENTS, LOKI)
    for dialect, (build, choices) in part.items()
}


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
    """Path, body (None for a GET) and fields; None when the genes make a larger body than the limit."""
    set_size(genes["size"])
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


ENDLESS = 1 << 30
KNOWN = {
    "a million names in one log": known("logs", name="hex", count=ENDLESS),
    "names with the same sums": known("logs", name="alike", count=ENDLESS),
    "names that are cut": known("logs", name="cut", count=ENDLESS),
    "names that are cut alike": known("logs", name="cut alike", count=ENDLESS),
    "empty names": known("logs", name="empty", count=ENDLESS),
    "reserved names": known("logs", name="reserved", count=ENDLESS),
    "times again and again": known("logs", name="time", value="date", count=ENDLESS),
    "half a million logs": known("logs", name="hex", value="empty", count=1, between=b"\n"),
    "logs of 70 names": known("logs", name="hex", count=70, between=b"\n"),
    "nothing but lists": known("logs", value="wide", count=4),
    "nothing but brackets": known("logs", value="deep", count=1),
    "escapes": known("logs", value="scalars", count=4),
    "large values, gzipped": known("logs", value="text", count=4, coding="gzip"),
    "lines of one letter": known("lines", text="letter", end=b"x\n"),
    "lines of one byte that is no text": known("lines", text="byte"),
    "lines that are no text": known("lines", text="broken"),
    "one line that is no text": known("lines", text="oversize broken"),
    "empty lines": known("lines", text="empty"),
    "tags without end": known("track", name="hex", value="word", count=ENDLESS),
    "tags of two marks": known("track", name="marks", value="word", count=ENDLESS),
    "tags of many marks": known("track", name="many marks", value="word", count=ENDLESS),
    "tags that are cut": known("track", name="cut", value="word", count=ENDLESS),
    "PutLogs, tags of marks": known("putlogs", name="many marks", text="word", count=1, tags=100_000),
    "PutLogs, names without end": known("putlogs", name="hex", text="empty", count=ENDLESS),
    "PutLogs, logs that are no text": known("putlogs", name="same", text="broken", count=1),
    "PutLogs, a thousand packages": known("putlogs", name="hex", text="empty", count=64, packages=1024, is_packed=True),
    "OTLP, names without end": known("otlp", name="hex", value="none", count=ENDLESS),
    "OTLP, a resource": known("otlp", name="hex", value="none", count=ENDLESS, where="resource", records=500_000),
    "OTLP, doubles": known("otlp", name="same", value="double", count=16),
    "OTLP, lists of nothing": known("otlp", name="same", value="list", count=ENDLESS),
    "OTLP, pairs in pairs": known("otlp", name="same", value="deep", count=ENDLESS),
    "OTLP, not text": known("otlp", name="same", value="broken", count=4),
    "OTLP JSON, doubles": known("otlp json", name="same", value="double", count=16),
    "OTLP JSON, many digits": known("otlp json", name="same", value="many digits", count=1),
    "OTLP JSON, backwards": known("otlp json", name="same", value="backwards", count=ENDLESS, is_backwards=True),
    "OTLP JSON, lists": known("otlp json", name="same", value="list", count=ENDLESS),
    "Bulk, lines of a blank": known("bulk", action="blank"),
    "Bulk, lines of blanks": known("bulk", action="blanks"),
    "Bulk, empty lines": known("bulk", action="empty"),
    "Bulk, ids that must be escaped": known("bulk", action="delete"),
    "Bulk, documents that are broken": known("bulk", action="bare", document="broken end"),
    "Bulk, documents that are no text": known("bulk", action="bare", document="not text"),
    "Bulk, indices of marks": known("bulk", action="index", name="many marks", document="small"),
    "Splunk, hosts": known("splunk", origin="host", name="many marks", event="letter"),
    "Splunk, sources": known("splunk", origin="source", name="marks", event="letter"),
    "Splunk, long sources": known("splunk", origin="long", name="few", event="letter"),
    "objects that are no text": known("logs", name="few", value="letters", count=1, between=b"\n", damage="letters"),
    "an array that is no text": known("logs", name="few", value="letters", count=1, between=b",", damage="letters"),
    "objects without colons": known("logs", name="few", value="letters", count=1, between=b"\n", damage="colons"),
    "numbers that are none": known("logs", name="few", count=1, between=b",", damage="numbers"),
    "tracked logs that are no text": known("track", name="few", value="letters", count=1, logs=True, damage="letters"),
    "Splunk, events that are no text": known("splunk", name="few", event="letter", damage="letters"),
    "Bulk, documents without colons": known("bulk", action="bare", document="small", damage="colons"),
    "OTLP JSON, texts that are no text": known("otlp json", name="few", value="text", count=16, damage="letters"),
    "Loki, labels that are no text": known("loki", name="hex", count=15, length=8, sets="values", damage="letters"),
    "PutLogs, tags that are no text": known("putlogs", name="hex", text="broken", count=1, tags=100_000),
    "Loki, the same labels of two marks": known("loki", name="marks", count=1024, length=1),
    "Loki, labels in all orders": known("loki", name="marks", count=1024, length=1, sets="orders"),
    "Loki, sets of labels": known("loki", name="hex", count=15, length=8, sets="values"),
    "Loki, sets of labels of marks": known("loki", name="many marks", count=8, length=1, sets="values"),
    "Loki, names without end": known("loki", name="hex", count=5000, length=1, sets="names"),
    "Loki protobuf, labels of two marks": known("loki protobuf", name="marks", count=1024, length=1),
    "Loki protobuf, labels in all orders": known("loki protobuf", name="marks", count=1024, length=1, sets="orders"),
    "a query of marks": known("query", name="marks", count=ENDLESS),
}

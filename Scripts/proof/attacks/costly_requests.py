"""Requests made from genes: for each dialect a function that builds the request, and a table of choices for its genes."""

import gzip
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

from harness.compressors import lz4, zstd
from proof.attacks import agent_requests, loki_requests, otlp_requests, plain_requests, sls_requests
from proof.attacks.expensive_bodies import JSON
from proof.attacks.pieces import LARGE, SHORT, Built, Dialects, Genes, set_size

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
    for part in (plain_requests, sls_requests, otlp_requests, agent_requests, loki_requests)
    for dialect, (build, choices) in part.DIALECTS.items()
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
    """Path, body and fields; the body is None for a GET. Returns None when the genes make a larger body than the
    limit."""
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

"""Costly requests as JSON or lines: /logs/{tag}."""

from proof.attacks.expensive_bodies import JSON
from proof.attacks.pieces import CODINGS, COUNTS, MEMBERS, TEXTS, Built, Dialects, Genes, members, repeated


def logs(genes: Genes) -> Built:
    one = b"{" + members(genes, genes["count"], spare=40) + b"}"
    path, between = "/logs/cost" + genes["query"], genes["between"]
    if between == b",":
        return path, b"[" + repeated(one, between, spare=2) + b"]", [JSON]
    return path, repeated(one, between), [JSON]


def lines(genes: Genes) -> Built:
    return "/logs/cost?format=lines", repeated(TEXTS[genes["text"]] + genes["end"]), []


DIALECTS: Dialects = {
    "logs": (
        logs,
        MEMBERS | {"count": COUNTS, "between": [b"", b"\n", b","], "query": ["", "?time_field=a"], "coding": CODINGS},
    ),
    "lines": (lines, {"text": list(TEXTS), "end": [b"\n", b"\r\n", b"x\n"], "coding": CODINGS}),
}

"""Requests to the admin API: every one that a token for reading may make, with random parameters and bodies."""

import json
import pathlib
import random
import typing

from proof.clients import device

DOCUMENT = pathlib.Path(__file__).parents[3] / "docs" / "openapi.json"
# Expressions that RE2 compiles to large programs, and ordinary ones.
PATTERNS = ["^/health", r"[\pL]{25}", "(a|b|c)*d", r"^.{1000}$", r"(\w+\s){50}", "x*" * 200]

TEXTS = ["x", "é", "\x01", "\\", '"', "\U0001f600"]


class Request(typing.NamedTuple):
    method: str
    path: str
    body: str | None = None

    def written(self, token: str) -> bytes:
        path, body = self.path.replace(" ", "%20"), None if self.body is None else self.body.encode()
        fields = [f"Authorization: Bearer {token}", "Accept: application/json", "Connection: close"]
        if body is not None:
            fields.append("Content-Type: application/json")
        return device.request(path, body, *fields, host="127.0.0.1", method=self.method)

    def __str__(self) -> str:
        body = f" {self.body[:120]}… ({len(self.body)} bytes)" if self.body else ""
        return f"{self.method} {self.path[:200]}{body}"


# What stands for the parameters of paths, and the parameters of queries that make answers long.
PLACES = {"capture": "{capture}", "id": "{letter}", "number": "{record}", "record": "{record}", "name": "app"}
QUERIES = {
    "/admin/queue/peek": ["?destination=app&limit=100", "?destination=app&limit=1"],
    "/admin/queue": ["", "?streams=1000&order=largest"],
    "/admin/dead-letters": ["", "?limit=1000", "?limit=1"],
    "/admin/dead-letters/export": ["?limit=1000"],
    "/admin/audit": ["?limit=1000"],
    "/admin/history": ["", "?window=48h"],
}
# Streams do not end.
ENDLESS = {"/admin/tail"}


def reading() -> list[str]:
    """The paths of all GET routes of the document, with placeholders for what exists."""
    paths: dict[str, typing.Any] = json.loads(DOCUMENT.read_text())["paths"]
    found = []
    for path, methods in paths.items():
        if "get" not in methods or path in ENDLESS:
            continue
        if "/captures/{" in path:
            path = path.replace(path.split("/")[3], "{capture}")
        elif "/dead-letters/{" in path:
            path = path.replace(path.split("/")[3], "{letter}")
        elif "{" in path and "records" not in path:
            path = path[: path.index("{")] + ("sandbox" if "credentials" in path else "app")
        if "/records/" in path:
            path = path.replace(path.split("/")[5], "{record}")
        found += [path + query for query in QUERIES.get(path, [""])]
    return found


def walk() -> list[Request]:
    return [Request("GET", path) for path in reading()]


def rules(filters: int, steps: int, pattern: str) -> str:
    """Edited filters of a dry replay, as many as fit its body."""
    step = json.dumps({"drop": True, "when": {"field": "text", "matches": pattern}})
    steps = max(1, min(steps, 50_000 // (len(step) + 2)))
    filters = max(1, min(filters, 60_000 // ((len(step) + 2) * steps + 20)))
    one = '{"steps":[' + ",".join([step] * steps) + "]}"
    return '{"filters":[' + ",".join([one] * filters) + "]}"


def trial(logs: int, text: str, size: int) -> str:
    log = json.dumps({"text": text * size}, ensure_ascii=False)
    logs = max(1, min(logs, 200_000 // (len(log.encode()) + 1)))
    return '{"tag":"live.a","logs":[' + ",".join([log] * logs) + "]}"


REPLAY = "/admin/captures/{capture}/records/{record}/replay"
# The most expensive requests that a search or a person has found. They always come first.
KNOWN = {
    "twenty long logs of the queue": Request("GET", "/admin/queue/peek?destination=app&limit=20"),
    "an archive of 30 MB": Request("GET", "/admin/captures/{capture}/har"),
    "an export of 30 MB": Request("GET", "/admin/captures/{capture}/export"),
    "a dead letter of 8 MB": Request("GET", "/admin/dead-letters/{letter}"),
    "a dead letter of raw control characters": Request("GET", "/admin/dead-letters/{raw}"),
    "a list that begins with it": Request("GET", "/admin/dead-letters?after={before}&limit=1"),
    "an export that begins with it": Request("GET", "/admin/dead-letters/export?after={before}&limit=1000"),
    "a thousand large expressions": Request("POST", REPLAY, rules(20, 50, r"[\pL]{25}")),
    "a hundred logs of a trial": Request("POST", "/admin/routes/test", trial(100, "x", 2000)),
    "a tag of expressions": Request("GET", "/admin/tail?tag=/[%5CpL]{2}/%20/[%5CpL]{20}/"),
}


def any_request(chance: random.Random) -> Request:
    """A random request that a token for reading may make."""
    kind = chance.randrange(4)
    if kind == 0:
        body = rules(chance.randrange(1, 200), chance.randrange(1, 64), chance.choice(PATTERNS))
        return Request("POST", REPLAY, body)
    if kind == 1:
        body = trial(chance.randrange(1, 101), chance.choice(TEXTS), chance.choice([1, 100, 10_000, 200_000]))
        return Request("POST", "/admin/routes/test", body)
    if kind == 2:
        return Request("POST", REPLAY)
    return Request("GET", chance.choice(reading()))

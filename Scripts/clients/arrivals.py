"""The gateway to which clients send, byte for byte, and the comparison of their logs with those in the sandbox."""

import http.client
import json
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from harness.gateway import Gateway, SandboxControl

Answer = tuple[http.client.HTTPResponse, bytes]


def taken(answered: Answer, what: str) -> Answer:
    """Requires a success, as the SDKs read it."""
    answer, body = answered
    assert answer.status == 200, f"{what}: {answer.status} {body!r}"
    assert len(answer.getheader("x-log-requestid", "")) == 24, f"{what}: no request id"
    return answer, body


Log = dict[str, Any]
TEXT = 'first\nsecond\t"quoted" \\ 世界 \U0001f600'
# Fields that the sandbox adds, and the gateway's own name for a packet.
ADDED = {"__cursor__", "__pack_index__", "__request_id__", "__received__", "__tag__:__pack_id__"}
# Fields whose value is JSON: neither spaces nor the order of members matter.
JSON_FIELDS = {"resource", "attribute", "otlp.attribute", "structured_data"}
# Fields that can hold the unique name of a log. Plain text has it in the text.
NAME_FIELDS = ("id", "content", "line", "message")


@dataclass
class Sent:
    """A log as it must arrive, with a unique name in one of its fields."""

    fields: dict[str, str]
    project: str = "shop"
    logstore: str = "app"
    topic: str = ""
    source: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    # Seconds and nanoseconds; None is the time of arrival.
    time: int | None = None
    nanoseconds: int | None = None

    def shown(self) -> Log:
        log: Log = {"__project__": self.project, "__logstore__": self.logstore}
        log |= {"__topic__": self.topic, "__source__": self.source}
        log |= {f"__tag__:{key}": value for key, value in self.tags.items()}
        if self.time is not None:
            log["__time__"] = str(self.time)
        if self.nanoseconds is not None:
            log["__time_ns_part__"] = str(self.nanoseconds)
        return log | self.fields


class Arrivals:
    """The clients' target, and the logs that must arrive in its sandbox."""

    def __init__(self, gateway: Gateway, sandbox: SandboxControl) -> None:
        self.gateway, self.sandbox, self.devices = gateway, sandbox, gateway.devices
        self.expected: dict[str, Sent] = {}
        self.began = int(time.time())

    def send(self, method: str, target: str, headers: dict[str, Any], body: bytes = b"") -> Answer:
        """Sends a request on a connection of its own, without a library that changes it."""
        lines = [f"{method} {target} HTTP/1.1", f"Host: shop.localhost:{self.devices}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body or method == "POST":
            lines.append(f"Content-Length: {len(body)}")
        head = "\r\n".join(lines) + "\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.devices), timeout=30) as connection:
            connection.sendall(head.encode() + body)
            answer = http.client.HTTPResponse(connection, method=method)
            answer.begin()
            return answer, answer.read()

    def expect(self, sent: Sent) -> None:
        """Notes a log before it is sent."""
        name = name_of(sent.fields)
        assert name not in self.expected, f"two logs have the name {name}"
        self.expected[name] = sent

    def complaints(self) -> list[str]:
        """One line for each log that is missing, stored twice or altered."""
        ledger = self.gateway.drain(30)
        is_idle = ledger["closed"] and ledger["ledger"]["queued"] == ledger["ledger"]["dead"] == 0
        lines = [] if is_idle else [f"the gateway still has logs: {ledger}"]
        arrived: dict[str, list[Log]] = {}
        for log in self.sandbox.logs():
            arrived.setdefault(name_of(log), []).append(log)
        for name, sent in self.expected.items():
            logs = arrived.pop(name, [])
            if len(logs) != 1:
                lines.append(f"{name}: arrived {len(logs)} times")
            lines += [line for log in logs for line in self.differences(name, sent, log)]
        return lines + [f"{name}: was never sent: {logs}" for name, logs in arrived.items()]

    def differences(self, name: str, sent: Sent, log: Log) -> Iterator[str]:
        got = {key: value for key, value in log.items() if key not in ADDED}
        wanted = sent.shown()
        if sent.time is None:
            arrival = int(got.pop("__time__"))
            got.pop("__time_ns_part__", None)
            if not self.began <= arrival <= time.time() + 1:
                yield f"{name}: its time is {arrival}"
        for key in sorted(got.keys() | wanted.keys()):
            have, want = got.get(key), wanted.get(key)
            if key in JSON_FIELDS and have is not None and want is not None:
                have, want = json.loads(have), json.loads(want)
            if have != want:
                yield f"{name}: {key} is {have!r} and not {want!r}"


def name_of(fields: Log) -> str:
    return str(next((fields[key] for key in NAME_FIELDS if key in fields), ""))

"""Sends the corpus directly and through each proxy, and compares what was stored with what was answered."""

import collections
import concurrent.futures
import json
import re
import socket
from collections.abc import Iterator

from edge import corpus
from edge.proxies import NAMES, Proxies
from harness.check import Check
from harness.gateway import Gateway

RECEIPT = b'{"receipt":"'
Address = tuple[str, int] | str


def converse(address: Address, request: bytes, quiet: float = 2.0) -> bytes:
    """Sends a request, and reads until the other side closes or is quiet for this many seconds."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    answer = b""
    with socket.socket(family) as connection:
        connection.settimeout(quiet)
        connection.connect(address)
        try:
            connection.sendall(request)
            while received := connection.recv(65536):
                answer += received
        except (TimeoutError, ConnectionError):
            pass
    return answer


def body(name: str) -> bytes:
    return json.dumps({"id": name}).encode()


class FramingCase:
    """One request of the corpus on one path: it, a valid request right behind it, and a valid one on another connection."""

    def __init__(self, path: str, address: Address, case: str) -> None:
        self.path, self.address, self.case = path, address, case
        self.first, self.hidden, self.next, self.other = (
            f"{path}: {case}: {which}" for which in ("first", "hidden", "next", "other")
        )
        self.answers = self.answer_to_other = b""

    @property
    def names(self) -> tuple[str, ...]:
        return self.first, self.hidden, self.next, self.other

    def run(self) -> "FramingCase":
        request = corpus.CASES[self.case](body(self.first), body(self.hidden))
        behind = corpus.post(body(self.next), b"Connection: close")
        self.answers = converse(self.address, request + behind)
        valid = corpus.post(body(self.other), b"Connection: close")
        self.answer_to_other = converse(self.address, valid, quiet=20.0)
        return self

    @property
    def receipts(self) -> int:
        return self.answers.count(RECEIPT)

    @property
    def statuses(self) -> list[int]:
        return [int(status) for status in re.findall(rb"HTTP/1\.[01] ([0-9]{3})", self.answers)]

    def complaints(self, arrived: collections.Counter[str]) -> Iterator[str]:
        stored = [name for name in (self.first, self.hidden, self.next) if arrived[name]]
        if len(stored) != self.receipts:
            yield f"{self.receipts} receipts in {self.statuses}, but stored are {stored}"
        if self.hidden in stored and len(self.statuses) < 2:
            yield f"the hidden request is stored, and the sender was told {self.statuses} only"
        for name in stored:
            if arrived[name] > 1:
                yield f"{name} is stored {arrived[name]} times"
        if RECEIPT not in self.answer_to_other or arrived[self.other] != 1:
            yield f"another client's log is stored {arrived[self.other]} times, answer {self.answer_to_other!r}"


def check(check: Check, gateway: Gateway, proxies: Proxies) -> None:
    paths: dict[str, Address] = {"directly": ("127.0.0.1", gateway.devices)}
    paths |= {name: str(proxies.work / name) for name in NAMES}
    cases = [FramingCase(path, address, case) for case in corpus.CASES for path, address in paths.items()]
    # Many at once, so that the proxies give one connection to the gateway to several clients in turn.
    with concurrent.futures.ThreadPoolExecutor(24) as threads:
        cases = list(threads.map(FramingCase.run, cases))

    arrived: collections.Counter[str] = collections.Counter()
    known = {name for case in cases for name in case.names}
    gateway.require_drained(30)
    for log in gateway.own_sandbox().logs():
        fields = {name: value for name, value in log.items() if not name.startswith("__")}
        name = fields.get("id", "")
        arrived[name] += 1
        check.expect(name in known and fields.keys() == {"id"}, f"a stored log was never sent: {log}")
    for case in cases:
        for complaint in case.complaints(arrived):
            check.expect(False, f"{case.path}: {case.case}: {complaint}")
    refused = sum(case.path == "directly" and not arrived[case.first] for case in cases)
    check.say(
        f"{len(corpus.CASES)} requests on {len(paths)} paths, {refused} of them refused by the gateway, "
        f"{arrived.total()} logs stored"
    )

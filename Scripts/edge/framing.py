"""Sends the corpus directly and through each proxy, and looks at what was stored."""

import concurrent.futures
import json
import re
import socket

import corpus


def converse(address, request, quiet=2.0):
    """Sends all at once; what comes back until the other side closes or says nothing more."""
    family = socket.AF_INET if isinstance(address, tuple) else socket.AF_UNIX
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


def body(name):
    return json.dumps({"id": name}).encode()


class Trial:
    """One case on one way: the request in question, a good one right behind it, and a good one of somebody else."""

    def __init__(self, way, address, case):
        self.way, self.address, self.case = way, address, case
        self.first, self.hidden, self.next, self.other = (
            f"{way}: {case}: {which}" for which in ("first", "hidden", "next", "other")
        )

    def run(self):
        request = corpus.CASES[self.case](body(self.first), body(self.hidden))
        behind = corpus.post(body(self.next), b"Connection: close")
        self.answers = converse(self.address, request + behind)
        good = corpus.post(body(self.other), b"Connection: close")
        self.answer_to_other = converse(self.address, good, quiet=20.0)
        return self

    @property
    def receipts(self):
        return self.answers.count(b'{"receipt":"')

    @property
    def statuses(self):
        return [int(status) for status in re.findall(rb"HTTP/1\.[01] ([0-9]{3})", self.answers)]

    def wrong(self, arrived):
        """A line for each thing that must not be."""
        stored = [name for name in (self.first, self.hidden, self.next) if name in arrived]
        if len(stored) != self.receipts:
            yield f"{self.receipts} receipts in {self.statuses}, and stored are {stored}"
        if self.hidden in stored and len(self.statuses) < 2:
            yield f"what was hidden is stored, and the sender was told of {self.statuses} only"
        for name in (self.first, self.hidden, self.next):
            if arrived.get(name, 0) > 1:
                yield f"{name} is stored {arrived[name]} times"
        if b'{"receipt":"' not in self.answer_to_other or arrived.get(self.other) != 1:
            yield f"somebody else's log is stored {arrived.get(self.other, 0)} times, answer {self.answer_to_other!r}"


def check(gateway, proxies):
    """Lines about what is wrong."""
    ways = {"directly": ("127.0.0.1", gateway.devices)}
    ways |= {name: str(proxies.work / name) for name in proxies.names}
    trials = [Trial(way, address, case) for case in corpus.CASES for way, address in ways.items()]
    # Many at once, so that proxies give one connection to the gateway to several clients in turn.
    with concurrent.futures.ThreadPoolExecutor(24) as threads:
        trials = list(threads.map(Trial.run, trials))

    lines, arrived = [], {}
    known = {name for trial in trials for name in (trial.first, trial.hidden, trial.next, trial.other)}
    for log in gateway.stored():
        fields = {name: value for name, value in log.items() if not name.startswith("__")}
        name = fields.get("id")
        arrived[name] = arrived.get(name, 0) + 1
        if name not in known or fields.keys() != {"id"}:
            lines.append(f"nobody sent {log}")
    for trial in trials:
        lines += [f"{trial.way}: {trial.case}: {line}" for line in trial.wrong(arrived)]
    refused = sum(trial.way == "directly" and trial.first not in arrived for trial in trials)
    print(
        f"check-edge: {len(corpus.CASES)} requests on {len(ways)} ways, {refused} of them refused by the gateway, "
        f"{sum(arrived.values())} logs stored"
    )
    return lines

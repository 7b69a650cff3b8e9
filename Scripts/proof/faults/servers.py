"""Servers that a trial breaks: a log server, the target of a destination of kind http, which answers some requests
badly, and one in SLS's place or its own that tells lies and passes other requests on."""

from __future__ import annotations

import contextlib
import gzip
import json
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from random import Random

from harness.gateway import Log
from proof.clients.device import message

# What becomes of half of the requests. The first three store them, though the gateway cannot know it.
STORING = ["500 stored", "lost", "late"]
MODES = [*STORING, "429", "500", "closed"]
# Seconds: longer than the `send_timeout` of the gateways.
LATE = 2.5


class Server:
    """Answers requests, each connection on a thread of its own."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                accepted, _ = self.listener.accept()
                threading.Thread(target=self.serve, args=(accepted,), daemon=True).start()

    def serve(self, accepted: socket.socket) -> None:
        connection = Connection(accepted)
        with contextlib.closing(accepted), contextlib.suppress(OSError):
            while not connection.is_over and (request := connection.request()):
                self.answer(connection, request)

    def answer(self, connection: Connection, request: bytes) -> None:
        raise NotImplementedError

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
            self.listener.close()


class LogServer(Server):
    """Keeps the logs in the order of their arrival, each with the `Idempotency-Key` of its request."""

    def __init__(self, random: Random) -> None:
        self.random, self.mode, self.disturbed = random, "open", 0
        self.stored: list[tuple[str, Log]] = []
        super().__init__()

    def logs(self) -> list[tuple[str, Log]]:
        with self.lock:
            return list(self.stored)

    def answer(self, connection: Connection, request: bytes) -> None:
        found = message(request)
        assert found is not None
        with self.lock:
            mode = self.mode if self.random.random() < 0.5 else "open"
            self.disturbed += mode != "open"
            if mode in ("open", *STORING):
                content = request[found.begin :]
                content = gzip.decompress(content) if found.fields.get("content-encoding") == "gzip" else content
                is_lines = "ndjson" in found.fields["content-type"]
                logs = [json.loads(line) for line in content.splitlines()] if is_lines else json.loads(content)
                self.stored += [(found.fields["idempotency-key"], log) for log in logs]
        if mode == "late":
            time.sleep(LATE)
        if mode in ("lost", "closed"):
            return connection.close()
        status = "200" if mode in ("open", "late") else mode.split()[0]
        connection.say(f"HTTP/1.1 {status} \r\nContent-Length: 0\r\n\r\n".encode())


# Gives one request an invalid answer.
InvalidAnswer = Callable[["Connection", bytes, "LyingServer"], None]
# Seconds after which an invalid answer ends, even if the gateway still reads it.
LONGEST = 20


class LyingServer(Server):
    """Calls `give_answer` for each of the next `count` requests; passes on all later ones."""

    def __init__(self, sandbox_port: int, give_answer: InvalidAnswer, count: int, trap: int) -> None:
        self.sandbox_port, self.give_answer, self.left = sandbox_port, give_answer, count
        # The port to which redirects lead.
        self.trap = trap
        self.heard, self.longest, self.most = 0, 0.0, 0
        super().__init__()

    def answer(self, connection: Connection, request: bytes) -> None:
        with self.lock:
            self.heard += 1
            lies, self.left = self.left > 0, max(0, self.left - 1)
        if not lies:
            return connection.say(self.forward(request))
        began, connection.taken = time.monotonic(), 0
        # The gateway may close the connection.
        with contextlib.suppress(OSError):
            self.give_answer(connection, request, self)
        with self.lock:
            self.longest = max(self.longest, time.monotonic() - began)
            self.most = max(self.most, connection.taken)

    def forward(self, request: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.sandbox_port), 30) as sandbox:
            sandbox.sendall(request)
            return Connection(sandbox).request()


class Connection:
    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.rest = connection, b""
        self.connection.settimeout(30)
        self.taken, self.is_over = 0, False

    def request(self) -> bytes:
        """The bytes of the next message with a Content-Length, or none at the end of the connection."""
        while not (found := message(self.rest)):
            if not (piece := self.connection.recv(1 << 20)):
                return b""
            self.rest += piece
        whole, self.rest = self.rest[: found.end], self.rest[found.end :]
        return whole

    def say(self, text: bytes) -> None:
        """Sends a text, and counts the bytes that were accepted."""
        self.connection.sendall(text)
        self.taken += len(text)

    def repeat(self, text: bytes, pause: float = 0.0, most: int = 64 << 20) -> None:
        """Sends a text again and again until the gateway closes the connection."""
        self.is_over = True
        until = time.monotonic() + LONGEST
        while time.monotonic() < until and self.taken < most:
            self.say(text)
            if pause and self.closes_within(pause):
                return

    def wait(self) -> None:
        """Sends nothing until the gateway closes the connection."""
        self.is_over = True
        self.closes_within(LONGEST)

    def closes_within(self, seconds: float) -> bool:
        """True if the gateway closes the connection, or sends something unexpected, in this time."""
        return bool(select.select([self.connection], [], [], seconds)[0])

    def close(self) -> None:
        self.is_over = True

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def keep(self) -> None:
        """The gateway may send its next request."""


ID = b"x-log-requestid: 5642FC2399248C8F7B0145FD\r\n"
OK = b"HTTP/1.1 200 OK\r\n"


def sends(text: bytes, then: Callable[[Connection], None] = Connection.close) -> InvalidAnswer:
    def answer(connection: Connection, request: bytes, server: LyingServer) -> None:
        connection.say(text)
        then(connection)

    return answer


def never_ends(begin: bytes, again: bytes, pause: float = 0.0) -> InvalidAnswer:
    return sends(begin, lambda connection: connection.repeat(again, pause))


def body(status: bytes, content: bytes, *fields: bytes) -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(content), *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + content


def responds(status: bytes, content: bytes, *fields: bytes) -> InvalidAnswer:
    """A whole answer. The connection is kept."""
    return sends(body(status, content, *fields), Connection.keep)


def answers_next_request_too(connection: Connection, request: bytes, server: LyingServer) -> None:
    """Stores the request, and sends its answer together with a second one, for a request that has not arrived."""
    answer = server.forward(request)
    connection.say(answer + OK + ID + b"Content-Length: 0\r\n\r\n")
    if not connection.closes_within(1.0):
        connection.close()
    # A second request came on the same connection, after its answer. Nothing stores it here.
    elif connection.request():
        connection.wait()


def wrong_time(seconds: int) -> InvalidAnswer:
    """SLS is busy, and its answer tells a wrong time."""
    content = b'{"errorCode":"ServerBusy","errorMessage":""}'
    return responds(b"503 Busy", content, ID[:-2], b"x-log-time: %d" % seconds)


def redirect(status: bytes) -> InvalidAnswer:
    def answer(connection: Connection, request: bytes, server: LyingServer) -> None:
        place = b"Location: http://127.0.0.1:%d/logstores/lies/shards/lb" % server.trap
        connection.say(body(status, b"", place, ID[:-2]))

    return answer


PAGE = b"<html><body>Please accept the conditions of this network.</body></html>"
BOMB = gzip.compress(gzip.compress(b"\0" * (64 << 20), 1), 9)
NO_TEXT = b'{"errorCode":"\xff\xfe\x00","errorMessage":"\x1b[2J"}'
DEEP = b'{"errorCode":' + b"[" * 15000

# Not for log servers, of whose answers only the status and `Retry-After` count: nothing tells the first four from true
# answers, and the last one holds up a destination for ten minutes, the documented bound.
ONLY_FOR_SLS = (
    "a login page",
    "200 with no id",
    "200 with an endless id",
    "200 with an empty id",
    "an absurd Retry-After",
)
ANSWERS = {
    "a huge body": never_ends(OK + ID + b"Content-Length: 10737418240\r\n\r\n", b"x" * 65536),
    "a body without end": never_ends(OK + ID + b"\r\n", b"x" * 65536),
    "chunks without end": never_ends(
        OK + ID + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n"
    ),
    "a trailer without end": never_ends(OK + ID + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n" * 1000),
    "a chunk of 2^64": sends(OK + ID + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nx"),
    "a chunk of -1": sends(OK + ID + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nx"),
    "headers without end": never_ends(OK + ID, b"X-Header: value\r\n" * 1000),
    "a header without end": never_ends(OK + ID + b"X: ", b"x" * 65536),
    "a status line without end": never_ends(b"HTTP/1.1 200 ", b"K" * 65536),
    "100 Continue without end": never_ends(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "103 with headers without end": never_ends(b"", b"HTTP/1.1 103 Early Hints\r\n" + ID + b"Link: x\r\n\r\n"),
    "a head by drops": never_ends(b"", b"H", 0.2),
    "headers by drops": never_ends(OK + ID, b"X: y\r\n", 0.2),
    "a body by drops": never_ends(OK + ID + b"Content-Length: 100000\r\n\r\n", b"x", 0.2),
    "100 Continue by drops": never_ends(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.2),
    "no answer": sends(b"", Connection.wait),
    "half an answer, then nothing": sends(OK + ID + b"Content-Length: 10\r\n\r\n12345", Connection.wait),
    "a length that is too long": sends(OK + ID + b"Content-Length: 1000\r\n\r\nshort"),
    "a length that is negative": sends(OK + ID + b"Content-Length: -1\r\n\r\n"),
    # libcurl ignores such a length.
    "a length of 2^64": sends(OK + ID + b"Content-Length: 18446744073709551616\r\n\r\n"),
    "two lengths": sends(OK + ID + b"Content-Length: 1000\r\nContent-Length: 0\r\n\r\n"),
    "a length behind a blank": sends(OK + ID + b"Content-Length : 18446744073709551616\r\n\r\n"),
    "an answer for the next request": answers_next_request_too,
    "closed at once": sends(b""),
    "reset": sends(b"", Connection.reset),
    "garbage": sends(bytes(range(256)) * 64),
    "HTTP/0.9": sends(PAGE),
    "HTTP/9": sends(b"HTTP/9.9 200 OK\r\n" + ID + b"\r\n"),
    "a login page": responds(b"200 OK", PAGE, b"Content-Type: text/html"),
    "200 with no id": responds(b"200 OK", b""),
    "200 with an endless id": responds(b"200 OK", b"", b"x-log-requestid: " + b"A" * 4000),
    "200 with an empty id": responds(b"200 OK", b"", b"x-log-requestid: "),
    "201": responds(b"201 Created", b"", ID[:-2]),
    "204": sends(b"HTTP/1.1 204 No Content\r\n" + ID + b"\r\n", Connection.keep),
    "206": responds(b"206 Partial", b"", ID[:-2]),
    "101": sends(b"HTTP/1.1 101 Switching Protocols\r\n" + ID + b"Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
    "redirect 301": redirect(b"301 Moved"),
    "redirect 302": redirect(b"302 Found"),
    "redirect 307": redirect(b"307 Temporary"),
    "redirect 308": redirect(b"308 Permanent"),
    "a bomb of gzip": responds(b"500 Oh", BOMB, ID[:-2], b"Content-Encoding: gzip"),
    "an error of 15,000 brackets": responds(b"500 Oh", DEEP, ID[:-2]),
    "an error that is not text": responds(b"500 Oh", NO_TEXT, ID[:-2]),
    "a time 5 h ahead": wrong_time(int(time.time()) + 5 * 3600),
    "a time of 2105": wrong_time(4294967000),
    "an invalid time": responds(b"503 Busy", b"", ID[:-2], b"x-log-time: 99999999999999999999", b"Date: yesterday"),
    "a leap second": responds(b"503 Busy", b"", ID[:-2], b"Date: Thu, 31 Dec 2026 23:59:60 GMT"),
    "an absurd Retry-After": responds(b"503 Busy", b"", b"Retry-After: 99999999999"),
}

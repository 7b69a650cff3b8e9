"""A server in SLS's place that gives invalid answers to some requests, and passes the others on to the sandbox."""

import gzip
import select
import socket
import struct
import threading
import time
from collections.abc import Callable

# Gives one request an invalid answer.
InvalidAnswer = Callable[["LyingConnection", bytes, "LyingServer"], None]


# Seconds after which an invalid answer ends, even if the gateway still reads it.
LONGEST = 20


class LyingServer:
    """Calls `give_answer` for each of the next `count` requests; passes on all later ones."""

    def __init__(self, sandbox_port: int, give_answer: InvalidAnswer, count: int, trap: int) -> None:
        self.sandbox_port, self.give_answer, self.left = sandbox_port, give_answer, count
        # The port to which redirects lead, and the time on which some answers are based.
        self.trap, self.now = trap, int(time.time())
        self.lock = threading.Lock()
        self.heard, self.longest, self.most = 0, 0.0, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        while True:
            try:
                accepted, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(accepted,), daemon=True).start()

    def serve(self, accepted: socket.socket) -> None:
        connection = LyingConnection(accepted)
        try:
            while request := connection.request():
                with self.lock:
                    self.heard += 1
                    lies, self.left = self.left > 0, max(0, self.left - 1)
                if not lies:
                    accepted.sendall(self.forward(request))
                    continue
                began, connection.taken = time.monotonic(), 0
                try:
                    self.give_answer(connection, request, self)
                except OSError:
                    pass  # The gateway may close the connection.
                with self.lock:
                    self.longest = max(self.longest, time.monotonic() - began)
                    self.most = max(self.most, connection.taken)
                if connection.is_over:
                    return
        except OSError:
            pass
        finally:
            accepted.close()

    def forward(self, request: bytes) -> bytes:
        """The sandbox's answer, byte for byte."""
        with socket.create_connection(("127.0.0.1", self.sandbox_port), 30) as sandbox:
            sandbox.sendall(request)
            return LyingConnection(sandbox).request()

    def end(self) -> None:
        self.listener.close()


class LyingConnection:
    """One connection of the gateway."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.rest = connection, b""
        self.connection.settimeout(30)
        self.taken, self.is_over = 0, False

    def request(self) -> bytes:
        """The bytes of the next message with a Content-Length, or none at the end of the connection."""
        while (end := self.rest.find(b"\r\n\r\n")) < 0:
            if not self.receive():
                return b""
        length = 0
        for line in self.rest[:end].split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        while len(self.rest) < end + 4 + length:
            if not self.receive():
                return b""
        message, self.rest = self.rest[: end + 4 + length], self.rest[end + 4 + length :]
        return message

    def receive(self) -> bool:
        piece = self.connection.recv(1 << 20)
        self.rest += piece
        return bool(piece)

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


ID = b"x-log-requestid: 5642FC2399248C8F7B0145FD\r\n"
OK = b"HTTP/1.1 200 OK\r\n"


def sends(text: bytes, and_closes: bool = True) -> InvalidAnswer:
    """Sends a fixed text, then closes or keeps the connection."""

    def answer(connection: LyingConnection, request: bytes, server: LyingServer) -> None:
        connection.say(text)
        if and_closes:
            connection.close()

    return answer


def never_ends(begin: bytes, again: bytes, pause: float = 0.0) -> InvalidAnswer:
    """Begins an answer and never ends it."""

    def answer(connection: LyingConnection, request: bytes, server: LyingServer) -> None:
        connection.say(begin)
        connection.repeat(again, pause)

    return answer


def body(status: bytes, content: bytes, *fields: bytes) -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(content), *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + content


def no_answer(connection: LyingConnection, request: bytes, server: LyingServer) -> None:
    connection.wait()


def resets(connection: LyingConnection, request: bytes, server: LyingServer) -> None:
    connection.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def half_and_silence(connection: LyingConnection, request: bytes, server: LyingServer) -> None:
    connection.say(OK + ID + b"Content-Length: 10\r\n\r\n12345")
    connection.wait()


def answers_next_request_too(connection: LyingConnection, request: bytes, server: LyingServer) -> None:
    """Stores the request, and sends its answer together with a second one, for a request that has not arrived."""
    answer = server.forward(request)
    connection.say(answer + OK + ID + b"Content-Length: 0\r\n\r\n")
    if not connection.closes_within(1.0):
        connection.is_over = True
        return
    second = connection.request()
    if second:
        # The second request came on the same connection, after its answer. Nothing stores it here.
        connection.wait()


def wrong_time(seconds: int) -> InvalidAnswer:
    """SLS is busy, and its answer tells a wrong time."""
    return sends(
        body(b"503 Busy", b'{"errorCode":"ServerBusy","errorMessage":""}', ID[:-2], b"x-log-time: %d" % seconds), False
    )


def redirect(status: bytes) -> InvalidAnswer:
    def answer(connection: LyingConnection, request: bytes, server: LyingServer) -> None:
        place = b"Location: http://127.0.0.1:%d/logstores/lies/shards/lb" % server.trap
        connection.say(body(status, b"", place, ID[:-2]))

    return answer


PAGE = b"<html><body>Please accept the conditions of this network.</body></html>"
BOMB = gzip.compress(gzip.compress(b"\0" * (64 << 20), 1), 9)
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
    "no answer": no_answer,
    "half an answer, then nothing": half_and_silence,
    "a length that is too long": sends(OK + ID + b"Content-Length: 1000\r\n\r\nshort"),
    "a length that is negative": sends(OK + ID + b"Content-Length: -1\r\n\r\n"),
    # libcurl ignores such a length.
    "a length of 2^64": sends(OK + ID + b"Content-Length: 18446744073709551616\r\n\r\n"),
    "two lengths": sends(OK + ID + b"Content-Length: 1000\r\nContent-Length: 0\r\n\r\n"),
    "a length behind a blank": sends(OK + ID + b"Content-Length : 18446744073709551616\r\n\r\n"),
    "an answer for the next request": answers_next_request_too,
    "closed at once": sends(b""),
    "reset": resets,
    "garbage": sends(bytes(range(256)) * 64),
    "HTTP/0.9": sends(PAGE),
    "HTTP/9": sends(b"HTTP/9.9 200 OK\r\n" + ID + b"\r\n"),
    "a login page": sends(body(b"200 OK", PAGE, b"Content-Type: text/html"), False),
    "200 with no id": sends(body(b"200 OK", b""), False),
    "200 with an endless id": sends(body(b"200 OK", b"", b"x-log-requestid: " + b"A" * 4000), False),
    "200 with an empty id": sends(body(b"200 OK", b"", b"x-log-requestid: "), False),
    "201": sends(body(b"201 Created", b"", ID[:-2]), False),
    "204": sends(b"HTTP/1.1 204 No Content\r\n" + ID + b"\r\n", False),
    "206": sends(body(b"206 Partial", b"", ID[:-2]), False),
    "101": sends(b"HTTP/1.1 101 Switching Protocols\r\n" + ID + b"Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
    "redirect 301": redirect(b"301 Moved"),
    "redirect 302": redirect(b"302 Found"),
    "redirect 307": redirect(b"307 Temporary"),
    "redirect 308": redirect(b"308 Permanent"),
    "a bomb of gzip": sends(body(b"500 Oh", BOMB, ID[:-2], b"Content-Encoding: gzip"), False),
    "an error of 15,000 brackets": sends(body(b"500 Oh", DEEP, ID[:-2]), False),
    "an error that is not text": sends(
        body(b"500 Oh", b'{"errorCode":"\xff\xfe\x00","errorMessage":"\x1b[2J"}', ID[:-2]), False
    ),
    "a time 5 h ahead": lambda connection, request, server: wrong_time(server.now + 5 * 3600)(
        connection, request, server
    ),
    "a time of 2105": wrong_time(4294967000),
    "an invalid time": sends(
        body(b"503 Busy", b"", ID[:-2], b"x-log-time: 99999999999999999999", b"Date: yesterday"), False
    ),
    "a leap second": sends(body(b"503 Busy", b"", ID[:-2], b"Date: Thu, 31 Dec 2026 23:59:60 GMT"), False),
    "an absurd Retry-After": sends(body(b"503 Busy", b"", b"Retry-After: 99999999999"), False),
}

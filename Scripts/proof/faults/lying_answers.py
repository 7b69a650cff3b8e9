"""Invalid answers of a server in SLS's place. Each is a function of the connection, the request and the server."""

import gzip
import socket
import struct

from proof.faults.lying_server import InvalidAnswer, LyingConnection, LyingServer

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

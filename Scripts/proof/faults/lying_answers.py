"""Invalid answers of a server in SLS's place. Each is a function of the connection, the request and the server."""

import gzip
import socket
import struct

from proof.faults.lying_server import Lie, LyingConnection, LyingServer

ID = b"x-log-requestid: 5642FC2399248C8F7B0145FD\r\n"
OK = b"HTTP/1.1 200 OK\r\n"


def says(text: bytes, and_closes: bool = True) -> Lie:
    """Sends a fixed text, then closes or keeps the connection."""

    def tale(talk: LyingConnection, request: bytes, liar: LyingServer) -> None:
        talk.say(text)
        if and_closes:
            talk.close()

    return tale


def goes_on(begin: bytes, again: bytes, pause: float = 0.0) -> Lie:
    """Begins an answer and never ends it."""

    def tale(talk: LyingConnection, request: bytes, liar: LyingServer) -> None:
        talk.say(begin)
        talk.repeat(again, pause)

    return tale


def body(status: bytes, content: bytes, *fields: bytes) -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(content), *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + content


def never(talk: LyingConnection, request: bytes, liar: LyingServer) -> None:
    talk.wait()


def resets(talk: LyingConnection, request: bytes, liar: LyingServer) -> None:
    talk.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    talk.close()


def half_and_silence(talk: LyingConnection, request: bytes, liar: LyingServer) -> None:
    talk.say(OK + ID + b"Content-Length: 10\r\n\r\n12345")
    talk.wait()


def answers_the_next_one_too(talk: LyingConnection, request: bytes, liar: LyingServer) -> None:
    """Stores the request, and sends its answer together with a second one, for a request that has not arrived."""
    answer = liar.handed_on(request)
    talk.say(answer + OK + ID + b"Content-Length: 0\r\n\r\n")
    if not talk.is_left(1.0):
        talk.is_over = True
        return
    second = talk.request()
    if second:
        # The second request came on the same connection, after its answer. Nothing stores it here.
        talk.wait()


def told_time(seconds: int) -> Lie:
    """SLS is busy, and its answer tells a wrong time."""
    return says(
        body(b"503 Busy", b'{"errorCode":"ServerBusy","errorMessage":""}', ID[:-2], b"x-log-time: %d" % seconds), False
    )


def redirect(status: bytes) -> Lie:
    def tale(talk: LyingConnection, request: bytes, liar: LyingServer) -> None:
        place = b"Location: http://127.0.0.1:%d/logstores/lies/shards/lb" % liar.trap
        talk.say(body(status, b"", place, ID[:-2]))

    return tale


PAGE = b"<html><body>Please accept the conditions of this network.</body></html>"
BOMB = gzip.compress(gzip.compress(b"\0" * (64 << 20), 1), 9)
DEEP = b'{"errorCode":' + b"[" * 15000

ANSWERS = {
    "a huge body": goes_on(OK + ID + b"Content-Length: 10737418240\r\n\r\n", b"x" * 65536),
    "a body without end": goes_on(OK + ID + b"\r\n", b"x" * 65536),
    "chunks without end": goes_on(OK + ID + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n"),
    "a trailer without end": goes_on(OK + ID + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"A: b\r\n" * 1000),
    "a chunk of 2^64": says(OK + ID + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nx"),
    "a chunk of -1": says(OK + ID + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nx"),
    "headers without end": goes_on(OK + ID, b"X-Header: value\r\n" * 1000),
    "a header without end": goes_on(OK + ID + b"X: ", b"x" * 65536),
    "a status line without end": goes_on(b"HTTP/1.1 200 ", b"K" * 65536),
    "100 Continue without end": goes_on(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    "103 with headers without end": goes_on(b"", b"HTTP/1.1 103 Early Hints\r\n" + ID + b"Link: x\r\n\r\n"),
    "a head by drops": goes_on(b"", b"H", 0.2),
    "headers by drops": goes_on(OK + ID, b"X: y\r\n", 0.2),
    "a body by drops": goes_on(OK + ID + b"Content-Length: 100000\r\n\r\n", b"x", 0.2),
    "100 Continue by drops": goes_on(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.2),
    "no answer": never,
    "half an answer, then nothing": half_and_silence,
    "a length that is too long": says(OK + ID + b"Content-Length: 1000\r\n\r\nshort"),
    "a length that is negative": says(OK + ID + b"Content-Length: -1\r\n\r\n"),
    # libcurl ignores such a length.
    "a length of 2^64": says(OK + ID + b"Content-Length: 18446744073709551616\r\n\r\n"),
    "two lengths": says(OK + ID + b"Content-Length: 1000\r\nContent-Length: 0\r\n\r\n"),
    "a length behind a blank": says(OK + ID + b"Content-Length : 18446744073709551616\r\n\r\n"),
    "an answer for the next request": answers_the_next_one_too,
    "closed at once": says(b""),
    "reset": resets,
    "garbage": says(bytes(range(256)) * 64),
    "HTTP/0.9": says(PAGE),
    "HTTP/9": says(b"HTTP/9.9 200 OK\r\n" + ID + b"\r\n"),
    "a login page": says(body(b"200 OK", PAGE, b"Content-Type: text/html"), False),
    "200 with no id": says(body(b"200 OK", b""), False),
    "200 with an endless id": says(body(b"200 OK", b"", b"x-log-requestid: " + b"A" * 4000), False),
    "200 with an empty id": says(body(b"200 OK", b"", b"x-log-requestid: "), False),
    "201": says(body(b"201 Created", b"", ID[:-2]), False),
    "204": says(b"HTTP/1.1 204 No Content\r\n" + ID + b"\r\n", False),
    "206": says(body(b"206 Partial", b"", ID[:-2]), False),
    "101": says(b"HTTP/1.1 101 Switching Protocols\r\n" + ID + b"Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n"),
    "redirect 301": redirect(b"301 Moved"),
    "redirect 302": redirect(b"302 Found"),
    "redirect 307": redirect(b"307 Temporary"),
    "redirect 308": redirect(b"308 Permanent"),
    "a bomb of gzip": says(body(b"500 Oh", BOMB, ID[:-2], b"Content-Encoding: gzip"), False),
    "an error of 15,000 brackets": says(body(b"500 Oh", DEEP, ID[:-2]), False),
    "an error that is not text": says(
        body(b"500 Oh", b'{"errorCode":"\xff\xfe\x00","errorMessage":"\x1b[2J"}', ID[:-2]), False
    ),
    "a time 5 h ahead": lambda talk, request, liar: told_time(liar.now + 5 * 3600)(talk, request, liar),
    "a time of 2105": told_time(4294967000),
    "a time of nobody": says(
        body(b"503 Busy", b"", ID[:-2], b"x-log-time: 99999999999999999999", b"Date: yesterday"), False
    ),
    "a leap second": says(body(b"503 Busy", b"", ID[:-2], b"Date: Thu, 31 Dec 2026 23:59:60 GMT"), False),
    "Retry-After of nobody": says(body(b"503 Busy", b"", b"Retry-After: 99999999999"), False),
}

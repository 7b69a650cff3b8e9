"""Requests about whose end two programs may disagree.

Each case is a function of two bodies: that of the request, and that of a request hidden in it. A valid request follows on
the same connection.
"""

from collections.abc import Callable

# Builds a request from its own body and that of the hidden request.
Case = Callable[[bytes, bytes], bytes]


def post(
    body: bytes, *fields: bytes, line: bytes = b"POST /logs/edge?on_error=refuse HTTP/1.1", length: bool = True
) -> bytes:
    """A valid request, except for the given fields and line."""
    lines = [line, b"Host: edge.example", *fields]
    if length:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def framed(framing: list[bytes], body: bytes) -> bytes:
    return post(body, *framing, length=False)


def chunk(body: bytes, extension: bytes = b"", end: bytes = b"\r\n") -> bytes:
    return b"%x%s%s%s%s" % (len(body), extension, end, body, end)


CHUNKED = b"Transfer-Encoding: chunked"
LAST = b"0\r\n\r\n"
BY_1_0 = b"POST /logs/edge?on_error=refuse HTTP/1.0"
NOWHERE = b"POST /nowhere HTTP/1.1"


def length_before_chunks(*transfer_encoding: bytes) -> Case:
    """The hidden request is a body by the length, and the next request by the chunks."""

    def case(body: bytes, hidden: bytes) -> bytes:
        content = chunk(body) + LAST + post(hidden)
        return framed([b"Content-Length: %d" % len(content), *transfer_encoding], content)

    return case


def chunks_before_length(*transfer_encoding: bytes) -> Case:
    """The reverse: the hidden request is in a chunk, after the end according to the length."""

    def case(body: bytes, hidden: bytes) -> bytes:
        first = b"%x\r\n" % len(post(hidden))
        content = first + post(hidden) + b"\r\n" + LAST
        return framed([*transfer_encoding, b"Content-Length: %d" % len(first)], content)

    return case


def lengths(*texts: bytes) -> Case:
    """Several lengths, or unusual ones: %d is the length of the body, %h that of the body and the hidden request."""

    def case(body: bytes, hidden: bytes) -> bytes:
        behind = post(hidden)
        fields = [
            b"Content-Length: " + text.replace(b"%d", b"%d" % len(body)).replace(b"%h", b"%d" % len(body + behind))
            for text in texts
        ]
        return framed(fields, body + behind)

    return case


def chunks(content: Case) -> Case:
    """A chunked request whose body is `content(body, hidden)`."""
    return lambda body, hidden: framed([CHUNKED], content(body, post(hidden)))


def field(*fields: bytes) -> Case:
    return lambda body, hidden: post(body, *fields)


def line(text: bytes) -> Case:
    return lambda body, hidden: post(body, line=text)


TRANSFER_ENCODINGS = {
    "plain": [CHUNKED],
    "twice": [CHUNKED, CHUNKED],
    "and another": [CHUNKED, b"Transfer-Encoding: cow"],
    "another first": [b"Transfer-Encoding: cow", CHUNKED],
    "identity behind": [b"Transfer-Encoding: chunked, identity"],
    "identity before": [b"Transfer-Encoding: identity, chunked"],
    "gzip before": [b"Transfer-Encoding: gzip, chunked"],
    "x": [b"Transfer-Encoding: xchunked"],
    "capitals": [b"tRANSFER-eNCODING: cHUNKED"],
    "tab": [b"Transfer-Encoding:\tchunked"],
    "vertical tab": [b"Transfer-Encoding: \x0bchunked"],
    "space before the colon": [b"Transfer-Encoding : chunked"],
    "tab before the colon": [b"Transfer-Encoding\t: chunked"],
    "space before the name": [b" Transfer-Encoding: chunked"],
    "underscore": [b"Transfer_Encoding: chunked"],
    "folded": [b"Transfer-Encoding:\r\n chunked"],
    "folded by LF": [b"Transfer-Encoding:\n chunked"],
    "behind a bare LF": [b"X: x\nTransfer-Encoding: chunked"],
    "behind a bare CR": [b"X: x\rTransfer-Encoding: chunked"],
    "parameter": [b"Transfer-Encoding: chunked;q=1"],
    "quoted": [b'Transfer-Encoding: "chunked"'],
    "empty": [b"Transfer-Encoding:"],
    "comma": [b"Transfer-Encoding: chunked,"],
    "NUL": [b"Transfer-Encoding: chunked\x00"],
    "high byte": [b"Transfer-Encoding: chunked\xff"],
    "hop by hop": [b"Connection: transfer-encoding", CHUNKED],
}

LENGTHS = {
    "twice the same": [b"%d", b"%d"],
    "twice, the second longer": [b"%d", b"%h"],
    "twice, the first longer": [b"%h", b"%d"],
    "list of the same": [b"%d, %d"],
    "list": [b"%d, %h"],
    "plus": [b"+%d"],
    "minus": [b"-%d"],
    "hexadecimal": [b"0x%d"],
    "leading zeros": [b"000%d"],
    "leading zero, hidden behind": [b"0%h"],
    "two numbers": [b"%d %h"],
    "underscore": [b"%d_0"],
    "fraction": [b"%d.0"],
    "exponent": [b"%de0"],
    "too large": [b"18446744073709551616"],
    "overflow": [b"1844674407370955%h"],
    "empty": [b""],
    "letters": [b"%da"],
    "NUL": [b"%d\x00"],
    "tab": [b"\t%d\t"],
    "vertical tab": [b"\x0b%d"],
    "quoted": [b'"%d"'],
}

CASES: dict[str, Case] = {
    **{f"length and chunks, {name}": length_before_chunks(*fields) for name, fields in TRANSFER_ENCODINGS.items()},
    **{f"chunks and length, {name}": chunks_before_length(*fields) for name, fields in TRANSFER_ENCODINGS.items()},
    **{
        f"chunks, {name}": (lambda fields: lambda body, hidden: framed(fields, chunk(body) + LAST))(fields)
        for name, fields in TRANSFER_ENCODINGS.items()
    },
    **{f"length, {name}": lengths(*texts) for name, texts in LENGTHS.items()},
    "chunk with extension": chunks(lambda body, hidden: chunk(body, b";a=b") + LAST),
    "chunk with quoted extension": chunks(lambda body, hidden: chunk(body, b';a="b;\\"c"') + LAST),
    "extension with LF": chunks(lambda body, hidden: chunk(body, b";a\n") + LAST),
    "extension with CR": chunks(lambda body, hidden: chunk(body, b";a\rb") + LAST),
    "extension hides a chunk": chunks(lambda body, hidden: chunk(body, b";\n" + LAST + hidden) + LAST),
    "LF ends the lines of chunks": chunks(lambda body, hidden: chunk(body, end=b"\n") + b"0\n\n"),
    "LF ends the last chunk": chunks(lambda body, hidden: chunk(body) + b"0\n\n" + hidden),
    "CR ends the lines of chunks": chunks(lambda body, hidden: chunk(body, end=b"\r") + b"0\r\r"),
    "chunk size with 0x": chunks(lambda body, hidden: b"0x" + chunk(body) + LAST),
    "chunk size with plus": chunks(lambda body, hidden: b"+" + chunk(body) + LAST),
    "chunk size with minus": chunks(lambda body, hidden: b"-" + chunk(body) + LAST),
    "chunk size behind a space": chunks(lambda body, hidden: b" " + chunk(body) + LAST),
    "chunk size before a space": chunks(lambda body, hidden: chunk(body, b" ") + LAST),
    "chunk size with an underscore": chunks(lambda body, hidden: b"0_" + chunk(body) + LAST),
    "chunk size with zeros": chunks(lambda body, hidden: b"0000" + chunk(body) + b"0000\r\n\r\n"),
    "chunk size with many zeros": chunks(lambda body, hidden: b"0" * 64 + chunk(body) + LAST),
    "chunk size of 2^64": chunks(lambda body, hidden: b"1" + b"0" * 14 + chunk(body) + LAST + hidden),
    "chunk size empty": chunks(lambda body, hidden: b"\r\n" + body + b"\r\n" + LAST),
    "chunk shorter than it says": chunks(lambda body, hidden: b"%x\r\n" % (len(body) + 2) + body + b"\r\n" + LAST),
    "chunk longer than it says": chunks(lambda body, hidden: b"%x\r\n" % (len(body) - 2) + body + b"\r\n" + LAST),
    "no end of the chunk": chunks(lambda body, hidden: b"%x\r\n" % len(body) + body + LAST + hidden),
    "other bytes end the chunk": chunks(lambda body, hidden: b"%x\r\n" % len(body) + body + b"XX" + LAST + hidden),
    "trailer": chunks(lambda body, hidden: chunk(body) + b"0\r\nX-Checksum: 1\r\n\r\n"),
    "trailer with a length": chunks(lambda body, hidden: chunk(body) + b"0\r\nContent-Length: 99\r\n\r\n"),
    "trailer is a request": chunks(lambda body, hidden: chunk(body) + b"0\r\n" + hidden),
    "trailer with LF": chunks(lambda body, hidden: chunk(body) + b"0\r\nX: y\n\n" + hidden),
    "many chunks": chunks(lambda body, hidden: b"".join(chunk(body[at : at + 1]) for at in range(len(body))) + LAST),
    "chunks by HTTP/1.0": lambda body, hidden: post(chunk(body) + LAST, CHUNKED, line=BY_1_0, length=False),
    "length by HTTP/1.0 kept alive": lambda body, hidden: post(body, b"Connection: keep-alive", line=BY_1_0),
    "no length at all": lambda body, hidden: post(body, length=False),
    "no length, hidden behind": lambda body, hidden: post(post(hidden), length=False),
    "GET with a body": lambda body, hidden: post(post(hidden), line=b"GET /healthz HTTP/1.1"),
    "HEAD with a body": lambda body, hidden: post(post(hidden), line=b"HEAD /healthz HTTP/1.1"),
    "OPTIONS with a body": lambda body, hidden: post(post(hidden), line=b"OPTIONS /logs/edge?on_error=refuse HTTP/1.1"),
    "refused with a body": lambda body, hidden: post(post(hidden), line=NOWHERE),
    "refused with chunks": lambda body, hidden: post(chunk(post(hidden)) + LAST, CHUNKED, line=NOWHERE, length=False),
    "body too large": lambda body, hidden: framed([b"Content-Length: 99999999"], post(hidden)),
    "expectation": field(b"Expect: 100-continue"),
    "unknown expectation": field(b"Expect: 100-continuez"),
    "refused expectation": lambda body, hidden: post(post(hidden), b"Expect: 100-continue", line=NOWHERE),
    "upgrade to h2c": field(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk"),
    "upgrade to a socket": field(b"Connection: Upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Version: 13"),
    "hop by hop length": field(b"Connection: close, Content-Length"),
    "hop by hop host": field(b"Connection: Host"),
    "LF ends the lines": lambda body, hidden: post(body).replace(b"\r\n", b"\n"),
    "LF ends the head": lambda body, hidden: post(b"X\r\n\r\n" + body, length=False).replace(b"\r\n\r\nX", b"\n\nX"),
    "blank lines before": lambda body, hidden: b"\r\n\r\n" + post(body),
    "fold": field(b"X-Fold: a\r\n b"),
    "fold in the length": lambda body, hidden: framed([b"Content-Length:\r\n %d" % len(body)], body),
    "fold of the first line": lambda body, hidden: post(
        body, line=b"POST /logs/edge?on_error=refuse HTTP/1.1\r\n X: y"
    ),
    "NUL in a field": field(b"X: a\x00b"),
    "CR in a field": field(b"X: a\rContent-Length: 0"),
    "field without a colon": field(b"Nothing"),
    "field without a name": field(b": nothing"),
    "field with a space in its name": field(b"X Y: z"),
    "length with a space before the colon": lambda body, hidden: framed([b"Content-Length : %d" % len(body)], body),
    "two hosts": field(b"Host: other.example"),
    "host with a port and a path": line(b"POST http://other.example:80/logs/edge?on_error=refuse HTTP/1.1"),
    "absolute form of another host": line(b"POST http://other.example/logs/edge?on_error=refuse HTTP/1.1"),
    "target with a space": line(b"POST /logs/ed ge?on_error=refuse HTTP/1.1"),
    "target with an encoded line": line(b"POST /logs/edge%0d%0aX:%20y HTTP/1.1"),
    "target with a NUL": line(b"POST /logs/edge\x00 HTTP/1.1"),
    "target with a fragment": line(b"POST /logs/edge#x HTTP/1.1"),
    "tabs in the line": line(b"POST\t/logs/edge?on_error=refuse\tHTTP/1.1"),
    "two spaces in the line": line(b"POST  /logs/edge?on_error=refuse  HTTP/1.1"),
    "space behind the line": line(b"POST /logs/edge?on_error=refuse HTTP/1.1 "),
    "HTTP/1.10": line(b"POST /logs/edge?on_error=refuse HTTP/1.10"),
    "HTTP/2.0": line(b"POST /logs/edge?on_error=refuse HTTP/2.0"),
    "HTTP/0.9": lambda body, hidden: b"POST /logs/edge?on_error=refuse\r\n\r\n",
    "small letters": line(b"post /logs/edge?on_error=refuse HTTP/1.1"),
    "method override": field(b"X-HTTP-Method-Override: GET", b"X-Original-URL: /nowhere"),
    "nothing strange": lambda body, hidden: post(body),
    "two in one": lambda body, hidden: post(body) + post(hidden),
}

"""Pieces of costly bodies: names and values that are hard to read, repeated as often as they fit."""

from collections.abc import Callable
from typing import Any

from harness.encodings import field

Genes = dict[str, Any]
# Path, body and header fields.
Built = tuple[str, bytes | None, list[str]]
# For each dialect the function that builds a request, and the choices for each gene.
Dialects = dict[str, tuple[Callable[[Genes], Built], dict[str, Any]]]

# Bytes of a body: limits.body and limits.inflated_body, and the most that a loop handles itself.
LARGE, SHORT = 10 << 20, 1 << 20
_size = LARGE


def size() -> int:
    """The bytes of the body under construction."""
    return _size


def set_size(bytes_max: int) -> None:
    global _size
    _size = bytes_max


COMBINING = [chr(code).encode() for code in range(0x300, 0x370)]

# Sources of names: one text, a format for numbers, or a list of texts. All names of one kind have the same length.
NAMES: dict[str, bytes | list[bytes]] = {
    "same": b"a",
    "hex": b"%05x",
    "empty": b"",
    "long": b"%0120x",
    "alike": b"z" * 50 + b"%020x" + b"z" * 50,
    "cut": b"%0140x",
    "cut alike": b"y" * 160,
    "reserved": b"__topic__",
    "time": b"__time__",
    "mark": b"__truncated__",
    "hidden": b"_%05x",
    "few": [b"%04x" % number for number in range(8192)],
    "marks": [one + other for one in COMBINING for other in COMBINING],
    "many marks": [
        b"".join(COMBINING[(number * 31 + each * (7 + number // 112)) % 112] for each in range(60))
        for number in range(4096)
    ],
    "hangul": [chr(0xAC00 + number).encode() for number in range(11_000)],
}
HOLE = b"\xf9\xf8"


def width(kind: str) -> int:
    form = NAMES[kind]
    return len(form[0] if isinstance(form, list) else form % 0 if b"%" in form else form)


def many(
    kind: str,
    wrap: Callable[[bytes], bytes],
    count: int = 1 << 30,
    between: bytes = b"",
    limit: int | None = None,
    spare: int = 0,
    first: int = 0,
) -> bytes:
    """Up to `count` pieces, as many as fit the body under construction, or `limit` bytes, but for `spare` ones. `wrap` makes
    a piece from a name; all pieces have the same length."""
    limit = (size() if limit is None else limit) - spare
    form, hole = NAMES[kind], (HOLE * 80)[: width(kind)]
    piece = wrap(hole)
    step = len(piece) + len(between)
    count = min(count, (limit + len(between)) // step)
    has_hole = hole != b"" and hole in piece
    if isinstance(form, bytes) and has_hole and b"%" not in form:
        piece, has_hole = piece.replace(hole, form), False
    if not has_hole:
        return repeated(piece, between, count * step - len(between)) if count else b""
    if isinstance(form, bytes):
        numbered = piece.replace(b"%", b"%%").replace(hole, form)
        return between.join(map(numbered.__mod__, range(first, first + count)))
    names = form[first % len(form) :] + form[: first % len(form)]
    block = between.join(piece.replace(hole, name) for name in names[:count]) + between
    return (block * (count // len(form) + 1))[: count * step - len(between)] if count else b""


def name(kind: str, number: int) -> bytes:
    form = NAMES[kind]
    return form[number % len(form)] if isinstance(form, list) else form % number if b"%" in form else form


# Values as JSON, and below the same ideas as plain text for the other formats.
VALUES = {
    "zero": b"0",
    "empty": b'""',
    "null": b"null",
    "word": b'"value"',
    "number": b"-1.5e-7",
    "text": b'"' + b"x" * 200 + b'"',
    "escapes": b'"' + b"\\n" * 100 + b'"',
    "scalars": b'"' + b"\\u00e9" * 40 + b'"',
    "pairs": b'"' + b"\\ud83d\\ude00" * 20 + b'"',
    "late escape": b'"' + b"x" * 200 + b'\\n"',
    "marks": b'"' + b"".join(COMBINING[:100]) + b'"',
    "wide": b"[" + b"0," * 50 + b"0]",
    "objects": b"[" + b'{"a":0},' * 20 + b"{}]",
    "deep": b"[" * 50 + b"]" * 50,
    "date": b'"2025-01-14T08:30:00.123456789+08:00"',
    "long": b'"' + b"x" * 70_000 + b'"',
    "oversize": b'"' + b"x" * ((1 << 20) + 1) + b'"',
    "oversize marks": b'"' + b"\xcc\x80" * (1 << 19) + b'"',
    "blanks": b'   "x"   ',
    "letters": b'"xxxxxxxxxx"',
}
TEXTS = {
    "empty": b"",
    "letter": b"x",
    "byte": b"\xff",
    "word": b"value",
    "text": b"x" * 200,
    "marks": b"".join(COMBINING[:100]),
    "broken": b"\xff" * 100,
    "half broken": b"x\xff" * 60,
    "quotes": b'"\n' * 60,
    "controls": b"\x01" * 100,
    "long": b"x" * 70_000,
    "oversize": b"x" * ((1 << 20) + 1),
    "oversize broken": b"\xff" * ((1 << 20) + 1),
}
COUNTS = [1, 2, 4, 16, 63, 64, 65, 130, 1024, 1025, 8192, 70_000, 1 << 30]
CODINGS = [None, None, "gzip", "deflate", "zstd", "lz4"]


def repeated(piece: bytes, between: bytes = b"", limit: int | None = None, spare: int = 0) -> bytes:
    """One piece, repeated as often as it fits."""
    limit = (size() if limit is None else limit) - spare
    unit = piece + between
    return (unit * max(1, (limit + len(between)) // len(unit)))[: -len(between) or None]


def members(genes: Genes, count: int, limit: int | None = None, spare: int = 0) -> bytes:
    """Up to `count` members of a JSON object."""
    return many(genes["name"], lambda each: b'"' + each + b'":' + VALUES[genes["value"]], count, b",", limit, spare)


def pair(key: bytes, value: bytes) -> bytes:
    return field(1, key) + field(2, value)


# Choices that several dialects share.
MEMBERS: dict[str, Any] = {"name": list(NAMES), "value": list(VALUES)}

"""Request heads that try to reach another path, and heads that are far too long."""

from collections.abc import Iterator

# The target between POST and HTTP/1.1, and its expected status. A 200 must go to the logstore `tricks` and to no
# other.
TARGETS = {
    b"/logs/../admin/status": 404,
    b"/logs/%2e%2e/admin/status": 404,
    b"/%2e%2e/%2e%2e/etc/passwd": 404,
    b"/admin/status": 404,
    b"/metrics": 404,
    b"//logs/tricks": 404,
    b"/logs//tricks": 404,
    b"/logs/tricks/": 404,
    b"/logs/tricks/..": 404,
    b"/LOGS/tricks": 404,
    b"\\logs\\tricks": 400,
    b"/logs/tricks%00": 400,
    b"/logs/tricks%00.x": 400,
    b"/logs/tricks\0": 400,
    b"/logs/tricks%0d%0aX-Y:%20z": 400,
    b"/logs/tricks%2f..": 404,
    b"/logs/tricks%252f": 404,
    b"/logs/tricks;x=1": 404,
    b"/logs/tricks#x": 400,
    b"/logs/tricks?x=%00": 200,
    b"/logs/tricks?" + b"a=b&" * 1500: 200,
    b"/logs/%": 400,
    b"/logs/%zz": 400,
    b"/logs/tricks%ff": 400,
    b"/logs/tri\xc3\xa9": 400,
    b"/logs/.": 404,
    b"/logs/..": 404,
    b"/logs/" + b"t" * 7000: 400,
    b"/logs/" + b"t" * 9000: 414,
    b"/logs/" + b"../" * 1000 + b"tricks": 404,
    b"/logs/" + b"%2e" * 1000: 400,
    b"/logstores/../track": 404,
    b"/logstores/%2e%2e/track": 404,
    b"/logstores/a%2fb/track": 404,
    b"/logstores/tricks/shards/lb/../track": 404,
    b"http://evil.example/logs/tricks": 400,
    b"HTTP://evil.example:99/logs/tricks": 400,
    b"http://user:pw@gateway/logs/tricks": 400,
    b"http:///logs/tricks": 400,
    b"ftp://gateway/logs/tricks": 400,
    b"gateway:443": 400,
    b"*": 400,
    b"": 400,
    b"logs/tricks": 400,
    b"/logs/%74ricks": 200,
    b"/logs/tricks.%2e%2e.x": 200,
    b"http://gateway/logs/tricks": 200,
}

START = b"POST /logs/tricks HTTP/1.1\r\nHost: gateway\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"
HEADS = {
    "a field without end": (START + b"X: " + b"x" * (1 << 20), 431),
    "fields without end": (START + b"X: y\r\n" * 200_000, 431),
    "names of fields without end": (START + b"X" * (1 << 20), 431),
    "a line without end": (b"A" * (1 << 20), 414),
    "empty lines without end": (b"\r\n" * (1 << 19), 400),
    "a name of a host without end": (b"POST /logs/tricks HTTP/1.1\r\nHost: " + b"a." * (1 << 19), 431),
    "trailers without end": (CHUNKED + b"2\r\n{}\r\n0\r\n" + b"X: y\r\n" * 200_000, 400),
    "extensions of a chunk without end": (CHUNKED + b"2;" + b"x" * (1 << 20), 400),
}


def requests() -> Iterator[tuple[str, bytes, int]]:
    """Name, bytes and expected status."""
    body = b'{"path":"x"}'
    rest = b" HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    for target, status in TARGETS.items():
        yield f"POST {target[:40].decode('latin-1')!r}", b"POST " + target + rest, status
    for name, (head, status) in HEADS.items():
        yield name, head, status

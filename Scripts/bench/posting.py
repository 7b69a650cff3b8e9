"""Posts a fixed number of requests, so that instructions and system calls can be counted a request."""

import collections
import pathlib
import re
import selectors
import socket
from collections.abc import Iterator, Sequence

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def read(directory: pathlib.Path) -> list[bytes]:
    """Whole requests, each in a file of its own."""
    return [file.read_bytes() for file in sorted(directory.glob("*.request"))]


class Poster:
    """Connections that each post their next request when the last one is answered, as wrk does."""

    def __init__(self, port: int, connections: int) -> None:
        self.selector = selectors.DefaultSelector()
        self.connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(connections)]
        for connection in self.connections:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(connection, selectors.EVENT_READ, connection)

    def close(self) -> None:
        self.selector.close()
        for connection in self.connections:
            connection.close()

    def post(self, requests: Sequence[bytes], count: int) -> None:
        """Returns when all are answered, each with a 200."""
        next_request = (requests[number % len(requests)] for number in range(count))
        answers: dict[socket.socket, bytes] = collections.defaultdict(bytes)
        left = count
        for connection in self.connections:
            send_next(connection, next_request)
        while left:
            if not (events := self.selector.select(timeout=60)):
                raise TimeoutError("no request was answered for a minute")
            for key, _ in events:
                connection = key.data
                answers[connection] += connection.recv(65536)
                if is_whole(answers[connection]):
                    if not answers[connection].startswith(b"HTTP/1.1 200"):
                        raise ValueError(f"a request was refused: {answers[connection]!r}")
                    answers[connection] = b""
                    left -= 1
                    send_next(connection, next_request)


def send_next(connection: socket.socket, requests: Iterator[bytes]) -> None:
    if request := next(requests, None):
        connection.sendall(request)


def is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = LENGTH.search(head)
    if not answer:
        raise ConnectionError("the gateway closed a connection")
    return bool(end) and len(body) >= int(length[1] if length else 0)

"""A device on one connection, and the logs it writes: each has a name and a checksum of its own."""

import contextlib
import json
import socket
import typing
import zlib
from collections.abc import Iterable, Iterator
from random import Random

from harness.gateway import Log


class Message(typing.NamedTuple):
    """A complete HTTP message: its first line, its fields by small names, and where its body begins and ends."""

    first: str
    fields: dict[str, str]
    begin: int
    end: int

    @property
    def status(self) -> int:
        return int(self.first.split(" ", 2)[1])


def message(text: bytes) -> Message | None:
    """The message at the beginning of the text, once all of it is there."""
    if (end := text.find(b"\r\n\r\n")) < 0:
        return None
    first, *lines = text[:end].decode("latin-1").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    size = end + 4 + int(fields.get("content-length", "0"))
    return Message(first, fields, end + 4, size) if len(text) >= size else None


def exchange(port: int, sent: bytes, address: str = "127.0.0.1", seconds: float = 60) -> Iterator[bytes]:
    """Sends as much as the server takes, and yields what it answers until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), seconds, (address, 0)) as connection:
        # A server that has answered and closed takes no more; its answer may still be readable.
        with contextlib.suppress(OSError):
            connection.sendall(sent)
        while piece := connection.recv(1 << 20):
            yield piece


class ConnectionLost(Exception):
    """The connection ended before the answer arrived, so it is unknown whether the logs are stored."""


class Device:
    def __init__(self, port: int, seconds: float = 10, address: str = "127.0.0.1", host: str = "gateway") -> None:
        self.host = host
        self.socket = socket.create_connection(("127.0.0.1", port), seconds, (address, 0))
        # On a port without a listener, a connection can get that very port as its own and connect to itself.
        if self.socket.getsockname() == self.socket.getpeername():
            self.socket.close()
            raise ConnectionRefusedError(f"port {port} has no listener; the connection met itself")
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def post(self, path: str, body: bytes, *fields: str) -> tuple[int, bytes]:
        try:
            self.socket.sendall(request(path, body, *fields, host=self.host))
            return self.answer()
        except OSError as error:
            raise ConnectionLost(str(error)) from error

    def get(self, path: str) -> int:
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nhost: {self.host}\r\n\r\n".encode())
        return self.answer()[0]

    def answer(self) -> tuple[int, bytes]:
        while not (found := message(self.rest)):
            if not (piece := self.socket.recv(65536)):
                raise ConnectionLost("the connection was closed")
            self.rest += piece
        body, self.rest = self.rest[found.begin : found.end], self.rest[found.end :]
        return found.status, body

    def close(self) -> None:
        self.socket.close()


def post_once(
    port: int, path: str, body: bytes, *fields: str, seconds: float = 30, address: str = "127.0.0.1"
) -> tuple[int, bytes]:
    """As `Device.post`, on a connection of its own."""
    with contextlib.closing(Device(port, seconds, address)) as device:
        return device.post(path, body, *fields)


def request(path: str, body: bytes | None, *fields: str, host: str = "gateway", method: str = "POST") -> bytes:
    length = [] if body is None else [f"Content-Length: {len(body)}"]
    head = [f"{method} {path} HTTP/1.1", f"Host: {host}", *length, *fields, "", ""]
    return "\r\n".join(head).encode("latin-1") + (body or b"")


def log(name: str, random: Random, size: int = 60, noise: str | None = None) -> Log:
    """A log with a name, random noise unless it is given, and a checksum over both, so that any alteration shows."""
    noise = noise or f"{random.getrandbits(4 * size):x}"
    return {"name": name, "noise": noise, "sum": str(zlib.crc32(f"{name}/{noise}".encode()))}


def is_whole(log: Log) -> bool:
    return log.get("sum") == str(zlib.crc32(f"{log.get('name')}/{log.get('noise')}".encode()))


def body(logs: Iterable[Log]) -> bytes:
    return "\n".join(json.dumps(log) for log in logs).encode()

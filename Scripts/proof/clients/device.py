"""A device on one connection, and the logs it writes: each has a name and a checksum of its own."""

import json
import socket
import zlib
from collections.abc import Iterable
from random import Random

from harness.gateway import Log


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
        """Status and body of the answer."""
        try:
            self.socket.sendall(request(path, body, *fields, host=self.host))
            return self.answer()
        except OSError as error:
            raise ConnectionLost(str(error)) from error

    def answer(self) -> tuple[int, bytes]:
        while (end := self.rest.find(b"\r\n\r\n")) < 0:
            self.more()
        head, self.rest = self.rest[:end].decode("latin-1"), self.rest[end + 4 :]
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:])
        length = int(fields.get("content-length", "0"))
        while len(self.rest) < length:
            self.more()
        body, self.rest = self.rest[:length], self.rest[length:]
        return int(head.split(" ", 2)[1]), body

    def more(self) -> None:
        piece = self.socket.recv(65536)
        if not piece:
            raise ConnectionLost("the connection was closed")
        self.rest += piece

    def close(self) -> None:
        self.socket.close()


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

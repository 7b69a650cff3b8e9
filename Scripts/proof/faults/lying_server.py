"""A server in SLS's place that gives invalid answers to some requests, and passes the others on to the sandbox."""

import select
import socket
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

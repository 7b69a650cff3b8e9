"""A log server, the target of a destination of kind http. It stores requests, and answers some of them badly."""

from __future__ import annotations

import gzip
import http.server
import json
import threading
import time
from email.message import Message
from random import Random

from harness.gateway import Log

# What becomes of half of the requests. The first three store them, though the gateway cannot know it.
STORING = ["500 stored", "lost", "late"]
MODES = [*STORING, "429", "500", "closed"]
# Seconds: longer than the `send_timeout` of the gateways.
LATE = 2.5


class LogServer:
    """Keeps the logs in the order of their arrival, each with the `Idempotency-Key` of its request."""

    def __init__(self, random: Random) -> None:
        self.random, self.mode, self.disturbed = random, "open", 0
        self.stored: list[tuple[str, Log]] = []
        self.lock = threading.Lock()
        self.listener = Listener(self)
        self.port = self.listener.server_port
        self.is_running = True
        threading.Thread(target=self.listener.serve_forever, args=(0.05,), daemon=True).start()

    def logs(self) -> list[tuple[str, Log]]:
        with self.lock:
            return list(self.stored)

    def answer(self, head: Message[str, str], body: bytes) -> int | None:
        """The status, or None for a connection that closes without an answer."""
        with self.lock:
            mode = self.mode if self.random.random() < 0.5 else "open"
            self.disturbed += mode != "open"
            if mode in ("open", *STORING):
                content = gzip.decompress(body) if head["Content-Encoding"] == "gzip" else body
                lines = content.splitlines() if "ndjson" in head["Content-Type"] else None
                logs = json.loads(content) if lines is None else [json.loads(line) for line in lines]
                self.stored += [(head["Idempotency-Key"], log) for log in logs]
        if mode == "late":
            time.sleep(LATE)
        if mode in ("lost", "closed"):
            return None
        return 200 if mode in ("open", "late") else int(mode.split()[0])

    def kill(self) -> None:
        if self.is_running:
            self.is_running = False
            self.listener.shutdown()
            self.listener.server_close()


class Listener(http.server.ThreadingHTTPServer):
    block_on_close = False
    request_queue_size = 128

    def __init__(self, server: LogServer) -> None:
        self.log_server = server
        super().__init__(("127.0.0.1", 0), RequestHandler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A killed gateway breaks its connections."""


class RequestHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Listener

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        status = self.server.log_server.answer(self.headers, body) if len(body) == length else None
        if status is None:
            self.close_connection = True
            return
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""

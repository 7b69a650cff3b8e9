"""Requests byte for byte, without a library that changes them."""

import http.client
import socket
from typing import Any

Answer = tuple[http.client.HTTPResponse, bytes]


def send(
    port: int, method: str, target: str, headers: dict[str, Any], body: bytes = b"", host: str = "shop.localhost"
) -> Answer:
    """Sends a request on a connection of its own. Returns the response and its body."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}:{port}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines) + "\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head.encode() + body)
        answer = http.client.HTTPResponse(connection, method=method)
        answer.begin()
        return answer, answer.read()


def taken(answered: Answer, what: str) -> Answer:
    """Requires a success, as the SDKs read it."""
    answer, body = answered
    assert answer.status == 200, f"{what}: {answer.status} {body!r}"
    assert len(answer.getheader("x-log-requestid", "")) == 24, f"{what}: no request id"
    return answer, body

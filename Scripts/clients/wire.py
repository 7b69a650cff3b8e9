"""Requests as they are, without a library that means well."""

import http.client
import os
import socket


def send(method, target, headers, body=b"", host="shop.localhost"):
    """Sends these bytes in a connection of their own; the answer and its body."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}:{os.environ['DEVICES']}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body or method == "POST":
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines) + "\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(os.environ["DEVICES"])), timeout=30) as connection:
        connection.sendall(head.encode() + body)
        answer = http.client.HTTPResponse(connection, method=method)
        answer.begin()
        return answer, answer.read()


def taken(answered, what):
    """Looks at an answer as the SDKs do."""
    answer, body = answered
    assert answer.status == 200, f"{what}: {answer.status} {body!r}"
    assert len(answer.getheader("x-log-requestid", "")) == 24, f"{what}: no request id"
    return answer, body

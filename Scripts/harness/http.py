"""One HTTP request to a listener on this machine."""

import urllib.error
import urllib.request
from typing import Any

# Proxy settings of the environment do not apply to this machine's own listeners.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(
    port: int,
    path: str,
    method: str = "GET",
    body: bytes | None = None,
    token: str | None = None,
    timeout: float = 30,
) -> bytes:
    """The body of the response. A body is sent as JSON, a token as `Authorization: Bearer`."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body, method=method)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    if body is not None:
        request.add_header("Content-Type", "application/json")
    with direct.open(request, timeout=timeout) as response:
        content: bytes = response.read()
        return content


def status_of(port: int, path: str, **options: Any) -> int:
    """As `ask`, for the status alone."""
    try:
        ask(port, path, **options)
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def port_of(address: str) -> int:
    return int(address.rsplit(":", 1)[1])

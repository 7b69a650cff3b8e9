"""Writes the requests that a load posts, each whole in a file of its own: `0.request`, `1.request` and so on."""

import base64
import gzip
import hashlib
import hmac
import json
import pathlib
import time
from collections.abc import Iterator

KEY = "bench-key-0123456789abcdef0123456789abcdef"
KEY_SETTINGS = f"devices: {{ keys: [{{ name: bench, key: {KEY} }}] }}\n"
JWT_SETTINGS = f"devices: {{ jwt: {{ algorithm: HS256, keys: [{{ kid: bench, secret: {KEY} }}] }} }}\n"


def token() -> str:
    """A JSON Web Token of an hour."""

    def encoded(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    parts = {"alg": "HS256", "kid": "bench"}, {"sub": "device", "exp": int(time.time()) + 3600}
    text = ".".join(encoded(json.dumps(part).encode()) for part in parts)
    return f"{text}.{encoded(hmac.digest(KEY.encode(), text.encode(), hashlib.sha256))}"


def written(form: str, bodies: list[bytes]) -> Iterator[bytes]:
    """The requests of a form: `json`, or with a key, compressed, over new connections, or with so many tags."""
    fields, paths, bodies = ["Content-Type: application/json"], ["/logs/bench"], list(bodies)
    if form == "gzip":
        fields.append("Content-Encoding: gzip")
        bodies = [gzip.compress(body, mtime=0) for body in bodies]
    elif form == "key":
        fields.append(f"x-sluice-key: {KEY}")
    elif form == "jwt":
        fields.append(f"Authorization: Bearer {token()}")
    elif form == "close":
        fields.append("Connection: close")
    elif form.startswith("tags "):
        paths = [f"/logs/device.{number}" for number in range(int(form.split()[1]))]
    elif form != "json":
        raise ValueError(f"no such form: {form}")
    for number in range(max(len(paths), len(bodies))):
        path, body = paths[number % len(paths)], bodies[number % len(bodies)]
        lines = [f"POST {path} HTTP/1.1", "Host: bench", *fields, f"Content-Length: {len(body)}"]
        yield "\r\n".join([*lines, "", ""]).encode() + body


def write(form: str, bodies: pathlib.Path, directory: pathlib.Path) -> None:
    texts = [(bodies / f"{number}.json").read_bytes() for number in range(len(list(bodies.glob("*.json"))))]
    directory.mkdir()
    for number, request in enumerate(written(form, texts)):
        (directory / f"{number}.request").write_bytes(request)

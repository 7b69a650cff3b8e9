"""Sends the corpus directly and through proxies, and compares what was stored with what was answered."""

import collections
import concurrent.futures
import json
import pathlib
import re
import socket
import subprocess
from collections.abc import Iterator

from edge import corpus
from harness.check import Check
from harness.gateway import Gateway
from harness.waiting import wait_until

NGINX = """
daemon off; user root; worker_processes 1; pid {work}/nginx.pid; error_log {work}/nginx.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {work}/nginx-body; proxy_temp_path {work}/nginx-proxy;
    fastcgi_temp_path {work}/nginx-fastcgi; uwsgi_temp_path {work}/nginx-uwsgi; scgi_temp_path {work}/nginx-scgi;
    upstream gateway {{ server 127.0.0.1:{port}; keepalive 2; }}
    proxy_http_version 1.1; proxy_set_header Connection ""; proxy_read_timeout 5s;
    server {{ listen unix:{work}/nginx; location / {{ proxy_pass http://gateway; }} }}
    server {{
        listen unix:{work}/nginx-streaming; ignore_invalid_headers off; underscores_in_headers on;
        location / {{ proxy_pass http://gateway; proxy_request_buffering off; proxy_next_upstream off; }}
    }}
}}
"""

# All clients share the connections to the gateway. The lenient frontend accepts requests that the strict one refuses.
HAPROXY = """
global
    maxconn 1000
defaults
    mode http
    timeout connect 5s
    timeout client 5s
    timeout server 5s
    http-reuse always
    default_backend gateway
frontend strict
    bind unix@{work}/haproxy
frontend lenient
    bind unix@{work}/haproxy-lenient
    option accept-invalid-http-request
backend gateway
    server gateway 127.0.0.1:{port} pool-max-conn 2
"""
NAMES = ("nginx", "nginx-streaming", "haproxy", "haproxy-lenient")


class Proxies:
    def __init__(self, work: pathlib.Path, port: int) -> None:
        self.work = work
        (work / "nginx.conf").write_text(NGINX.format(work=work, port=port))
        (work / "haproxy.cfg").write_text(HAPROXY.format(work=work, port=port))
        self.processes = [
            self.start("nginx", "-e", f"{work}/nginx.log", "-c", f"{work}/nginx.conf"),
            self.start("haproxy", "-W", "-db", "-f", f"{work}/haproxy.cfg"),
        ]
        try:
            wait_until(lambda: all((work / name).exists() for name in NAMES), 10, pause=0.1)
        except TimeoutError:
            self.kill()
            output = "".join(file.read_text() for file in sorted(work.glob("*.out")))
            raise OSError(f"a proxy does not start:\n{output}") from None

    def start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with open(self.work / f"{program}.out", "wb") as out:
            return subprocess.Popen([program, *arguments], stdout=out, stderr=out)

    def kill(self) -> None:
        """Asks both to end, so that they also end their own processes."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=30)


RECEIPT = b'{"receipt":"'
Address = tuple[str, int] | str


def converse(address: Address, request: bytes, quiet: float = 2.0) -> bytes:
    """Sends a request, and reads until the other side closes or is quiet for this many seconds."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    answer = b""
    with socket.socket(family) as connection:
        connection.settimeout(quiet)
        connection.connect(address)
        try:
            connection.sendall(request)
            while received := connection.recv(65536):
                answer += received
        except (TimeoutError, ConnectionError):
            pass
    return answer


def body(name: str) -> bytes:
    return json.dumps({"id": name}).encode()


class FramingCase:
    """One request of the corpus on one path: it, a valid request right behind it, and a valid one on another connection."""

    def __init__(self, path: str, address: Address, case: str) -> None:
        self.path, self.address, self.case = path, address, case
        self.names = [f"{path}: {case}: {which}" for which in ("first", "hidden", "next", "other")]
        self.first, self.hidden, self.next, self.other = self.names
        self.answers = self.answer_to_other = b""

    def run(self) -> "FramingCase":
        request = corpus.CASES[self.case](body(self.first), body(self.hidden))
        behind = corpus.post(body(self.next), b"Connection: close")
        self.answers = converse(self.address, request + behind)
        valid = corpus.post(body(self.other), b"Connection: close")
        self.answer_to_other = converse(self.address, valid, quiet=20.0)
        return self

    def complaints(self, arrived: collections.Counter[str]) -> Iterator[str]:
        stored = [name for name in (self.first, self.hidden, self.next) if arrived[name]]
        receipts = self.answers.count(RECEIPT)
        statuses = [int(status) for status in re.findall(rb"HTTP/1\.[01] ([0-9]{3})", self.answers)]
        if len(stored) != receipts:
            yield f"{receipts} receipts in {statuses}, but stored are {stored}"
        if self.hidden in stored and len(statuses) < 2:
            yield f"the hidden request is stored, and the sender was told {statuses} only"
        for name in stored:
            if arrived[name] > 1:
                yield f"{name} is stored {arrived[name]} times"
        if RECEIPT not in self.answer_to_other or arrived[self.other] != 1:
            yield f"another client's log is stored {arrived[self.other]} times, answer {self.answer_to_other!r}"


def check_framing(check: Check, gateway: Gateway, proxies: Proxies) -> None:
    paths: dict[str, Address] = {"directly": ("127.0.0.1", gateway.devices)}
    paths |= {name: str(proxies.work / name) for name in NAMES}
    cases = [FramingCase(path, address, case) for case in corpus.CASES for path, address in paths.items()]
    # Many at once, so that the proxies give one connection to the gateway to several clients in turn.
    with concurrent.futures.ThreadPoolExecutor(24) as threads:
        cases = list(threads.map(FramingCase.run, cases))

    arrived: collections.Counter[str] = collections.Counter()
    known = {name for case in cases for name in case.names}
    gateway.require_drained(30)
    for log in gateway.own_sandbox().logs():
        fields = {name: value for name, value in log.items() if not name.startswith("__")}
        name = fields.get("id", "")
        arrived[name] += 1
        check.expect(name in known and fields.keys() == {"id"}, f"a stored log was never sent: {log}")
    for case in cases:
        for complaint in case.complaints(arrived):
            check.expect(False, f"{case.path}: {case.case}: {complaint}")
    refused = sum(case.path == "directly" and not arrived[case.first] for case in cases)
    check.say(
        f"{len(corpus.CASES)} requests on {len(paths)} paths, {refused} of them refused by the gateway, "
        f"{arrived.total()} logs stored"
    )

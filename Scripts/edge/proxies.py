"""nginx and haproxy, each with a strict and a lenient configuration, at Unix sockets: those need no free port."""

import pathlib
import subprocess

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

"""nginx and haproxy, each in two tempers, at sockets that have no port to quarrel about."""

import subprocess
import time

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

# Connections to the gateway are shared by whoever comes, and the second one lets through what the first refuses.
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


class Proxies:
    names = ["nginx", "nginx-streaming", "haproxy", "haproxy-lenient"]

    def __init__(self, work, port):
        self.work = work
        (work / "nginx.conf").write_text(NGINX.format(work=work, port=port))
        (work / "haproxy.cfg").write_text(HAPROXY.format(work=work, port=port))
        self.processes = [
            self.start("nginx", "-e", work / "nginx.log", "-c", work / "nginx.conf"),
            self.start("haproxy", "-W", "-db", "-f", work / "haproxy.cfg"),
        ]
        for name in self.names:
            self.wait(name)

    def start(self, program, *arguments):
        with open(self.work / f"{program}.out", "wb") as out:
            return subprocess.Popen([program, *arguments], stdout=out, stderr=out)

    def wait(self, name):
        for _ in range(100):
            if (self.work / name).exists():
                return
            time.sleep(0.1)
        output = "".join(file.read_text() for file in sorted(self.work.glob("*.out")))
        raise SystemExit(f"check-edge: {name} does not start:\n{output}")

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(timeout=30)

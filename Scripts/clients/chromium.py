"""a page in Chromium, of another origin"""

import http.server
import json
import os
import pathlib
import queue
import shutil
import signal
import subprocess
import tempfile
import threading

from clients.arrivals import Arrivals, Sent
from harness.gateway import ask

BROWSER = "chromium-headless-shell"
OPTIONS = [
    # Chromium's sandbox does not run as root. The only page it opens is ours, and it can reach nothing else.
    "--no-sandbox",
    "--no-proxy-server",
    "--disable-background-networking",
    "--host-resolver-rules=MAP *.localhost 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--remote-debugging-port=0",
]
KINDS = ["beacon", "blob", "plain", "fetch", "traced", "xhr", "image", "leaving"]


def write(arrivals: Arrivals) -> None:
    assert shutil.which(BROWSER), f"no {BROWSER}; Scripts/setup-tests installs it"
    for kind in KINDS:
        fields = {"id": f"chromium {kind}", "text": "世界 \U0001f600 a+b&c=d %"}
        arrivals.expect(Sent(fields, logstore="web", topic="page"))
    found = visit(arrivals)
    assert found == dict.fromkeys(KINDS, True), f"in the browser: {found}"


def visit(arrivals: Arrivals) -> dict[str, bool]:
    said: queue.Queue[bytes] = queue.Queue()
    page = pathlib.Path(__file__).with_name("page.html").read_text().replace("DEVICES", str(arrivals.devices))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Site", (Site,), {"page": page, "said": said})) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            options = [*OPTIONS, f"--user-data-dir={profile}", f"http://127.0.0.1:{site.server_port}/"]
            with open(os.path.join(profile, "said"), "w+") as output:
                # The command on the path is a script that starts the browser, so its whole process group must end.
                browser = subprocess.Popen([BROWSER, *options], stdout=output, stderr=output, start_new_session=True)
                try:
                    found = json.loads(said.get(timeout=60))
                    # What a page sends while it closes is still on its way.
                    ask(arrivals.sandbox.port, "/logs?logstore=web&contains=chromium%20leaving&wait_s=20", timeout=60)
                    return found
                except queue.Empty:
                    output.seek(0)
                    raise AssertionError(f"the page reports nothing; the browser: {output.read()}") from None
                finally:
                    os.killpg(browser.pid, signal.SIGKILL)
                    browser.wait(30)
                    site.shutdown()


class Site(http.server.BaseHTTPRequestHandler):
    page: str
    said: queue.Queue[bytes]

    def do_GET(self) -> None:
        self.answer(self.page.encode() if self.path in ("/", "/next") else b"")

    def do_POST(self) -> None:
        self.said.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(b"")

    def answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass

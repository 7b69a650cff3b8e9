"""Walks a browser through the console of a running gateway, and reads exports of captures with other programs."""

import http.server
import json
import pathlib
import subprocess
import sys
import threading
from typing import Any, ClassVar

import hypothesis
import jsonschema
from haralyzer import HarParser
from hypothesis import strategies
from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowReader

from console.browser import Browser
from console.cluster import check_cluster
from console.walk import SCREENS, post, prepare, walk
from harness.check import Check, run_check
from harness.gateway import Gateway

TEXT, INTEGER, ARRAY, ANY = {"type": "string"}, {"type": "integer"}, {"type": "array"}, {"type": "object"}


def record(required: str, **properties: object) -> dict[str, object]:
    return {"type": "object", "required": required.split(), "properties": properties}


# HAR 1.2: members of our own begin with an underscore.
PAIRS = ARRAY | {"items": record("name value", name=TEXT, value=TEXT)}
MESSAGE = {"cookies": ARRAY, "headers": PAIRS, "headersSize": INTEGER, "bodySize": INTEGER}
REQUEST = record(
    "method url httpVersion cookies headers queryString headersSize bodySize",
    **MESSAGE,
    url={"type": "string", "pattern": "^https?://[^#]*$"},
    queryString=PAIRS,
    postData=record("mimeType text"),
)
RESPONSE = record(
    "status statusText httpVersion cookies headers content redirectURL headersSize bodySize",
    **MESSAGE,
    content=record("size mimeType"),
)
ENTRY = record(
    "startedDateTime time request response cache timings",
    startedDateTime={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"},
    time={"type": "number", "minimum": 0},
    request=REQUEST,
    response=RESPONSE,
    cache=ANY,
    timings=record("send wait receive"),
)
LOG = record(
    "version creator entries",
    version={"const": "1.2"},
    creator=record("name version"),
    entries=ARRAY | {"items": ENTRY},
)
SCHEMA = record("log", log=LOG)


class Echo(http.server.BaseHTTPRequestHandler):
    """Notes the bodies that it gets."""

    bodies: ClassVar[list[bytes]] = []

    def do_POST(self) -> None:
        self.bodies.append(self.rfile.read(int(self.headers["content-length"] or 0)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def start(gateway: Gateway, records: int) -> str:
    body = json.dumps({"records": records}).encode()
    return str(json.loads(gateway.ask("/admin/captures", "POST", body))["id"])


def check_archives(check: Check, gateway: Gateway, work: pathlib.Path) -> None:
    capture = start(gateway, 1000)
    bodies = [json.dumps([{"message": f"line {number} é 世界", "number": number}]).encode() for number in range(3)]
    for body in [*bodies, b"{broken"]:
        post(gateway, "/logs/app.home?x=%20a&y", body)
    gateway.require_drained()
    archive = gateway.ask(f"/admin/captures/{capture}/har")
    document = json.loads(archive)
    jsonschema.validate(document, SCHEMA)
    roles = [entry["_sluice"]["role"] for entry in HarParser(document).har_data["entries"]]
    check.expect(roles.count("ingest") == 4, f"haralyzer reads {roles.count('ingest')} of 4 requests")
    check.expect(roles.count("upstream") >= 1, "haralyzer reads no attempt to deliver the logs")
    file = work / "capture.har"
    file.write_bytes(archive)
    with file.open("rb") as stream:
        flows = [flow for flow in FlowReader(stream).stream() if isinstance(flow, HTTPFlow)]
    flows = [flow for flow in flows if flow.request.port == gateway.devices]
    check.expect([flow.request.get_content() for flow in flows[:3]] == bodies, "mitmproxy reads other bodies")
    check.expect([flow.response and flow.response.status_code for flow in flows] == [200] * 3 + [400], "other answers")
    lines = gateway.ask(f"/admin/captures/{capture}/export").splitlines()
    check.expect([json.loads(line)["n"] for line in lines] == [1, 2, 3, 4], "the export does not have each record")
    check.say("archives are read by haralyzer and mitmproxy")


def check_command_lines(check: Check, gateway: Gateway) -> None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    capture = start(gateway, 1000)
    count = 0

    def same(text: str) -> None:
        nonlocal count
        count += 1
        post(gateway, "/logs/app.home", text.encode())
        record = json.loads(gateway.ask(f"/admin/captures/{capture}/records/{count}"))
        line = gateway.ask(f"/admin/captures/{capture}/records/{count}/curl").decode()
        line = line.replace(f"127.0.0.1:{gateway.devices}", f"127.0.0.1:{server.server_port}")
        Echo.bodies.clear()
        subprocess.run(["sh", "-c", line], check=True, capture_output=True, timeout=30)
        assert Echo.bodies == [record["body"]["text"].encode()]
        if record["body"]["reason"] is None:
            assert Echo.bodies == [text.encode()]

    characters = strategies.characters(exclude_characters="\0", exclude_categories=["Cs"])
    given = hypothesis.given(strategies.text(alphabet=characters, min_size=1))
    settings = hypothesis.settings(max_examples=60, deadline=None, database=None, derandomize=True)
    settings(given(same))()
    server.shutdown()
    check.say(f"{count} random bodies survive sh")


READER = "a-token-for-reading-0123456789abcdef"
DESTINATIONS = """\
  default: {{ project: sandbox, logstore: "*", packet: {{ age: 50ms }} }}
  store: {{ kind: file, path: "{work}/store.ndjson" }}
"""
SETTINGS = """
filters:
  - match: "app.**"
    steps: [{ drop: true, when: { field: level, is: debug } }]
"""
PICTURES = pathlib.Path(".build/console")
# The refusals that the walk causes on purpose, as the browser's log tells them.
EXPECTED = ("/admin/credentials/default", "status of 422", "status of 401", "status of 412")


def check_console(check: Check) -> None:
    tokens = f"tokens: {{ reader: {{ token: {READER}, role: read }} }}"
    gateway = check.gateway(DESTINATIONS.format(work=check.work), SETTINGS, sandbox=True, admin=tokens)
    prepare(gateway, gateway.own_sandbox())
    with Browser(gateway.admin) as browser:
        walk(check, browser, gateway, PICTURES / "light", READER)
        troubles = list(browser.troubles)
    windows = (("dark", 1280, 900, True), ("narrow", 360, 740, False), ("wide", 2560, 1440, False))
    for name, width, height, dark in windows:
        with Browser(gateway.admin, width, height, dark) as browser:
            browser.login(gateway.token)
            for screen, heading in SCREENS.items():
                browser.show(screen, heading)
                browser.screenshot(PICTURES / name / f"{screen}.png")
                check.expect(not browser.is_too_wide, f"{name}: {screen} scrolls sideways")
                if dark:
                    browser.check_access(f"{name} {screen}")
            browser.collect(name)
            troubles += browser.troubles
    for trouble in troubles:
        check.expect(any(word in trouble for word in EXPECTED), trouble)
    check_archives(check, gateway, check.work)
    check_command_lines(check, gateway)
    check.say(f"pictures are in {PICTURES}")
    check.stop(gateway)


def check_all(check: Check) -> None:
    if sys.argv[1:] != ["cluster"]:
        check_console(check)
    check_cluster(check, PICTURES)


run_check("check-console", check_all)

"""Checks /metrics, the alert rules and the dashboard with promtool."""

import contextlib
import json
import pathlib
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from typing import Any

from harness.check import Check, run_check
from harness.gateway import Gateway, Sandbox, ask, direct
from harness.waiting import look_until

RULES = pathlib.Path("Docker/observability/alerts.yaml")
DASHBOARD = RULES.with_name("dashboard.json")
PAGES = sorted(pathlib.Path("docs").glob("metrics*.md"))
# Lines that /metrics must have after the traffic of this check.
WANTED = [
    r'sluice_logs_delivered_total\{destination="app"\} ([3-9][0-9]|[0-9]{3,})$',
    r'sluice_logs_dead\{destination="app"\} [1-9]',
    r'sluice_delivery_answers_total\{.*code="other"\} [1-9]',
    r'sluice_delivery_retries_total\{destination="app"\} [1-9]',
    r'sluice_delivery_wait_seconds_count\{.*"app"\} [1-9]',
    r'sluice_ingest_ack_seconds_count\{route="logs"\} [1-9]',
    r'sluice_http_requests_total\{.*"admin".*status="401"\} 1',
    r'sluice_admin_changes_total\{action="pause"\} 1',
    r"sluice_delivery_pauses_total\{.*\} [1-9]",
]
# Each fault has a logstore of its own, so that none waits for the end of another one's pause.
FAULTS: dict[str, dict[str, Any]] = {
    "trouble": {"status": 500, "code": "InternalServerError", "count": 2},
    "quota": {"status": 403, "code": "ShardWriteQuotaExceed", "count": 2},
    "denied": {"status": 401, "code": "Unauthorized", "count": 2},
    "unheard": {"status": 500, "code": "MadeUpByNobody", "count": 2},
    "broken": {"reset": True, "count": 1},
}


def send(url: str, body: bytes | None = None, **fields: str) -> None:
    """Sends a request whose answer does not matter. `x_log_project` is the field X-Log-Project."""
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"} | named)
    with contextlib.suppress(urllib.error.URLError):
        direct.open(request, timeout=10).close()


def make_traffic(gateway: Gateway, sandbox: Sandbox) -> None:
    """Accepted, refused, delivered, failed and dead logs, and invalid requests."""
    devices, admin = f"http://127.0.0.1:{gateway.devices}", f"http://127.0.0.1:{gateway.admin}"
    sandbox.control("POST", "/poisons", {"key": "poison", "code": "PostBodyInvalid"})
    for logstore, fault in FAULTS.items():
        sandbox.fault(logstore=logstore, **fault)
    logstores = [*FAULTS, *["check"] * 30]
    for number, logstore in enumerate(logstores):
        send(f"{devices}/logs/{logstore}", json.dumps({"n": str(number), "fine": 1}).encode())
    for number in range(3):
        send(f"{devices}/logs/check", json.dumps({"n": str(number), "poison": 1}).encode())
    send(f"{devices}/logstores/web/track", b'{"__topic__":"t","__source__":"s","__logs__":[{"a":"1"}]}')
    send(f"{devices}/logs/check", b"not JSON")
    send(f"{devices}/logs/check", b"{}", Host="other", x_log_project="other")
    send(f"{devices}/nothing")
    send(f"{devices}/healthz")
    with socket.create_connection(("127.0.0.1", gateway.devices), 10) as connection:
        connection.sendall(b"NONSENSE\r\n\r\n")
        connection.recv(4096)
    send(f"{admin}/metrics")
    for action in ("pause", "resume", "flush"):
        ask(gateway.admin, f"/admin/destinations/app/{action}", "POST", token=gateway.token)


def promtool(check: Check, complaint: str, *words: str, given: str | None = None) -> None:
    run = subprocess.run(["promtool", *words], input=given, capture_output=True, text=True)
    check.expect(run.returncode == 0, f"{complaint}: {run.stdout}{run.stderr}")


def check_dashboard(check: Check) -> None:
    """The dashboard queries in PromQL, with variables of Grafana's. Queries and alerts use documented metrics only."""
    panels = [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    known = set(re.findall(r"^\| `([a-z_]+)` \|", "".join(page.read_text() for page in PAGES), re.M))
    named = set(re.findall(r"\b(?:sluice|process)_[a-z_]+", " ".join([*asked, RULES.read_text()])))
    named -= {"sluice_docs"}
    unknown = {name for name in named if name not in known and re.sub("_(bucket|sum|count)$", "", name) not in known}
    check.expect(not unknown, f"not on the pages of metrics: {', '.join(sorted(unknown))}")
    expressions = [text.replace("$__rate_interval", "5m").replace("$__range", "1h") for text in asked]
    rules = [{"record": f"dashboard:{number}", "expr": text} for number, text in enumerate(expressions)]
    # JSON is YAML.
    file = check.work / "dashboard.yaml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool(check, "promtool rejects a query of the dashboard", "check", "rules", str(file))


def check_metrics(check: Check) -> None:
    check.require(shutil.which("promtool"), "no promtool; Scripts/setup-tests installs it")
    sandbox = check.sandbox()
    own = f'endpoint: "http://localhost:{sandbox.port}", project: demo, logstore: "*", region: sandbox'
    gateway = check.gateway(
        f"  app: {{ {own}, packet: {{ age: 20ms }} }}\n"
        '  gone: { endpoint: "http://localhost:1", project: other, logstore: gone, region: sandbox }'
    )
    make_traffic(gateway, sandbox)

    def shows(wanted: str) -> bool:
        return re.search(f"^{wanted}", gateway.ask("/metrics").decode(), re.M) is not None

    for wanted in WANTED:
        if not look_until(lambda: shows(wanted), 30, pause=0.1):
            name = wanted.partition("\\")[0]
            found = [line for line in gateway.ask("/metrics").decode().splitlines() if line.startswith(name)]
            check.fail("\n".join([f"after traffic and failures there is no {wanted}", *found]))

    metrics = gateway.ask("/metrics").decode()
    promtool(check, "promtool rejects /metrics", "check", "metrics", given=metrics)
    lines = metrics.splitlines()
    series = sum(not line.startswith("#") for line in lines)
    check.say(f"{sum(line.startswith('# TYPE') for line in lines)} metrics, {series} series")
    promtool(check, "promtool rejects the alert rules", "check", "rules", str(RULES))
    promtool(check, "the alert rules fail their tests", "test", "rules", str(RULES.with_suffix(".test.yaml")))
    check_dashboard(check)


if __name__ == "__main__":
    run_check("check-metrics", check_metrics)

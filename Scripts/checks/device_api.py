"""Checks the device listener against docs/openapi-devices.json with schemathesis."""

import json
import re
import secrets
from typing import Any

from checks.documented import send_documented
from harness.check import Check, run_check
from harness.sources import ROOT

DESTINATIONS = """
  default: { project: demo, logstore: app, packet: { age: 50ms } }
  night: { project: night, logstore: "*", packet: { age: 50ms } }
"""
KEYS = ("all", "narrow", "slow")
SETTINGS = """
devices:
  keys:
    - {{ name: all, key: {all} }}
    - {{ name: narrow, key: {narrow}, destinations: [night] }}
    - {{ name: slow, key: {slow}, rate: 1/m }}
"""
SCHEMATHESIS = """
[generation]
max-examples = 20

# Names that exist, so that more than 404 is seen. Some of the time schemathesis makes up others.
[dictionaries]
names.values = ["app"]
projects.values = ["demo", "night"]
codings.values = ["identity"]

[parameters]
"path.tag" = {{ dictionary = "names", probability = 0.8 }}
"path.logstore" = {{ dictionary = "names", probability = 0.8 }}
"path.index" = {{ dictionary = "names", probability = 0.8 }}
"header.x-log-logstore" = {{ dictionary = "names", probability = 0.8 }}
"header.x-log-project" = {{ dictionary = "projects", probability = 0.8 }}
"header.Content-Encoding" = {{ dictionary = "codings", probability = 0.8 }}

[checks]
positive_data_acceptance.enabled = {accepts_valid}
# What clients add and the gateway does not know is ignored.
negative_data_rejection.enabled = false
not_a_server_error.expected-statuses = ["2xx", "4xx", 501, 503, 505]
"""
# schemathesis writes no NDJSON, so it gets patterns. The gateway does not look at the content type.
LINES = r'^(\{"msg":"[a-z"]{0,9}"\}\n){1,5}$'
ACTIONS = r'^(\{"(index|create|delete)":\{"_index":"[a-z]{1,5}"\}\}\n\{"msg":"[a-z]{0,9}"\}\n){1,5}$'
# Parameters that most made-up bodies contradict, and places that may not exist.
CONTRARY = (
    "ContentEncoding",
    "CompressType",
    "RawSize",
    "ContentMD5",
    "LogMode",
    "TimeField",
    "Project",
    "LogstoreField",
)
OF_SLS = ("track", "putlogs")
ROUTES = (*OF_SLS, "logs", "otlp", "elastic", "splunk", "loki")


def document(*, contrary: bool) -> Any:
    """The document, as schemathesis can use it."""
    whole = json.loads((ROOT / "docs/openapi-devices.json").read_text())
    left_out = [] if contrary else [f"#/components/parameters/{name}" for name in CONTRARY]
    # It counts characters, and the gateway bytes.
    whole["components"]["schemas"]["Label"]["maxLength"] = 32
    for path, operations in whole["paths"].items():
        for operation in operations.values():
            parameters = operation.get("parameters", [])
            operation["parameters"] = [each for each in parameters if each.get("$ref") not in left_out]
            content = operation.get("requestBody", {}).get("content", {})
            if content.pop("application/x-ndjson", None):
                pattern = LINES if path.startswith("/logs/") else ACTIONS
                content["text/plain"] = {"schema": {"type": "string", "pattern": pattern}}
    return whole


class DeviceAPI:
    def __init__(self, check: Check) -> None:
        self.check = check
        self.keys = {name: secrets.token_hex(16) for name in KEYS}
        self.gateway = check.gateway(DESTINATIONS, SETTINGS.format(**self.keys), sandbox=True)

    def send(self, key: str, *words: str, contrary: bool = False, accepts_valid: bool = False) -> None:
        file = self.check.work / "devices.json"
        file.write_text(json.dumps(document(contrary=contrary)))
        settings = SCHEMATHESIS.format(accepts_valid=str(accepts_valid).lower())
        url = ["--url", f"http://127.0.0.1:{self.gateway.devices}"]
        send_documented(self.check, settings, str(file), *url, "-H", f"x-sluice-key: {key}", *words)

    def counts(self, name: str) -> dict[tuple[str, ...], int]:
        """A metric's values by the values of their labels."""
        lines = re.findall(rf"^{name}{{(.*)}} (\d+)$", self.gateway.ask("/metrics").decode(), re.M)
        return {tuple(re.findall(r'="(.*?)"', labels)): int(value) for labels, value in lines}

    def check_refusals(self) -> None:
        """Clients of each kind are refused for each reason."""
        few = ["--phases", "fuzzing", "--max-examples", "3", "--warnings", "off"]
        for key in (secrets.token_hex(16), self.keys["narrow"], self.keys["slow"]):
            self.send(key, *few)
        self.gateway.ask("/admin/drain", "POST")
        self.send(self.keys["all"], *few)
        self.gateway.ask("/admin/drain", "DELETE")
        met = {(route, int(status)) for route, status, _ in self.counts("sluice_ingest_refused_total")}
        wanted = {(route, status) for route in ROUTES for status in (401, 403, 429, 503)}
        # SLS's SDKs know 403 as the answer to a used-up budget, and Splunk's clients for a wrong key.
        missing = wanted - met - {(route, 429) for route in OF_SLS} - {("splunk", 401)}
        self.check.expect(not missing, f"no request was refused like this: {sorted(missing)}")

    def check_accounts(self) -> None:
        accepted = self.counts("sluice_ingest_requests_total")
        missing = [route for route in ROUTES if not accepted[(route,)]]
        self.check.expect(not missing, f"no request was accepted: {missing}")
        logs = sum(self.counts("sluice_ingest_logs_total").values())
        ledger = self.gateway.drain()
        stored = sum(1 for _ in self.gateway.own_sandbox().logs())
        counts = ledger["ledger"]
        self.check.say(f"{sum(accepted.values())} requests accepted with {logs} logs: {counts}")
        is_whole = ledger["closed"] and counts["queued"] == 0
        self.check.expect(is_whole and counts["accepted"] == logs, f"{logs} logs are not accounted for: {ledger}")
        self.check.expect(counts["delivered"] == stored, f"{stored} logs arrived: {ledger}")


def check_device_api(check: Check) -> None:
    api = DeviceAPI(check)
    # No pattern makes all of a bulk acceptable.
    api.send(api.keys["all"], "--exclude-path-regex", "_bulk", accepts_valid=True)
    api.send(api.keys["all"], contrary=True)
    api.check_refusals()
    check.require(api.gateway.is_running, "the gateway ended")
    api.check_accounts()
    check.stop(api.gateway)


if __name__ == "__main__":
    run_check("check-device-api", check_device_api)

"""Checks the admin API against its OpenAPI document with schemathesis."""

import collections
import contextlib
import json
import secrets
import time
import urllib.error
import urllib.request
from typing import Any

from checks.documented import send_documented
from harness.check import Check, run_check
from harness.gateway import Gateway, Sandbox, ask, direct, status_of
from harness.program import KEY
from harness.waiting import Worker, look_until, wait_until

DESTINATIONS = """
  app:
    endpoint: http://localhost:{port}
    project: demo
    logstore: "*"
    region: sandbox
    packet: {{ age: 50ms }}
    connect_timeout: 1s
    send_timeout: 2s
  night:
    endpoint: http://localhost:{port}
    project: night
    logstore: night
    region: sandbox
    credential: spare
"""
SETTINGS = """
credentials:
  encryption_key: {key}
  default: {{ from: environment }}
  spare: {{ from: admin }}
"""
SCHEMATHESIS = """
[generation]
max-examples = 30

# Names and numbers that exist, so that more than 404 is seen. Some of the time schemathesis makes up others.
[dictionaries]
names.values = ["app", "night", "*", "default", "spare"]
letters.values = {letters}
ids.values = ["1", "{ids}"]
key.values = ["{key}"]
secret.values = ["{secret}"]

[parameters]
"path.name" = {{ dictionary = "names", probability = 0.8 }}
"path.id" = {{ dictionary = "letters", probability = 0.8 }}
"query.ids" = {{ dictionary = "ids", probability = 0.5 }}
"body.AccessKeyId" = {{ dictionary = "key", probability = 0.8 }}
"body.AccessKeySecret" = {{ dictionary = "secret", probability = 0.8 }}

[checks]
# There are too many valid reasons to refuse: a name that does not exist, a key that SLS does not know.
positive_data_acceptance.enabled = false
# A stale version is refused with 412. A deletion only returns to what the configuration says.
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 406, 409, 412, 415, 422, 428, 429, "5xx"]
use_after_free.enabled = false

# These operations exist to give these statuses.
[[operations]]
include-path = "/readyz"
checks.not_a_server_error.expected-statuses = [200, "4xx", 503]
[[operations]]
include-operation-id = ["rotateCredential", "verifyCredential"]
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", 502]

# From lists to their entries and on to a change of one, by the links of the document.
[phases.stateful]
generation.max-examples = 20
"""
# Every kind of change must be made at least once, not only refused.
CHANGES = [*"drain edit flush forget patch pause reset resume rotate".split(), "end drain"]
CHANGES_OF_MANY = ["purge", "replay"]
POISONED = 4


def numbered_logs(count: int) -> bytes:
    """Every fourth log is one that the sandbox refuses."""
    logs = ({"n": str(number)} | ({} if number % POISONED else {"poison": "x"}) for number in range(count))
    return "\n".join(map(json.dumps, logs)).encode()


class AdminAPI:
    def __init__(self, check: Check) -> None:
        self.check = check
        self.sandbox: Sandbox = check.sandbox()
        settings = SETTINGS.format(key=secrets.token_hex(32))
        self.gateway: Gateway = check.gateway(DESTINATIONS.format(port=self.sandbox.port), settings)

    def ask(self, method: str, path: str) -> Any:
        with contextlib.suppress(urllib.error.HTTPError):
            return json.loads(ask(self.gateway.admin, path, method, token=self.gateway.token, timeout=90) or b"null")

    def post(self, body: bytes) -> int | None:
        with contextlib.suppress(OSError):
            return status_of(self.gateway.devices, "/logs/check", method="POST", body=body, timeout=10)
        return None

    def counted(self, name: str) -> int:
        return int(self.gateway.ledger()["ledger"][name])

    def wait_for_count(self, name: str, count: int, seconds: float = 20) -> None:
        is_reached = look_until(lambda: self.counted(name) == count, seconds, pause=0.1)
        self.check.require(is_reached, f"{name} is not {count}: {self.gateway.ledger()}")

    def configure_schemathesis(self) -> None:
        letters = [str(letter["id"]) for letter in self.ask("GET", "/admin/dead-letters?limit=20")["dead_letters"]]
        self.settings = SCHEMATHESIS.format(
            letters=json.dumps(letters),
            ids=",".join(letters),
            key=KEY["ALIBABA_CLOUD_ACCESS_KEY_ID"],
            secret=KEY["ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
        )

    def run_schemathesis(self, *words: str) -> None:
        document = f"http://127.0.0.1:{self.gateway.admin}/admin/openapi.json"
        header = ["-H", f"Authorization: Bearer {self.gateway.token}"]
        send_documented(self.check, self.settings, document, *header, *words)

    def check_tail(self) -> None:
        """The tail has no end, so schemathesis leaves it out: it has events of its own kind only, a log in each."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.gateway.admin}/admin/tail?field=n")
        request.add_header("Authorization", f"Bearer {self.gateway.token}")
        content, ends = b"", time.monotonic() + 3
        with contextlib.suppress(TimeoutError), direct.open(request, timeout=3) as response:
            while time.monotonic() < ends and (piece := response.read1(65536)):
                content += piece
        logs = 0
        for event in content.decode().split("\n\n")[:-1]:
            lines = event.split("\n")
            if lines[0].startswith(":"):
                continue
            if lines[0] == "event: missed":
                is_fine = set(json.loads(lines[1].removeprefix("data: "))) == {"logs"}
            else:
                log = json.loads(lines[0].removeprefix("data: "))
                is_fine = len(lines) == 1 and set(log) == {"destination", "logstore", "topic", "source", "tags", "log"}
                logs += 1
            self.check.expect(is_fine, f"the tail has an event that is not documented: {event}")
        self.check.require(logs > 0, f"the tail has no log: {content[:2000]!r}")
        self.check.say(f"{logs} logs in the tail")

    def check_changes(self, actions: list[str]) -> None:
        changes = self.ask("GET", "/admin/audit?limit=1000")["changes"]
        made = collections.Counter(change["action"] for change in changes)
        self.check.say(f"changes made: {', '.join(f'{count} {action}' for action, count in sorted(made.items()))}")
        missing = [action for action in actions if action not in made]
        self.check.expect(not missing, f"never made: {missing}")

    def undo_changes(self) -> None:
        for name in ("app", "night"):
            self.ask("DELETE", f"/admin/destinations/{name}")
            self.ask("POST", f"/admin/destinations/{name}/resume")
        for name in ("default", "spare"):
            self.ask("DELETE", f"/admin/credentials/{name}")
        self.ask("DELETE", "/admin/drain")


class Writer(Worker):
    """Posts more of both kinds during the requests, as in production."""

    def __init__(self, api: AdminAPI) -> None:
        self.api = api
        self.begin()

    def work(self, _: int) -> None:
        while not self.ended.wait(0.3):
            self.api.post(numbered_logs(8))


def check_admin_api(check: Check) -> None:
    api = AdminAPI(check)
    # Logs that arrive, and dead letters to read, edit, replay and purge.
    api.sandbox.control("POST", "/poisons", {"key": "poison"})
    check.require(api.post(numbered_logs(200)) == 200, "the gateway accepts no logs")
    api.wait_for_count("dead", 200 // POISONED)
    api.configure_schemathesis()

    writer = Writer(api)
    try:
        began = time.monotonic()
        # Letters that were purged or replayed could not be read or edited.
        api.run_schemathesis("--exclude-path-regex", "/(replay|purge|tail)$")
        api.check_changes(CHANGES)
        # No link leads to these, so they have no chains. Either of them may leave no letter for the other.
        for action in CHANGES_OF_MANY:
            # No log dies while its destination is paused.
            api.undo_changes()
            wait_until(lambda: api.counted("dead") > 0, seconds=20, pause=0.1)
            api.run_schemathesis("--include-path-regex", f"/{action}$", "--phases", "examples,coverage,fuzzing")
        check.say(f"schemathesis took {time.monotonic() - began:.0f} s")
        api.check_tail()
    finally:
        writer.end()
    check.require(api.gateway.is_running, "the gateway ended")
    api.check_changes(CHANGES_OF_MANY)
    # A logstore that is sent nothing but replayed poisoned logs stays paused.
    api.sandbox.control("DELETE", "/poisons")
    api.undo_changes()
    check.require(api.post(b'{"n":"last"}') == 200, "the gateway accepts no logs any more")
    api.wait_for_count("queued", 0, 30)
    ledger = api.gateway.ledger()
    check.say(f"{ledger['ledger']}")
    check.expect(ledger["closed"], f"logs are not accounted for: {ledger}")
    check.stop(api.gateway)


if __name__ == "__main__":
    run_check("check-admin-api", check_admin_api)

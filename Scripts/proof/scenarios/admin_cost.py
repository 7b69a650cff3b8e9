"""No request to the admin API makes the gateway 64 MiB larger, or holds the listener's thread for more than a twentieth
of a second of a usual core."""

import concurrent.futures
import contextlib
import json
import pathlib
import random
import time
import typing

from harness.encodings import field, varint
from harness.gateway import TOKEN, Gateway
from harness.measures import memory, slowness, thread_seconds
from proof.clients import device
from proof.clients.device import Device, exchange, post_once
from proof.trial import Trial

DOCUMENT = pathlib.Path(__file__).parents[3] / "docs" / "openapi.json"
# Expressions that RE2 compiles to large programs, and ordinary ones.
PATTERNS = ["^/health", r"[\pL]{25}", "(a|b|c)*d", r"^.{1000}$", r"(\w+\s){50}", "x*" * 200]

TEXTS = ["x", "é", "\x01", "\\", '"', "\U0001f600"]


class Request(typing.NamedTuple):
    method: str
    path: str
    body: str | None = None

    def written(self, token: str) -> bytes:
        path, body = self.path.replace(" ", "%20"), None if self.body is None else self.body.encode()
        fields = [f"Authorization: Bearer {token}", "Accept: application/json", "Connection: close"]
        if body is not None:
            fields.append("Content-Type: application/json")
        return device.request(path, body, *fields, host="127.0.0.1", method=self.method)

    def __str__(self) -> str:
        body = f" {self.body[:120]}… ({len(self.body)} bytes)" if self.body else ""
        return f"{self.method} {self.path[:200]}{body}"


# What stands for the parameters of paths, and the parameters of queries that make answers long.
PLACES = {
    "captures/{id}": "captures/{capture}",
    "dead-letters/{id}": "dead-letters/{letter}",
    "records/{n}": "records/{record}",
    "credentials/{name}": "credentials/sandbox",
    "{name}": "app",
}
QUERIES = {
    "/admin/queue/peek": ["?destination=app&limit=100", "?destination=app&limit=1"],
    "/admin/queue": ["", "?streams=1000&order=largest"],
    "/admin/dead-letters": ["", "?limit=1000", "?limit=1"],
    "/admin/dead-letters/export": ["?limit=1000"],
    "/admin/audit": ["?limit=1000"],
    "/admin/history": ["", "?window=48h"],
}
# Streams do not end.
ENDLESS = {"/admin/tail"}


def reading() -> list[str]:
    """The paths of all GET routes of the document, with placeholders for what exists."""
    paths: dict[str, typing.Any] = json.loads(DOCUMENT.read_text())["paths"]
    found = []
    for path, methods in paths.items():
        if "get" not in methods or path in ENDLESS:
            continue
        for parameter, place in PLACES.items():
            path = path.replace(parameter, place)
        found += [path + query for query in QUERIES.get(path, [""])]
    return found


def rules(filters: int, steps: int, pattern: str) -> str:
    """Edited filters of a dry replay, as many as fit its body."""
    step = json.dumps({"drop": True, "when": {"field": "text", "matches": pattern}})
    steps = max(1, min(steps, 50_000 // (len(step) + 2)))
    filters = max(1, min(filters, 60_000 // ((len(step) + 2) * steps + 20)))
    one = '{"steps":[' + ",".join([step] * steps) + "]}"
    return '{"filters":[' + ",".join([one] * filters) + "]}"


def route_trial(logs: int, text: str, size: int) -> str:
    log = json.dumps({"text": text * size}, ensure_ascii=False)
    logs = max(1, min(logs, 200_000 // (len(log.encode()) + 1)))
    return '{"tag":"live.a","logs":[' + ",".join([log] * logs) + "]}"


REPLAY = "/admin/captures/{capture}/records/{record}/replay"
# The most expensive requests that a search or a person has found. They always come first.
KNOWN = {
    "twenty long logs of the queue": Request("GET", "/admin/queue/peek?destination=app&limit=20"),
    "an archive of 30 MB": Request("GET", "/admin/captures/{capture}/har"),
    "an export of 30 MB": Request("GET", "/admin/captures/{capture}/export"),
    "a dead letter of 8 MB": Request("GET", "/admin/dead-letters/{letter}"),
    "a dead letter of raw control characters": Request("GET", "/admin/dead-letters/{raw}"),
    "a list that begins with it": Request("GET", "/admin/dead-letters?after={before}&limit=1"),
    "an export that begins with it": Request("GET", "/admin/dead-letters/export?after={before}&limit=1000"),
    "a thousand large expressions": Request("POST", REPLAY, rules(20, 50, r"[\pL]{25}")),
    "a hundred logs of a trial": Request("POST", "/admin/routes/test", route_trial(100, "x", 2000)),
    "a tag of expressions": Request("GET", "/admin/tail?tag=/[%5CpL]{2}/%20/[%5CpL]{20}/"),
}


def any_request(chance: random.Random) -> Request:
    kind = chance.randrange(4)
    if kind == 0:
        body = rules(chance.randrange(1, 200), chance.randrange(1, 64), chance.choice(PATTERNS))
        return Request("POST", REPLAY, body)
    if kind == 1:
        body = route_trial(chance.randrange(1, 101), chance.choice(TEXTS), chance.choice([1, 100, 10_000, 200_000]))
        return Request("POST", "/admin/routes/test", body)
    if kind == 2:
        return Request("POST", REPLAY)
    return Request("GET", chance.choice(reading()))


READER = "prove-reader-token-0123456789abcdef0123456789abcdef"
# Resident MiB of one request, and of ten at once.
BAR, BAR_OF_TEN = 64.0, 160.0
# Processor milliseconds of the listener's thread in one turn, where the machine is as fast as usual.
TURN = 50.0
# An answer in pieces takes a turn for each of them: at least so many bytes.
PIECES = 1 << 20
# How often a request that seems too expensive is measured again.
TRIES = 6
# Seconds of search.
SEARCH = {False: 15, True: 600}
SETTINGS = """
queue: { max_bytes: 512MiB }
routes: [{ match: "live.**", to: [app] }]
unrouted: dead_letter
"""


class Cost(typing.NamedTuple):
    """Growth in MiB, and processor milliseconds of the listener's thread in one turn: at the usual speed of a machine,
    and as measured."""

    growth: float
    usual: float
    measured: float

    def fits(self, bar: float = BAR) -> bool:
        return self.growth <= bar and self.usual <= TURN

    def least(self, other: "Cost") -> "Cost":
        return Cost(*map(min, self, other))

    def rank(self, bar: float = BAR) -> float:
        return max(self.growth / bar, self.usual / TURN)

    def __str__(self) -> str:
        return f"{self.growth:.0f} MiB, {self.measured:.1f} ms of a turn of admin-0 ({self.usual:.1f} at usual speed)"


class AdminMeter:
    """A gateway with much to show, and a measurement of what requests cost it."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.where = trial.nowhere()
        self.gateway = self.start()
        self.places = self.fill()

    def start(self) -> Gateway:
        tokens = f"tokens: {{ looker: {{ token: {READER}, role: read }} }}"
        return self.trial.gateway(self.where, settings=SETTINGS, admin=tokens)

    def fill(self) -> dict[str, str]:
        """Long logs at the head of the queue and among the dead letters, and a capture of some 30 MB."""
        device = Device(self.gateway.devices, seconds=60)
        for tag, text in (("live.long", "x"), ("live.marks", "\\u0001"), ("lost.long", "x"), ("lost.marks", "\\u0001")):
            size = (8 << 20) // len(text)
            long = b'{"long":"' + (text * size).encode() + b'"}'
            for _ in range(20 if tag == "live.long" else 3):
                status, said = device.post(f"/logs/{tag}", long)
                self.trial.expect(status == 200, f"{tag}: {status} {said[:200]!r}")
        device.close()
        raw = self.bury_raw()
        # Memory that large bodies have left to the process would hide what a request takes.
        self.gateway.kill()
        self.gateway = self.start()
        device = Device(self.gateway.devices, seconds=60)
        capture = b'{"records":1000,"bytes":33554432}'
        answer = json.loads(self.gateway.ask("/admin/captures", "POST", capture))
        many = json.dumps([{f"f{index}": "é" * 400 for index in range(40)}] * 10).encode()
        for number in range(200):
            self.trial.expect(device.post("/logs/live.many", many)[0] == 200, f"captured request {number}")
        device.close()
        letters = json.loads(self.gateway.ask("/admin/dead-letters?limit=1"))["dead_letters"]
        letter = str(letters[0]["id"] if letters else 1)
        return {"capture": answer["id"], "record": "1", "letter": letter, "raw": str(raw), "before": str(raw - 1)}

    def bury_raw(self) -> int:
        """Makes a dead letter of 9 MiB of control characters, which JSON writes with six bytes each. Returns its number."""
        pairs = b"".join(field(2, field(1, f"k{number}") + field(2, b"\1" * ((1 << 20) - 10))) for number in range(9))
        body = field(1, b"\x08" + varint(int(time.time())) + pairs)
        fields = ("Content-Type: application/x-protobuf", "x-log-apiversion: 0.6.0", f"x-log-bodyrawsize: {len(body)}")
        path = "/logstores/lostraw/shards/lb"
        status, said = post_once(self.gateway.devices, path, body, *fields, seconds=60)
        self.trial.expect(status == 200, f"raw control characters: {status} {said[:200]!r}")
        letters = json.loads(self.gateway.ask("/admin/dead-letters?limit=1000&logstore=lostraw"))["dead_letters"]
        self.trial.expect(len(letters) == 1, f"raw control characters: {len(letters)} dead letters")
        return int(letters[0]["id"])

    def thread_seconds(self) -> float:
        return sum(thread_seconds(self.gateway.process.pid, "admin-0").values())

    def exchange(self, sent: bytes) -> tuple[int, float]:
        """The status, 0 where the gateway did not answer in time, and how often the listener's thread had to work on it."""
        beginning, count = b"", 0
        with contextlib.suppress(OSError):
            for piece in exchange(self.gateway.admin, sent, seconds=30):
                beginning += piece[: max(0, 1024 - len(beginning))]
                count += len(piece)
                if b"/admin/tail" in sent[:40]:
                    break
        head = beginning.partition(b"\r\n\r\n")[0].lower()
        turns = max(1.0, count / PIECES) if b"transfer-encoding: chunked" in head else 1.0
        return int(head.split(b" ", 2)[1]) if head.count(b" ") > 1 else 0, turns

    def measure(self, request: Request, token: str, count: int) -> tuple[Cost, set[int]]:
        path = request.path
        for name, value in self.places.items():
            path = path.replace(f"{{{name}}}", value)
        sent = request._replace(path=path).written(token)
        process = self.gateway.process.pid
        pathlib.Path(f"/proc/{process}/clear_refs").write_text("5")
        slow, resident, before = slowness(), memory(process, "VmRSS"), self.thread_seconds()
        with concurrent.futures.ThreadPoolExecutor(count) as clients:
            answers = list(clients.map(self.exchange, [sent] * count))
        taken = (self.thread_seconds() - before) * 1000 / sum(turns for _, turns in answers)
        slow = max(slow, slowness())
        return Cost(memory(process) - resident, taken / slow, taken), {status for status, _ in answers}

    def cost(self, request: Request, token: str = READER, count: int = 1) -> Cost:
        """The least of several tries if the first seems too high."""
        bar = BAR if count == 1 else BAR_OF_TEN
        best, statuses = self.measure(request, token, count)
        for _ in range(TRIES):
            if not best.fits(bar):
                best = best.least(self.measure(request, token, count)[0])
        # 503 is right where ten ask at once, and of /readyz while the destination does not answer.
        may_refuse = count > 1 or request.path == "/readyz"
        wrong = {status for status in statuses if status >= 500 and not (status == 503 and may_refuse)}
        self.trial.expect(not wrong and 0 not in statuses, f"{request}: answers {statuses}")
        self.trial.expect(best.fits(bar), f"{count} at a time: {best}; {bar} MiB, {TURN} ms are allowed, for {request}")
        return best


def check(trial: Trial) -> None:
    meter = AdminMeter(trial)
    trial.say(f"this machine is {slowness():.1f} times as slow as usual now")

    def tell(what: str, found: list[tuple[Cost, str]], bar: float = BAR) -> None:
        cost, name = max(found, key=lambda each: each[0].rank(bar))
        trial.say(f"{len(found)} requests {what}: {cost} at most ({name})")

    cases = KNOWN | {path: Request("GET", path) for path in reading()}
    for role, token in (("a reader", READER), ("the full role", TOKEN)):
        tell(f"of {role}", [(meter.cost(request, token), name) for name, request in cases.items()])
    tell("ten at once", [(meter.cost(request, count=10), name) for name, request in KNOWN.items()], BAR_OF_TEN)
    tried, until = [], time.monotonic() + SEARCH[trial.is_long]
    while time.monotonic() < until:
        request = any_request(trial.random)
        tried.append((meter.cost(request), str(request)))
    tell("searched", tried)
    trial.expect(meter.gateway.process.poll() is None, "the gateway ended")

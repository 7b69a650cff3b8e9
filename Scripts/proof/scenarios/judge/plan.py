"""What will fail and when: a list of rounds, drawn before the first of them begins."""

from random import Random
from typing import Any

from proof.faults.servers import MODES, STORING
from proof.scenarios.judge import faulty_network

# Method, path and body of an admin request.
Change = tuple[str, str, dict[str, Any] | None]
# Second, kind and detail of what happens in a round.
Happening = tuple[float, str, Any]

QUOTAS = [{"code": "WriteQuotaExceed", "fraction": 0.4}, {"code": "ShardWriteQuotaExceed", "fraction": 0.4}]
FAULTS: list[dict[str, Any]] = [
    {"status": 503, "fraction": 0.5},
    {"status": 503, "retry_after_s": 1, "count": 3},
    {"status": 500, "store": True, "fraction": 0.4},
    {"reset": True, "fraction": 0.3},
    {"reset": True, "store": True, "fraction": 0.4},
    {"truncate": True, "store": True, "fraction": 0.4},
    *QUOTAS,
    {"code": "Unauthorized", "count": 4},
    {"status": 200, "body": "<html>pay for the network</html>", "fraction": 0.3},
    {"status": 200, "body": "<html>pay for the network</html>", "store": True, "fraction": 0.3},
    {"without_request_id": True, "fraction": 0.3},
    {"clock_offset_s": 7200},
    {"latency_ms": 60},
    {"latency_ms": 2500, "fraction": 0.2},
    {"hold": True, "count": 3},
]
LIMITS = [
    {"logstore": "views", "requests_per_second": 5},
    {"project": "once", "requests_per_second": 10},
    {"project": "least", "bytes_per_second": 20_000},
]
# Changes of the access key: see `Keys`.
ROTATIONS = ["rotate", "rotate by force", "token"]
KEYS = [*ROTATIONS, "wrong", "revoke"]
# Changes that an operator makes at run time, below /admin.
PAUSE = ("POST", "destinations/*/pause", None)
CHANGES = [
    ("PATCH", "destinations/once", {"lanes": 2}),
    ("PATCH", "destinations/once", {"lanes": None, "packet": {"logs": 5}}),
    ("PATCH", "destinations/least", {"packet": {"logs": 100}}),
    ("PATCH", "destinations/once", {"compress": "zstd"}),
    ("PATCH", "destinations/least", {"signature": "v1"}),
    ("DELETE", "destinations/least", None),
    ("POST", "destinations/*/flush", None),
    PAUSE,
]
RESUME = ("POST", "destinations/*/resume", None)
# How a process ends. `blind` is killed during its start, `drained` during its stop.
ENDS = ["kill"] * 12 + ["blind"] * 3 + ["drained"] * 2 + ["stop"] * 3
# Ends that surely find the process alive.
KILLS = ("kill", "blind")


class Round:
    """One process of the gateway: `events` are (second, kind, detail), in order."""

    def __init__(self, random: Random, fate: str | None = None) -> None:
        self.end = fate or random.choice(ENDS)
        long = random.uniform(0.3, 1.2)
        # The last round is long enough to leave pauses behind that have to end.
        self.seconds = random.choice([random.uniform(0.02, 0.3), long]) if fate is None else 1 + long
        # A start takes some hundredths of a second, a stop up to `drain_timeout`.
        self.delay = random.uniform(0, 0.08 if self.end == "blind" else 0.6)
        self.faults = random.sample(FAULTS, random.choice([0, 0, 1, 1, 2]))
        self.limit = random.choice(LIMITS) if random.random() < 0.15 else None
        self.events: list[Happening] = []
        for share, kind, details, end, lengths in (
            (0.5, f"network {random.randrange(2)}", faulty_network.MODES, "open", (0.1, 0.4, 2.0)),
            (0.5, "server", MODES, "open", (0.1, 0.4, 2.0)),
            (0.25, "key", KEYS, "restore", (0.1, 0.5)),
        ):
            if random.random() < share:
                begin = self.moment(random)
                self.events += [(begin, kind, random.choice(details)), (begin + random.choice(lengths), kind, end)]
        if random.random() < 0.25:
            begin, change = self.moment(random), random.choice(CHANGES)
            self.events.append((begin, "operator", change))
            if change == PAUSE:
                self.events.append((begin + random.choice([0.1, 0.5]), "operator", RESUME))
        if random.random() < 0.3:
            stopped = random.choice(["gateway", "gateway", "sandbox"])
            self.events.append((self.moment(random), "pause", (stopped, random.uniform(0.02, 0.4))))

    @property
    def has_quota(self) -> bool:
        return self.limit is not None or any(fault in QUOTAS for fault in self.faults)

    def moment(self, random: Random) -> float:
        return random.uniform(0, self.seconds)

    def __str__(self) -> str:
        parts = [f"{self.end} after {self.seconds:.2f} s"]
        if self.end in ("blind", "drained"):
            parts[0] += f" and {self.delay:.2f} s"
        parts += [str(fault) for fault in self.faults + ([self.limit] if self.limit else [])]
        parts += [f"{kind} {detail} at {second:.2f}" for second, kind, detail in self.events]
        return ", ".join(parts)


def rounds(random: Random, kills: int, is_long: bool) -> list[Round]:
    """Draws rounds with this number of kills and a peaceful last one, until each kind of event is there."""
    while True:
        drawn = draw(random, kills, is_long)
        events = [(kind, detail) for round in drawn[:-1] for _, kind, detail in round.events]
        networks = any((kind, detail) == ("network 0", "refuse") for kind, detail in events)
        keys = any(kind == "key" and detail in ROTATIONS for kind, detail in events)
        # Two, because each may end before a request comes.
        server = sum(kind == "server" and detail in STORING for kind, detail in events) > 1
        # Long enough for the verdict to be sure what the gateway knew when it was killed.
        long = sum(round.end == "kill" and round.seconds > 0.7 for round in drawn) > 2
        if networks and keys and server and long and {"pause", "operator"} < {kind for kind, _ in events}:
            return drawn


def draw(random: Random, kills: int, is_long: bool) -> list[Round]:
    """Draws rounds. Events that outlast a process, such as a hanging network, go on during the next one."""
    drawn: list[Round] = []
    left: list[Happening] = []
    while sum(round.end in KILLS for round in drawn) < kills:
        drawn.append(Round(random))
    last = Round(random, "peace")
    if not is_long:
        # The pace that quotas cause takes a minute to end.
        last.limit, last.faults = None, [fault for fault in last.faults if fault not in QUOTAS]
    drawn.append(last)
    for round in drawn:
        events = sorted(round.events + left, key=lambda event: event[0])
        length = 0 if round.end == "blind" else round.seconds
        round.events = [event for event in events if event[0] < length]
        left = [(second - length, kind, detail) for second, kind, detail in events if second >= length]
    return drawn


def destinations(random: Random, ports: list[int], server: int) -> tuple[dict[str, object], str]:
    """YAML for two destinations that differ in `exactly_once` only, with one endpoint or both, and for a log server."""
    settings = {
        "concurrency": random.choice([1, 1, 2, 8]),
        "compress": random.choice(["lz4", "lz4", "zstd", "deflate", "none"]),
        "signature": random.choice(["v4", "v1"]),
        "packet": f"{{ age: 50ms, logs: {random.choice([20, 60, 400])} }}",
    }
    if random.random() < 0.3:
        settings["max_bytes"] = "1MiB"
    endpoints = ", ".join(f'"http://localhost:{port}"' for port in ports[: random.randint(1, 2)])
    settings["endpoint"] = f"[{endpoints}]"
    both = ", ".join(f"{key}: {value}" for key, value in settings.items())
    timeouts = "connect_timeout: 1s, send_timeout: 1500ms"
    both += f', logstore: "*", region: sandbox, {timeouts}'
    lanes = f"exactly_once: true, lanes: {random.randint(1, 12)}"
    form = (
        f"body: {random.choice(['json_array', 'ndjson'])}, compress: {random.choice(['gzip', 'none'])}, success: [200]"
    )
    pace = "concurrency: 1, packet: { age: 50ms, logs: 60 }, retry: { first: 50ms, most: 1s }"
    lines = f"  least: {{ project: least, {both} }}\n  once: {{ project: once, {both}, {lanes} }}\n"
    lines += f"  server: {{ kind: http, url: http://127.0.0.1:{server}/in, {form}, {pace}, {timeouts} }}\n"
    return settings, lines

"""What will go wrong and when: a list of rounds that is drawn before the first of them begins."""

from judge import network

FAULTS = [
    {"status": 503, "fraction": 0.5},
    {"status": 503, "retry_after_s": 1, "count": 3},
    {"status": 500, "store": True, "fraction": 0.4},
    {"reset": True, "fraction": 0.3},
    {"reset": True, "store": True, "fraction": 0.4},
    {"truncate": True, "store": True, "fraction": 0.4},
    {"code": "WriteQuotaExceed", "fraction": 0.4},
    {"code": "ShardWriteQuotaExceed", "fraction": 0.4},
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
# What becomes of the key: see `Keys`.
KEYS = ["rotate", "rotate by force", "token", "wrong", "revoke"]
# How a gateway's life ends. `blind` is killed at some point of its start, `drained` at some point of its stop.
ENDS = ["kill"] * 12 + ["blind"] * 3 + ["drained"] * 2 + ["stop"] * 3
# Those that surely find it alive.
KILLS = ("kill", "blind")


class Round:
    """A life of the gateway: `events` are (second, kind, detail) in their order."""

    def __init__(self, random, end=None):
        self.end = end or random.choice(ENDS)
        self.seconds = random.choice([random.uniform(0.02, 0.4), random.uniform(0.4, 1.6)])
        # A start takes a few hundredths; a stop up to `drain_timeout`.
        self.delay = random.uniform(0, 0.08 if self.end == "blind" else 0.6)
        self.faults = random.sample(FAULTS, random.choice([0, 0, 1, 1, 2]))
        self.limit = random.choice(LIMITS) if random.random() < 0.15 else None
        self.events = []
        # Held over into the next life when the gateway ends before it is over.
        if random.random() < 0.5:
            begin, length = self.moment(random), random.choice([0.1, 0.4, 2.0])
            self.events += [(begin, "network", random.choice(network.MODES)), (begin + length, "network", "open")]
        if random.random() < 0.25:
            begin = self.moment(random)
            self.events += [(begin, "key", random.choice(KEYS)), (begin + random.choice([0.1, 0.5]), "key", "mend")]
        if random.random() < 0.25:
            stopped = random.choice(["gateway", "gateway", "sandbox"])
            self.events.append((self.moment(random), "pause " + stopped, random.uniform(0.02, 0.5)))
        self.events.sort(key=lambda event: event[0])

    def moment(self, random):
        return random.uniform(0, self.seconds)

    def __str__(self):
        parts = [f"{self.end} after {self.seconds:.2f} s"]
        if self.end in ("blind", "drained"):
            parts[0] += f" and {self.delay:.2f} s"
        parts += [str(fault) for fault in self.faults + ([self.limit] if self.limit else [])]
        parts += [f"{kind} {detail} at {second:.2f}" for second, kind, detail in self.events]
        return ", ".join(parts)


def rounds(random, kills):
    """As many as have so many kills, and one more that does not end."""
    drawn = []
    while sum(round.end in KILLS for round in drawn) < kills:
        drawn.append(Round(random))
    return [*drawn, Round(random, "peace")]


def destinations(random, network):
    """Lines of YAML: the same for both, but that one stores packets once."""
    settings = {
        "concurrency": random.choice([1, 1, 2, 8]),
        "compress": random.choice(["lz4", "lz4", "zstd", "deflate", "none"]),
        "signature": random.choice(["v4", "v1"]),
        "packet": f"{{ age: 50ms, logs: {random.choice([7, 40, 400])} }}",
    }
    both = ", ".join(f"{key}: {value}" for key, value in settings.items())
    way = f'endpoint: "http://localhost:{network.port}", logstore: "*", region: sandbox, connect_timeout: 1s, send_timeout: 1500ms'
    lanes = f"exactly_once: true, lanes: {random.randint(1, 12)}"
    lines = f"  least: {{ project: least, {way}, {both} }}\n  once: {{ project: once, {way}, {both}, {lanes} }}\n"
    return settings, lines

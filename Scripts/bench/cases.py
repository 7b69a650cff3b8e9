"""What is measured: the bodies, the connections and the settings of each case."""

import dataclasses

from bench.requests import JWT_SETTINGS, KEY_SETTINGS

STEPS = """filters:
  - steps:
      - add: { app: shop }
      - rename: { device: device_id }
      - remove: [session]
      - { drop: true, when: { field: level, is: trace } }
      - sample: { keep: 90%, by: device_id }
"""
REDACT = "filters: [{ steps: [{ redact: { fields: [msg], pattern: email, with: mask } }] }]\n"
# Captures that take no request: one looks at tags and bodies, one waits for refusals.
CAPTURE = '{"filter":{"tag":"*.**","text":"no body has this"},"seconds":3600}'
CAPTURE_TEXT = '{"filter":{"text":"no body has this"},"seconds":3600}'
CAPTURE_STATUS = '{"filter":{"status":"5xx"},"seconds":3600}'
# All names that destinations of cases have.
DESTINATIONS = ("app", "second")


@dataclasses.dataclass(frozen=True)
class Sink:
    """How SLS's stand-in answers: after so many milliseconds, over TLS, with so many percent of 5xx and quota errors."""

    delay: float = 0
    tls: bool = False
    errors: float = 0

    @property
    def words(self) -> list[str]:
        return ["sink", "0", "--delay", str(self.delay), "--errors", str(self.errors)]


@dataclasses.dataclass(frozen=True)
class Case:
    """`bodies` is a kind of `sluice-bench bodies`, `form` what requests.py makes of them."""

    name: str
    bodies: str = "4"
    form: str = "json"
    connections: int = 32
    # Requests a second, sent at their times whatever the answers take. Without it, each connection sends the next request
    # after an answer.
    rate: float | None = None
    logstore: str = "*"
    settings: str = ""
    tls: bool = False
    exactly_once: bool = False
    # How bodies to the sink are compressed.
    compression: str = "lz4"
    # Names of the destinations; each gets the settings of `app`.
    destinations: tuple[str, ...] = DESTINATIONS[:1]
    # The body that starts a capture.
    capture: str | None = None
    # Also measures answers at half the load.
    half: bool = False
    # Where the queue's commit log lies, on this machine: three brokers, or a primary and its standby.
    engine: str = "sqlite"
    sink: Sink = Sink()
    # How long the load lasts, unless --seconds says otherwise.
    seconds: float = 6
    # The case whose rate is this one's 100 %.
    base: str | None = None

    @property
    def logs(self) -> int:
        """How many logs a request has."""
        return {"single": 1, "few": 10}.get(self.bodies, 100)


@dataclasses.dataclass(frozen=True)
class Floor:
    """`sluice-bench floor` with a commit for so many batches, in SQLite or in a bare file; `threads` run side by side."""

    bodies: str
    batches: int
    store: str
    threads: int = 1

    @property
    def name(self) -> str:
        threads = f", {self.threads} side by side" if self.threads > 1 else ""
        return f"{self.bodies} fields, {self.batches} requests a commit, {self.store}{threads}"

    @staticmethod
    def of(case: Case, store: str) -> "Floor":
        """The one for a case: a commit has about one request of each connection."""
        return Floor(case.bodies, 32 if case.connections <= 32 else 128, store)


STORES = ("sqlite", "file")
# The bodies for which there are floors.
FLOOR_BODIES = ("4", "10")

LOADS = [
    Case("4 fields, 32", half=True),
    Case("4 fields, 128", connections=128),
    Case("10 fields, 32", bodies="10", half=True),
    Case("10 fields, 128", bodies="10", connections=128),
    Case("one log, 256", bodies="single", connections=256),
    Case("TLS, 32", tls=True, base="4 fields, 32"),
    Case("filters, 32", settings=STEPS, base="4 fields, 32"),
    Case("4 fields, 128, sink 50 ms", connections=128, sink=Sink(delay=50), base="4 fields, 128"),
    Case("10 fields, 128, sink 50 ms", bodies="10", connections=128, sink=Sink(delay=50), base="10 fields, 128"),
    Case("4 fields, 32, sink TLS", sink=Sink(tls=True), base="4 fields, 32"),
    Case("4 fields, 32, sink 1 % errors", sink=Sink(errors=1), base="4 fields, 32"),
]
# What waits when a full load ends. The queue takes the whole load, so nothing is refused.
BACKLOG = [
    Case(
        f"{bodies} fields, sink {delay} ms",
        bodies=bodies,
        connections=128,
        settings="queue: { max_bytes: 32GiB }\n",
        sink=Sink(delay=delay),
        seconds=20,
        base=f"{bodies} fields, sink 0 ms" if delay else None,
    )
    for bodies in ("4", "10")
    for delay in (0, 20, 50, 100)
]
FILTERS = [
    Case("plain"),
    Case("route", settings='routes: [{ match: "**", to: [app] }]\n', base="plain"),
    Case("steps", settings=STEPS, base="plain"),
    Case("mail", bodies="mail"),
    Case("redact", bodies="mail", settings=REDACT, base="mail"),
    Case("twice", settings='routes: [{ match: "**", to: [app, second] }]\n', destinations=DESTINATIONS, base="plain"),
    Case("capture", capture=CAPTURE, base="plain"),
    Case("capture status", capture=CAPTURE_STATUS, base="plain"),
    Case("exactly once", exactly_once=True, base="plain"),
]
COMPRESSIONS = [
    Case(
        f"{compression}, {bodies} fields",
        bodies=bodies,
        connections=128,
        compression=compression,
        base=f"lz4, {bodies} fields" if compression != "lz4" else None,
    )
    for bodies in ("4", "10")
    for compression in ("lz4", "zstd", "deflate")
]
CONNECTIONS = [Case(f"{count} connections", connections=count) for count in (1, 8, 32, 128, 512)]
ENGINES = [
    Case(
        f"{engine}, {name}",
        bodies=bodies,
        connections=connections,
        half=True,
        engine=engine,
        base=None if engine == "sqlite" else f"sqlite, {name}",
    )
    for name, bodies, connections in (("32", "4", 32), ("128", "4", 128), ("10 fields", "10", 32))
    for engine in ("sqlite", "jetstream", "postgresql")
]
OPEN = [
    Case(f"{name}, {rate:,} requests/s", bodies=bodies, connections=128, rate=rate, seconds=20)
    for name, bodies, rates in (
        ("4 fields", "4", (1000, 4000, 8000)),
        ("10 fields", "10", (500, 1500, 3000)),
        ("one log", "single", (2000, 10_000, 20_000)),
    )
    for rate in rates
]
# What devices and their SDKs send. Each tag is a stream with packets of its own.
BODIES = [
    Case("JSON"),
    Case("LogGroup in lz4", bodies="group", form="group", base="JSON"),
    Case("JSON in gzip", form="gzip", base="JSON"),
    Case("device key", form="key", settings=KEY_SETTINGS, base="JSON"),
    Case("JSON Web Token", form="jwt", settings=JWT_SETTINGS, base="JSON"),
    Case("a connection each", form="close", base="JSON"),
    Case("10 logs, one tag", bodies="few", logstore="app"),
    Case("10 logs, 1,000 tags", bodies="few", form="tags 1000", logstore="app", base="10 logs, one tag"),
    Case("10 logs, 10,000 tags", bodies="few", form="tags 10000", logstore="app", base="10 logs, one tag"),
]
SETS = {
    "loads": LOADS,
    "filters": FILTERS,
    "compressions": COMPRESSIONS,
    "connections": CONNECTIONS,
    "engines": ENGINES,
    "backlog": BACKLOG,
    "open": OPEN,
    "bodies": BODIES,
}

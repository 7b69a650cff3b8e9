"""python-logging-loki, and requests of Promtail and Fluent Bit"""

import gzip
import json
import logging
import time

import logging_loki

from clients.arrivals import Answer, Arrivals, Sent
from harness.encodings import field, snappy, varint

PATH = "/loki/api/v1/push"
Pairs = dict[str, str]


def pushed(answered: Answer, what: str) -> None:
    """Requires a success, as agents read it."""
    answer, body = answered
    assert (answer.status, body) == (204, b""), f"{what}: {answer.status} {body!r}"


def expect(arrivals: Arrivals, line: str, labels: Pairs, metadata: Pairs | None = None, moment: int = 0) -> None:
    seconds, part = divmod(moment, 10**9) if moment else (None, None)
    topic = labels.get("service_name", labels.get("app", labels.get("job", "loki")))
    arrivals.expect(Sent({"content": line, **(metadata or {})}, "shop", "loki", topic, "", labels, seconds, part))


def write(arrivals: Arrivals) -> None:
    for client in (library, promtail, fluent_bit):
        client(arrivals)


def library(arrivals: Arrivals) -> None:
    """The library raises an error unless the status is 204; logging only prints that error."""
    url = f"http://shop.localhost:{arrivals.devices}{PATH}"
    handler = logging_loki.LokiHandler(url, tags={"app": "basket"}, version="1")
    handler.handleError = lambda record: (_ for _ in ()).throw(AssertionError(f"python-logging-loki: {record}"))
    logger = logging.getLogger("checkout")
    logger.propagate = False
    logger.addHandler(handler)
    for index in range(5):
        line = f'loki library {index} "quoted" \\ 世界\nand more'
        expect(arrivals, line, {"app": "basket", "zone": "b", "severity": "warning", "logger": "checkout"})
        logger.warning(line, extra={"tags": {"zone": "b"}})
    logger.removeHandler(handler)


def promtail(arrivals: Arrivals) -> None:
    streams = b""
    for name in ("a", "b"):
        labels = {"filename": f"/var/log/{name}.log", "job": "promtail"}
        entries = b""
        for index in range(5):
            moment = time.time_ns() - 60_000_000_000
            line, metadata = f"loki promtail {name} {index} 世界", {"pod": "p-1"} if index else {}
            expect(arrivals, line, labels, metadata, moment)
            seconds, nanoseconds = divmod(moment, 10**9)
            entry = field(1, b"\x08" + varint(seconds) + b"\x10" + varint(nanoseconds)) + field(2, line.encode())
            for key, value in metadata.items():
                entry += field(3, field(1, key.encode()) + field(2, value.encode()))
            entries += field(2, entry)
        text = "{" + ", ".join(f'{key}="{value}"' for key, value in labels.items()) + "}"
        streams += field(1, field(1, text.encode()) + entries)
    headers = {"User-Agent": "promtail/3.5.1", "Content-Type": "application/x-protobuf", "Accept-Encoding": "gzip"}
    for _ in range(2):
        # The answer was lost: Promtail sends the same request again.
        pushed(arrivals.send("POST", PATH, headers, snappy(streams)), "promtail")


def fluent_bit(arrivals: Arrivals) -> None:
    labels, values = {"job": "fluent-bit"}, []
    for index in range(5):
        moment = time.time_ns() - 60_000_000_000
        line, metadata = json.dumps({"log": f"loki fluent-bit {index}"}), {"trace": f"t{index}"}
        expect(arrivals, line, labels | {"__tenant_id__": "team-7"}, metadata, moment)
        values.append([str(moment), line, metadata])
    body = json.dumps({"streams": [{"stream": labels, "values": values}]}).encode()
    headers = {"User-Agent": "Fluent-Bit", "Content-Type": "application/json", "Content-Encoding": "gzip"}
    headers["X-Scope-OrgID"] = "team-7"
    pushed(arrivals.send("POST", PATH, headers, gzip.compress(body)), "fluent-bit")

"""a Splunk handler for logging, the requests of Docker, Fluent Bit and Vector, and of clients with useACK"""

import gzip
import json
import logging
import time

from splunk_handler import SplunkHandler

from clients.arrivals import TEXT, Answer, Arrivals, Sent, taken

TOKEN = {"Authorization": "Splunk 00000000-0000-0000-0000-000000000000"}


def compact(event: object) -> str:
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False)


def moment(index: int) -> tuple[int, int]:
    """Seconds and microseconds, an hour ago."""
    return int(time.time()) - 3600, 123456 + index


def success(answered: Answer, what: str, on_channel: bool = False) -> int | None:
    """Requires a success and returns its `ackId`, which only answers on a channel have."""
    _, body = taken(answered, what)
    answer = json.loads(body)
    number = answer.pop("ackId", None)
    assert answer == {"text": "Success", "code": 0}, f"{what}: {body!r}"
    assert isinstance(number, int) == on_channel, f"{what}: {body!r}"
    return number


def write(arrivals: Arrivals) -> None:
    for client in (handler, docker, fluent_bit, vector, raw, acknowledged):
        client(arrivals)


def handler(arrivals: Arrivals) -> None:
    options = {"protocol": "http", "verify": False, "hostname": "node-4", "source": "app.py"}
    token = TOKEN["Authorization"].split()[1]
    handler = SplunkHandler(
        "127.0.0.1", str(arrivals.devices), token, "handler", flush_interval=3600, retry_count=0, **options
    )
    logger = logging.Logger("splunk")
    logger.addHandler(handler)
    tags = {"index": "handler", "source": "app.py", "sourcetype": "text"}
    for index in range(50):
        name = f"handler {index} {TEXT}"
        arrivals.expect(Sent({"message": name}, "first", "handler", "handler", "node-4", tags))
        logger.info(name)
    handler.force_flush()
    handler.shutdown()


def docker(arrivals: Arrivals) -> None:
    path = "/services/collector/event/1.0"
    answer, _ = arrivals.send("OPTIONS", path, {})
    assert answer.status == 200, f"the driver needs 200 for OPTIONS, got {answer.status}"
    body = ""
    for index in range(3):
        name, (seconds, part) = f"docker {index}", moment(index)
        origin = {"source": "stdout", "sourcetype": "docker", "index": f"docker.web-{index % 2}"}
        fields = {"line": name, "source": "stderr", "tag": "c0ffee"}
        body += compact({"event": fields, "time": f"{seconds}.{part:06}", "host": "node-1", **origin})
        place = ("shop", "docker", origin["index"], "node-1", origin)
        arrivals.expect(Sent(fields, *place, seconds, part * 1000))
    success(arrivals.send("POST", path, TOKEN, body.encode()), "docker")


def fluent_bit(arrivals: Arrivals) -> None:
    body = ""
    for index in range(3):
        name, (seconds, part) = f"fluent bit {index}", moment(index)
        body += compact({"time": float(f"{seconds}.{part:06}"), "event": {"id": name, "log": TEXT, "n": {"a": [1]}}})
        fields = {"id": name, "log": TEXT, "n": '{"a":[1]}'}
        arrivals.expect(Sent(fields, logstore="splunk", topic="splunk", time=seconds, nanoseconds=part * 1000))
    headers = {**TOKEN, "Content-Encoding": "gzip", "User-Agent": "Fluent-Bit"}
    success(arrivals.send("POST", "/services/collector/event", headers, gzip.compress(body.encode())), "fluent bit")


def vector(arrivals: Arrivals) -> None:
    body = ""
    for index in range(3):
        name, (seconds, part) = f"vector {index}", moment(index)
        event, fields, kind = {"id": name, "message": TEXT}, {"zone": "b"}, {"sourcetype": "aws:trail"}
        date = float(f"{seconds}.{part // 1000}")
        body += compact({"event": event, "fields": fields, "time": date, "host": "node-2", **kind})
        place = ("shop", "splunk", "aws:trail", "node-2", kind)
        arrivals.expect(Sent(event | fields, *place, seconds, 123_000_000))
    headers = {**TOKEN, "X-Splunk-Request-Channel": "7f" * 16, "Content-Type": "application/json"}
    success(arrivals.send("POST", "/services/collector/event", headers, body.encode()), "vector", on_channel=True)
    answer, _ = arrivals.send("GET", "/services/collector/health/1.0", {})
    assert answer.status == 200, f"health is {answer.status}"


def raw(arrivals: Arrivals) -> None:
    names = [f"raw {index} 世界" for index in range(3)]
    for name in names:
        tags = {"index": "lines", "source": "/a b"}
        arrivals.expect(Sent({"message": name}, "shop", "lines", "lines", "node-3", tags))
    path = "/services/collector/raw?host=node-3&source=%2Fa%20b&index=lines"
    success(arrivals.send("POST", path, TOKEN, "\r\n".join(names).encode()), "raw")


def acknowledged(arrivals: Arrivals) -> None:
    """Vector, Kafka Connect and Java's appender with `useACK` ask until everything is confirmed."""
    channel = "0a1b2c3d-0000-4000-8000-00000000c0de"
    query = f"?channel={channel}&token={TOKEN['Authorization'].split()[1]}"
    numbers = []
    for index in range(3):
        name = f"acknowledged {index}"
        arrivals.expect(Sent({"message": name}, logstore="splunk", topic="splunk"))
        header = {**TOKEN, "X-Splunk-Request-Channel": channel} if index else {}
        path = "/services/collector/event" + ("" if index else query)
        answered = arrivals.send("POST", path, header, compact({"event": name}).encode())
        numbers.append(success(answered, name, on_channel=True))
    assert len(set(numbers)) == 3, f"ackIds are not unique: {numbers}"
    question = json.dumps({"acks": [*numbers, 7]}).encode()
    for more, header in [("", {**TOKEN, "X-Splunk-Request-Channel": channel}), (query, {})]:
        _, body = taken(arrivals.send("POST", f"/services/collector/ack{more}", header, question), "acknowledged")
        found = json.loads(body)["acks"]
        assert found == {**{str(number): True for number in numbers}, "7": False}, found

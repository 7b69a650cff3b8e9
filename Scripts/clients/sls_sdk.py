"""SLS's Python SDK"""

import itertools
import time
from typing import Any

from aliyun.log import LogClient, LogException, LogItem, PutLogsRequest
from aliyun.log.log_logs_pb2 import LogGroup

from clients.arrivals import TEXT, Arrivals, Sent
from harness.gateway import Gateway


def connect(port: int, endpoint: str, version: str, token: str | None = None) -> LogClient:
    settings = {"auth_version": version, "region": "cn-hangzhou", "source": "10.0.0.1", "securityToken": token}
    if endpoint == "name":
        return LogClient(f"http://localhost:{port}", "none", "none", **settings)
    # The SDK recognises an address only without scheme and port. Otherwise it puts the project in front.
    address = LogClient("127.0.0.1", "none", "none", **settings)
    address._endpoint = f"127.0.0.1:{port}"
    return address


def logs(arrivals: Arrivals, name: str, count: int = 3, **more: Any) -> list[LogItem]:
    """Logs to send, which are expected to arrive unchanged."""
    items = []
    for index in range(count):
        moment = int(time.time()) - 3600 + index
        fields = {"id": f"{name} {index}", "text": TEXT, "empty": "", "long": "x" * 5000}
        arrivals.expect(Sent(fields, time=moment, nanoseconds=123456789 + index, **more))
        items.append(LogItem(moment, list(fields.items()), 123456789 + index))
    return items


def write(arrivals: Arrivals) -> None:
    cases = itertools.product(("name", "address"), ("v1", "v4"), ("none", "lz4", "zstd"), (None, "7f" * 16))
    for endpoint, version, compression, key in cases:
        name = f"put_logs {endpoint} {version} {compression} {'route' if key else 'lb'}"
        described: dict[str, Any] = {"topic": name, "source": "10.0.0.2", "tags": {"env": "prod", "名": "值"}}
        items, tags = logs(arrivals, name, **described), list(described["tags"].items())
        how = (key, compression != "none", tags, compression)
        request = PutLogsRequest("shop", "app", name, "10.0.0.2", items, *how)
        answer = connect(arrivals.devices, endpoint, version).put_logs(request)
        assert len(answer.get_request_id()) == 24, answer.get_all_headers()

    # No topic and no tags, the client's own source, a token, more than one TCP segment, and another project.
    items = logs(arrivals, "put_logs plain", 200, project="first", source="10.0.0.1")
    connect(arrivals.devices, "name", "v4", "sts").put_logs(PutLogsRequest("first", "app", None, None, items))

    for compress in (True, False):
        group = LogGroup(Topic="raw")
        for item in logs(arrivals, f"put_log_raw {compress}", topic="raw"):
            log = group.Logs.add(Time=item.get_time(), Time_ns=item.get_time_nano_part())
            for key, value in item.get_contents():
                log.Contents.add(Key=key, Value=value)
        connect(arrivals.devices, "name", "v1").put_log_raw("shop", "app", group, compress)


IDENTIFIER = "LTAIgateway"
ROUTES = (None, "7f" * 16)


def put(endpoint: str, version: str, key: tuple[str, str], route: str | None, token: str | None = None) -> str:
    client = LogClient(endpoint, *key, auth_version=version, region="cn-hangzhou", securityToken=token)
    items = [LogItem(int(time.time()), [("id", "1"), ("text", "a b+c/世界")])]
    tags = [("名", "值")]
    request = PutLogsRequest("shop", "app", "topic", "10.0.0.1", items, route, route is None, tags, "lz4")
    try:
        client.put_logs(request)
    except LogException as error:
        return error.get_error_code()
    return "taken"


def sign(gateway: Gateway, secret: str) -> int:
    """Writes to a gateway that has this secret, with right and wrong keys. Returns how many of its answers are right."""
    endpoint, given = f"http://localhost:{gateway.devices}", (IDENTIFIER, secret)
    asked = 0
    for version, route in itertools.product(("v1", "v4"), ROUTES):
        for key, token, expected in (
            (given, None, "taken"),
            (given, "sts+token==", "taken"),
            ((given[0], given[1] + "x"), None, "SignatureNotMatch"),
            (("LTAIother", given[1]), None, "Unauthorized"),
        ):
            found = put(endpoint, version, key, route, token)
            assert found == expected, (version, route, key[0], found, expected)
            asked += 1
    return asked

"""SLS's Python SDK with a key of the gateway"""

import itertools
import time

from aliyun.log import LogClient, LogException, LogItem, PutLogsRequest

from clients.arrivals import Arrivals

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


def write(arrivals: Arrivals) -> str:
    """Expects no logs, because it writes to another gateway. It checks that gateway's answers instead."""
    endpoint, given = f"http://localhost:{arrivals.guarded.devices}", (IDENTIFIER, arrivals.key)
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
    return f"{asked} answers to requests"

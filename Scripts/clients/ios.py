"""requests of the SDK for iOS and of LoongCollector"""

import email.utils
import json
import time
import zlib
from collections.abc import Callable
from typing import Any

import lz4.block
from aliyun.log.log_logs_pb2 import LogGroup

from clients.arrivals import Arrivals, Sent, taken

# Times and fields of the logs of one packet.
Packet = list[tuple[int, dict[str, str]]]
SYSTEM = {
    "Accept": "*/*",
    "User-Agent": "Shop/7 CFNetwork/1498.700.2 Darwin/23.6.0",
    "Connection": "keep-alive",
    "Accept-Language": "zh-CN,zh-Hans;q=0.9",
    "Accept-Encoding": "gzip, deflate",
}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PACK = "__pack_id__"


def logs(arrivals: Arrivals, name: str) -> Packet:
    packet = []
    for index in range(5):
        moment = int(time.time()) - 30 + index
        fields = {"id": f"{name} {index}", "text": '世界 "quoted" \\ \n\x01', "empty": ""}
        arrivals.expect(Sent(fields, logstore="ios", topic="app", source="iOS", tags={"env": "prod"}, time=moment))
        packet.append((moment, fields))
    return packet


def tracking(packet: Packet, pack: str) -> bytes:
    members = {
        "__topic__": "app",
        "__source__": "iOS",
        "__logs__": [{"__time__": moment, **fields} for moment, fields in packet],
        "__tags__": {"env": "prod", PACK: pack},
    }
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()


def protobuf(packet: Packet, pack: str) -> bytes:
    group = LogGroup(Topic="app", Source="iOS")
    for moment, fields in packet:
        log = group.Logs.add(Time=moment)
        for key, value in fields.items():
            log.Contents.add(Key=key, Value=value)
    for key, value in (("env", "prod"), (PACK, pack)):
        group.LogTags.add(Key=key, Value=value)
    return group.SerializeToString()


def block(content: bytes) -> bytes:
    return lz4.block.compress(content, store_size=False)


def described(content: bytes, coding: str | None = None) -> dict[str, Any]:
    """The fields that say what a body was before it was compressed."""
    fields = {"x-log-apiversion": "0.6.0", "x-log-bodyrawsize": len(content)}
    return {**fields, "x-log-compresstype": coding} if coding else fields


def write(arrivals: Arrivals) -> None:
    answer, _ = arrivals.send("GET", "/servertime", {**SYSTEM, "x-log-apiversion": "0.6.0"})
    clock = int(answer.getheader("x-log-time", "0"))
    assert answer.status == 200 and abs(clock - time.time()) < 5, f"servertime: {answer.status} {clock}"

    path = "/logstores/ios/track"
    content = tracking(logs(arrivals, "ios lz4"), "5D2D1E0A5CDB4E36-0")
    headers = {**SYSTEM, **FORM, **described(content, "lz4")}
    answer, body = taken(arrivals.send("POST", path, headers, block(content)), "ios lz4")
    assert body == b"", f"ios lz4: {body!r}"
    # The answer was lost: the SDK sends the same request again.
    again, _ = taken(arrivals.send("POST", path, headers, block(content)), "ios again")
    assert again.getheader("x-log-requestid") == answer.getheader("x-log-requestid"), "ios again: another request id"

    # With compression off the SDK announces JSON and sends protobuf.
    content = protobuf(logs(arrivals, "ios raw"), "5D2D1E0A5CDB4E36-1")
    headers = {**SYSTEM, **FORM, **described(content)}
    taken(arrivals.send("POST", path, headers, content), "ios raw")

    content = protobuf(logs(arrivals, "ios signed"), "5D2D1E0A5CDB4E36-2")
    headers = {
        **SYSTEM,
        "User-agent": "sls-ios-sdk/4.3.3",
        "Content-Type": "application/x-protobuf",
        "Date": email.utils.formatdate(usegmt=True),
        **described(content, "lz4"),
        "x-log-signaturemethod": "hmac-sha1",
        "Authorization": "LOG none:c2lnbmF0dXJl",
    }
    del headers["User-Agent"]
    taken(arrivals.send("POST", "/logstores/ios/shards/lb", headers, block(content)), "ios signed")

    packers: list[tuple[str, Callable[[bytes], bytes]]] = [("lz4", block), ("deflate", zlib.compress)]
    for number, (name, pack) in enumerate(packers, 3):
        content = tracking(logs(arrivals, f"loong {name}"), f"5D2D1E0A5CDB4E36-{number}")
        headers = {"Date": email.utils.formatdate(usegmt=True), **described(content, name)}
        taken(arrivals.send("POST", path, headers, pack(content)), f"loong {name}")

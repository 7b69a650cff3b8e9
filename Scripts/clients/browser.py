"""requests of browsers and mini programs"""

import json
import urllib.parse
from typing import Any

from clients.arrivals import Arrivals, Sent, taken

AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/150.0.0.0 Safari/537.36"
PAGE = "https://shop.example/basket?item=7"
ALWAYS = {
    "Connection": "keep-alive",
    "User-Agent": AGENT,
    "Accept": "*/*",
    "Origin": "https://shop.example",
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "no-cors",
    "Sec-Fetch-Dest": "empty",
    "Referer": PAGE,
    "Accept-Encoding": "gzip, deflate, br, zstd",
    "Accept-Language": "zh-CN,zh;q=0.9",
}
DESCRIBED: dict[str, Any] = {
    "logstore": "web",
    "topic": "page",
    "source": "browser",
    "tags": {"release": "7", "版": "本"},
}


def batch(arrivals: Arrivals, name: str) -> str:
    """A batch as the SDK writes it: every value is text, and objects are JSON in that text."""
    logs = []
    for index in range(10):
        logs.append({"id": f"{name} {index}", "text": '世界 \U0001f600 "quoted"\n', "object": '{"a":[1,null]}'})
        arrivals.expect(Sent(logs[-1], **DESCRIBED))
    text = {"__logs__": logs, "__topic__": "page", "__source__": "browser", "__tags__": DESCRIBED["tags"]}
    return json.dumps(text, ensure_ascii=False, separators=(",", ":"))


def write(arrivals: Arrivals) -> None:
    beacon = {**ALWAYS, "Content-Type": "text/plain;charset=UTF-8"}
    target = "/logstores/web/track?APIVersion=0.6.0"
    taken(arrivals.send("POST", target, beacon, batch(arrivals, "beacon").encode()), "beacon")
    # The rest that a page sends when it closes, which may be empty.
    empty = b'{"__logs__":[],"__topic__":"page","__source__":"browser"}'
    taken(arrivals.send("POST", target, beacon, empty), "empty beacon")

    xhr(arrivals)
    mini = {"User-Agent": AGENT, "content-type": "application/json", "Connection": "keep-alive"}
    taken(arrivals.send("POST", target, mini, batch(arrivals, "mini program").encode()), "mini program")

    picture = {**ALWAYS, "Accept": "image/avif,image/webp,*/*;q=0.8", "Sec-Fetch-Dest": "image"}
    del picture["Origin"]
    agent = {"__userAgent__": AGENT, "__referer__": PAGE}
    for path, more in (("track", {}), ("track.gif", {}), ("track_ua.gif", agent)):
        fields = {"id": f"pixel {path}", "text": "世界 a+b&c=d %", "empty": ""}
        arrivals.expect(Sent(fields | more, logstore="web", topic="page"))
        query = urllib.parse.urlencode({"APIVersion": "0.6.0", "__topic__": "page", **fields})
        answer, body = taken(arrivals.send("GET", f"/logstores/web/{path}?{query}", picture), path)
        if path != "track":
            assert answer.getheader("content-type") == "image/gif" and body.startswith(b"GIF89a"), path


def xhr(arrivals: Arrivals) -> None:
    """Without sendBeacon: a request for which the browser sends a preflight first."""
    names = ["content-type", "x-log-apiversion", "x-log-bodyrawsize"]
    ask = {**ALWAYS, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": ",".join(names)}
    answer, _ = arrivals.send("OPTIONS", "/logstores/web/track", {**ask, "Sec-Fetch-Mode": "cors"})
    assert answer.status in (200, 204), f"preflight: {answer.status}"
    assert answer.getheader("access-control-allow-origin") in ("*", ALWAYS["Origin"]), "preflight: no origin"
    allowed = answer.getheader("access-control-allow-headers", "").lower()
    assert set(names) <= {name.strip() for name in allowed.split(",")}, f"preflight: {allowed}"

    text = batch(arrivals, "xhr")
    headers = {
        **ALWAYS,
        "Sec-Fetch-Mode": "cors",
        "Content-Type": "application/x-protobuf",
        "x-log-apiversion": "0.6.0",
        # The length of a JavaScript string, which differs from its length in bytes.
        "x-log-bodyrawsize": len(text.encode("utf-16-le")) // 2,
    }
    answer, _ = taken(arrivals.send("POST", "/logstores/web/track", headers, text.encode()), "xhr")
    assert answer.getheader("access-control-allow-origin") in ("*", ALWAYS["Origin"]), "xhr: no origin"

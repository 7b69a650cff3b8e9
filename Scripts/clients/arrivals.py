"""What was sent, and whether the sandbox has it."""

import json
import os
import time
import urllib.request
from dataclasses import dataclass, field


@dataclass
class Sent:
    """A log as it must arrive, with a name of its own in one of its fields."""

    fields: dict
    project: str = "shop"
    logstore: str = "app"
    topic: str = ""
    source: str = ""
    tags: dict = field(default_factory=dict)
    # Seconds and nanoseconds; None is the time of arrival.
    time: int | None = None
    nanoseconds: int | None = None

    def shown(self):
        """As the sandbox shows it."""
        log = {"__project__": self.project, "__logstore__": self.logstore}
        log |= {"__topic__": self.topic, "__source__": self.source}
        log |= {f"__tag__:{key}": value for key, value in self.tags.items()}
        if self.time is not None:
            log["__time__"] = str(self.time)
        if self.nanoseconds is not None:
            log["__time_ns_part__"] = str(self.nanoseconds)
        return log | self.fields


class Arrivals:
    # What the sandbox adds, and the gateway's own name for a packet.
    added = {"__cursor__", "__pack_index__", "__request_id__", "__received__", "__tag__:__pack_id__"}
    # JSON in a value: spaces and the order of members are not ours to say.
    documents = {"resource", "attribute", "otlp.attribute"}

    def __init__(self):
        self.expected = {}
        self.began = int(time.time())

    def name(self, fields):
        """Those that are no more than a text have it as that."""
        return next((fields[key] for key in ("id", "content", "line", "message") if key in fields), None)

    def expect(self, sent):
        """To be called before it is sent."""
        name = self.name(sent.fields)
        assert name not in self.expected, f"two logs have the name {name}"
        self.expected[name] = sent

    def wrong(self):
        """A line for each log that is missing, there twice, or not as it was sent."""
        lines = [] if self.idle() else ["the gateway still has logs"]
        arrived = {}
        for log in self.stored():
            arrived.setdefault(self.name(log), []).append(log)
        for name, sent in self.expected.items():
            logs = arrived.pop(name, [])
            if len(logs) != 1:
                lines.append(f"{name}: arrived {len(logs)} times")
            lines += [line for log in logs for line in self.differences(name, sent, log)]
        lines += [f"{name}: nobody sent {logs}" for name, logs in arrived.items()]
        return lines

    def differences(self, name, sent, log):
        got = {key: value for key, value in log.items() if key not in self.added}
        wanted = sent.shown()
        if sent.time is None:
            arrival = int(got.pop("__time__"))
            got.pop("__time_ns_part__", None)
            if not self.began <= arrival <= time.time() + 1:
                yield f"{name}: its time is {arrival}"
        for key in sorted(got.keys() | wanted.keys()):
            have, want = got.get(key), wanted.get(key)
            if key in self.documents and None not in (have, want):
                have, want = json.loads(have), json.loads(want)
            if have != want:
                yield f"{name}: {key} is {have!r} and not {want!r}"

    def idle(self):
        """Whether nothing is left in the gateway, and every log accounted for, within half a minute."""
        for _ in range(300):
            answer = json.loads(self.ask("ADMIN", "/admin/ledger"))
            if answer["closed"] and answer["ledger"]["queued"] == 0:
                return answer["ledger"]["dead"] == 0
            time.sleep(0.1)
        return False

    def stored(self):
        text = self.ask("SANDBOX", "/logs?limit=10000&details=1").decode()
        return [json.loads(line) for line in text.splitlines()]

    def ask(self, listener, path):
        request = urllib.request.Request(f"http://127.0.0.1:{os.environ[listener]}{path}")
        if listener == "ADMIN":
            request.add_header("Authorization", f"Bearer {os.environ['TOKEN']}")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

"""Devices that remember what they wrote and which of it was answered."""

import collections
import concurrent.futures
import json
import random
import time

from proof.clients.device import Device, body, log
from proof.disk.syscalls import SYNC_US

LOGSTORES = ("app", "web", "game")
DEVICES = 8


class Writer:
    """A device, with what it wrote and what of it was answered."""

    def __init__(self, random, prefix="log"):
        self.random, self.prefix = random, prefix
        self.posted, self.answered, self.receipts = {}, set(), {}

    def post(self, gateway, count=3, logstore=None, size=60):
        logs = [log(f"{self.prefix}-{len(self.posted) + n}", self.random, size) for n in range(count)]
        self.posted |= {each["name"]: each for each in logs}
        connection = Device(gateway.devices)
        try:
            tag = logstore or self.random.choice(LOGSTORES)
            status, answer = connection.post(f"/logs/{tag}", body(logs), "Content-Type: application/json")
        finally:
            connection.close()
        if status == 200:
            names = {each["name"] for each in logs}
            self.answered |= names
            self.receipts[json.loads(answer)["receipt"]] = names
        return status

    def answered_by(self, response):
        """The names of the logs that this response acknowledges, none when it is no receipt of this writer's."""
        head, _, body = response.partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 ") or not body.startswith(b'{"receipt"'):
            return None
        return self.receipts.get(json.loads(body)["receipt"])


def together(gateway, writer, posts, logstore=None):
    """Several devices at a time, so that batches come while others are synced. What they wrote becomes the writer's."""
    seeds = [writer.random.random() for _ in range(DEVICES)]
    devices = [Writer(random.Random(seed), f"{writer.prefix}-{len(writer.posted)}-{n}") for n, seed in enumerate(seeds)]

    def work(device):
        for _ in range(posts):
            # Otherwise those that were answered together would come together again.
            time.sleep(device.random.uniform(0, 2 * SYNC_US / 1e6))
            device.post(gateway, device.random.randint(1, 5), logstore)

    with concurrent.futures.ThreadPoolExecutor(DEVICES) as pool:
        results = [pool.submit(work, device) for device in devices]
    for device in devices:
        writer.posted |= device.posted
        writer.answered |= device.answered
        writer.receipts |= device.receipts
    for result in results:
        result.result()


def arrivals_by_name(trial, sandbox, writers, where):
    """The names of what arrived, and how often each did. Whatever nobody wrote is wrong."""
    names = collections.Counter()
    written = {name: sent for writer in writers for name, sent in writer.posted.items()}
    for stored in sandbox.logs():
        name = stored.get("name")
        shown = {key: stored.get(key) for key in ("name", "noise", "sum")}
        trial.expect(
            written.get(name) == shown, f"{where}: a log arrived that nobody wrote like this: {str(stored)[:200]}"
        )
        names[name] += 1
    return names

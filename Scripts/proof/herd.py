"""Very many connections, in processes of their own, because each may only have so many."""

import multiprocessing
import resource
import select
import socket
import time

from device import Device, Lost
from promises import request, total

EACH = 8000  # Connections of one process.
HEAD = b"POST /logs/app HTTP/1.1\r\nHost: gateway\r\nX-Slow: "


class Herd:
    """`count` connections from several loopback addresses, at most 500 from each."""

    def __init__(self, port, count):
        self.members = []
        for first in range(0, count, EACH):
            ours, theirs = multiprocessing.Pipe()
            words = (theirs, port, first, min(EACH, count - first))
            process = multiprocessing.Process(target=live, args=words, daemon=True)
            process.start()
            self.members.append((process, ours))

    def ask(self, what):
        """What each part of the herd answers, added up by key."""
        for _, pipe in self.members:
            pipe.send(what)
        total = {}
        for _, pipe in self.members:
            for key, value in pipe.recv().items():
                total[key] = total.get(key, 0) + value
        return total

    def leave(self):
        for process, pipe in self.members:
            pipe.send(None)
            process.join(10)
            if process.is_alive():
                process.kill()


def live(pipe, port, first, count):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    devices = []
    while True:
        what = pipe.recv()
        if what is None:
            return
        pipe.send(globals()[what](devices, port, first, count))


def come(devices, port, first, count):
    """Opens all; those that are turned away have an answer, or their end, soon."""
    failed = 0
    for number in range(first, first + count):
        try:
            devices.append(Device(port, 20, f"127.1.{number // 500}.1"))
        except OSError:
            failed += 1
    return {"failed": failed}


def settle(devices, *_):
    """Parts with those that were turned away, and counts the rest."""
    counts = {"kept": 0, "503": 0, "closed": 0}
    for device in ready(devices):
        try:
            counts[str(device.answer()[0])] += 1
        except (Lost, OSError):
            counts["closed"] += 1
        device.close()
        devices.remove(device)
    return counts | {"kept": len(devices)}


def post(devices, _, first, __):
    """One log over each of a sample of all connections."""
    counts = {"lost": 0}
    for number, device in enumerate(devices[:: max(1, len(devices) // 200)]):
        name = f"{10**9 + first + number}|t|s|u|{int(time.time())}"
        device.socket.settimeout(2)
        try:
            key = str(device.post(*request([{"name": name, "noise": "0", "sum": total(name, "0")}]))[0])
        except Lost:
            key = "lost"
        counts[key] = counts.get(key, 0) + 1
        if counts["lost"] > 2:
            break
    return counts


def begin_slowly(devices, *_):
    for device in devices:
        device.socket.sendall(HEAD)
    return {"begun": len(devices)}


def drip(devices, *_):
    """One more byte of each head."""
    sent = 0
    for device in devices:
        try:
            device.socket.send(b"x", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            sent += 1
        except OSError:
            pass
    return {"sent": sent}


def ends(devices, *_):
    """How those ended that did, by the status that they were told."""
    counts = {}
    for device in ready(devices):
        try:
            key = str(device.answer()[0])
        except (Lost, OSError):
            key = "closed"
        counts[key] = counts.get(key, 0) + 1
        devices.remove(device)
    return counts


def leave(devices, *_):
    for device in devices:
        device.close()
    devices.clear()
    return {}


def ready(devices):
    poll = select.poll()
    by_number = {device.socket.fileno(): device for device in devices}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(500)]

"""Very many connections, from several loopback addresses."""

import contextlib
import resource
import select
import socket
import time
from collections import Counter
from random import Random

from proof.clients.device import ConnectionLost, Device, log
from proof.clients.promised_logs import request

HEAD = b"POST /logs/app HTTP/1.1\r\nHost: gateway\r\nX-Slow: "
# Descriptors of this process beside those of the connections.
OWN = 200


class ConnectionHerd:
    """`count` connections, at most 500 from each address. A refused one has an answer, or is closed, soon."""

    def __init__(self, port: int, count: int) -> None:
        self.limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = max(self.limits[1], count + OWN)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self.devices: dict[int, Device] = {}
        self.failed = 0
        for number in range(count):
            try:
                device = Device(port, 20, f"127.1.{number // 500}.1")
                self.devices[device.socket.fileno()] = device
            except OSError:
                self.failed += 1

    def drop_ended(self) -> Counter[str]:
        """Closes the connections that ended, and counts them by the status they received."""
        poll, counts = select.poll(), Counter[str]()
        for number in self.devices:
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll(500):
            device = self.devices.pop(number)
            try:
                counts[str(device.answer()[0])] += 1
            except (ConnectionLost, OSError):
                counts["closed"] += 1
            device.close()
        return counts

    def drop_refused(self) -> Counter[str]:
        """Repeats until no connection is refused any more."""
        turned = Counter({"503": 0, "closed": 0})
        while ended := self.drop_ended():
            turned.update(ended)
        return turned

    def post_sample(self) -> Counter[str]:
        counts = Counter(lost=0)
        for number, device in list(self.devices.items())[:: max(1, len(self.devices) // 500)]:
            name = f"{10**9 + number}|t|s|u|{int(time.time())}"
            device.socket.settimeout(2)
            try:
                counts[str(device.post(*request([log(name, Random(), noise="0")]))[0])] += 1
            except ConnectionLost:
                counts["lost"] += 1
            if counts["lost"] > 2:
                break
        return counts

    def send(self, piece: bytes) -> None:
        """Sends the piece on each connection that takes it at once."""
        for device in self.devices.values():
            with contextlib.suppress(OSError):
                device.socket.send(piece, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)

    def close(self) -> None:
        for device in self.devices.values():
            device.close()
        self.devices.clear()
        resource.setrlimit(resource.RLIMIT_NOFILE, self.limits)

"""Very many connections, in several processes, because each process has a descriptor limit."""

import contextlib
import multiprocessing
import resource
import select
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from random import Random

from proof.clients.device import ConnectionLost, Device, log
from proof.clients.promised_logs import request

Counts = Counter[str]


EACH = 8000  # Connections per process.
PATIENCE = 120  # Seconds for one command to all processes, on a busy machine.
HEAD = b"POST /logs/app HTTP/1.1\r\nHost: gateway\r\nX-Slow: "


class ConnectionHerd:
    """`count` connections from several loopback addresses, at most 500 from each."""

    def __init__(self, port: int, count: int) -> None:
        self.members: list[tuple[multiprocessing.Process, Connection]] = []
        for first in range(0, count, EACH):
            ours, theirs = multiprocessing.Pipe()
            # A forked process inherits our pipe ends. Unless it closes them, it never sees that we are gone.
            others = [ours, *(pipe for _, pipe in self.members)]
            words = (theirs, others, port, first, min(EACH, count - first))
            process = multiprocessing.Process(target=live, args=words, daemon=True)
            process.start()
            # Closed here, so that the end of that process closes the pipe.
            theirs.close()
            self.members.append((process, ours))

    def ask(self, what: str) -> Counts:
        """Sends a command to all processes, and adds up their answers by key."""
        for _, pipe in self.members:
            with contextlib.suppress(BrokenPipeError):  # Reading its answer reports this process.
                pipe.send(what)
        total: Counts = Counter()
        ends = time.monotonic() + PATIENCE
        for process, pipe in self.members:
            # Kinds without any stay: `update` keeps them.
            total.update(self.answer(process, pipe, what, ends))
        return total

    def answer(self, process: multiprocessing.Process, pipe: Connection, what: str, ends: float) -> Counts:
        if not pipe.poll(max(0, ends - time.monotonic())):
            raise RuntimeError(f"a process of the herd does not answer '{what}'")
        try:
            return pipe.recv()
        except EOFError:
            process.join(10)
            raise RuntimeError(f"a process of the herd ended with {process.exitcode} during '{what}'") from None

    def end(self) -> None:
        for process, pipe in self.members:
            # The process ends when its pipe is closed, unless it hangs.
            pipe.close()
            process.join(10)
            if process.is_alive():
                process.kill()


def live(pipe: Connection, others: list[Connection], port: int, first: int, count: int) -> None:
    for other in others:
        other.close()
    # The signals that end the proof end this process, too.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    devices: list[Device] = []
    while True:
        try:
            what = pipe.recv()
        except EOFError:
            return
        pipe.send(COMMANDS[what](devices, port, first, count))


def open_all(devices: list[Device], port: int, first: int, count: int) -> Counts:
    """Opens all connections. A refused one has an answer, or is closed, soon."""
    failed = 0
    for number in range(first, first + count):
        try:
            devices.append(Device(port, 20, f"127.1.{number // 500}.1"))
        except OSError:
            failed += 1
    return Counter(failed=failed)


def drop_refused(devices: list[Device], *_: object) -> Counts:
    """Closes the connections that were refused, and counts the others."""
    counts = Counter({"503": 0, "closed": 0})
    counts.update(count_ended(devices))
    counts["kept"] = len(devices)
    return counts


def post_sample(devices: list[Device], _: int, first: int, __: int) -> Counts:
    """Posts one log on each connection of a sample."""
    counts = Counter(lost=0)
    for number, device in enumerate(devices[:: max(1, len(devices) // 200)]):
        name = f"{10**9 + first + number}|t|s|u|{int(time.time())}"
        device.socket.settimeout(2)
        try:
            key = str(device.post(*request([log(name, Random(), noise="0")]))[0])
        except ConnectionLost:
            key = "lost"
        counts[key] += 1
        if counts["lost"] > 2:
            break
    return counts


def begin_heads(devices: list[Device], *_: object) -> Counts:
    """Sends the beginning of a head at once. `count_ended` finds the connections that were refused meanwhile."""
    for device in devices:
        with contextlib.suppress(OSError):
            device.socket.sendall(HEAD)
    return Counter()


def send_byte(devices: list[Device], *_: object) -> Counts:
    """Sends one more byte of each head."""
    for device in devices:
        with contextlib.suppress(OSError):
            device.socket.send(b"x", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    return Counter()


def count_ended(devices: list[Device], *_: object) -> Counts:
    """Closes the connections that ended, and counts them by the status they received."""
    counts: Counts = Counter()
    for device in ready(devices):
        try:
            key = str(device.answer()[0])
        except (ConnectionLost, OSError):
            key = "closed"
        counts[key] += 1
        device.close()
        devices.remove(device)
    return counts


def close_all(devices: list[Device], *_: object) -> Counts:
    for device in devices:
        device.close()
    devices.clear()
    return Counter()


def ready(devices: list[Device]) -> list[Device]:
    poll = select.poll()
    by_number = {device.socket.fileno(): device for device in devices}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(500)]


COMMANDS: dict[str, Callable[[list[Device], int, int, int], Counts]] = {
    "open": open_all,
    "drop refused": drop_refused,
    "post": post_sample,
    "begin heads": begin_heads,
    "send a byte": send_byte,
    "count ended": count_ended,
    "close": close_all,
}

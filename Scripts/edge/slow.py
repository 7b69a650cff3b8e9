"""Holds connections open, and measures how long other clients wait for their answers meanwhile."""

import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

import corpus

SECONDS = int(os.environ.get("EDGE_SECONDS", "6"))
ATTACKS = {"slow heads": 2000, "slow bodies": 2000, "slow readers": 50}
SLOWHTTPTEST = {
    "slow heads": ["-H", "-i", "2", "-x", "32"],
    "slow bodies": ["-B", "-i", "2", "-x", "32", "-s", "65536", "-t", "POST"],
}
# What a machine that does other things too may add to the slowest answer of a hundred.
NOISE = 0.010


class Clients:
    """Some that write as they always do, each on a connection that it keeps."""

    def __init__(self, port, count=8, pause=0.02):
        self.times, self.failures = [], []
        self.ended = threading.Event()
        self.threads = [
            threading.Thread(target=self.write, args=(port, number, pause)) for number in range(count)
        ]
        for thread in self.threads:
            thread.start()

    def write(self, port, number, pause):
        try:
            # Of another address than the attackers', as in life.
            with socket.create_connection(("127.0.0.1", port), 30, (f"127.0.1.{number + 1}", 0)) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                request = corpus.post(b'{"level":"info","message":"all is well"}\n' * 20)
                while not self.ended.wait(pause):
                    began = time.monotonic()
                    connection.sendall(request)
                    answer = connection.recv(65536)
                    self.times.append(time.monotonic() - began)
                    if not answer.startswith(b"HTTP/1.1 200 "):
                        self.failures.append(repr(answer[:200]))
                        return
        except OSError as error:
            self.failures.append(str(error))

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()


def measured(port, seconds):
    """The slowest answer of a hundred, and what went wrong."""
    clients = Clients(port)
    time.sleep(seconds)
    clients.end()
    times = sorted(clients.times) or [float("inf")]
    return times[len(times) * 99 // 100], clients.failures


def attack(gateway, name, count, work):
    """Returns when most of them are there."""
    port = gateway.devices
    if name == "slow readers":
        command = [sys.executable, pathlib.Path(__file__).with_name("readers.py"), str(port), str(count), str(SECONDS)]
        attacker = subprocess.Popen(command, stdin=subprocess.PIPE)
        # Until all of them have asked for more than they take: before that it is a flood, which is another thing.
        sent = -1
        while sent != (sent := gateway.figure('sluice_http_sent_bytes_total{listener="devices"}')):
            time.sleep(0.5)
        attacker.stdin.close()
        return attacker
    command = ["slowhttptest", "-c", str(count), "-r", str(count), "-l", str(SECONDS + 2), *SLOWHTTPTEST[name]]
    command += ["-p", "5", "-u", f"http://127.0.0.1:{port}/logs/edge"]
    with open(work / "slowhttptest.out", "ab") as out:
        attacker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    time.sleep(2)
    return attacker


class Round:
    """One attack, and the same clients before, meanwhile and afterwards."""

    def __init__(self, gateway, name, count, work):
        port, self.count = gateway.devices, count
        self.before, self.failures = measured(port, SECONDS / 2)
        attacker = attack(gateway, name, count, work)
        self.meanwhile, failures = measured(port, SECONDS)
        self.failures += failures
        self.held = gateway.figure('sluice_http_connections{listener="devices"}')
        attacker.wait(timeout=SECONDS + 60)
        self.afterwards, failures = measured(port, SECONDS / 2)
        self.failures += failures

    def wrong(self):
        yield from (f"a client was refused: {failure}" for failure in self.failures)
        if self.held < self.count / 2:
            yield f"only {self.held:.0f} connections were held: that proves nothing"
        normal = max(self.before, self.afterwards)
        if self.meanwhile > 2 * normal + NOISE:
            yield f"others waited {self.meanwhile / normal:.1f} times as long"


def check(gateway, work):
    """Lines about what is wrong."""
    lines = []
    measured(gateway.devices, 1)
    for name, count in ATTACKS.items():
        # Other work on the machine may slow a round or two down; an attack that works slows down all of them.
        for _ in range(4):
            round = Round(gateway, name, count, work)
            print(
                f"check-edge: {name}, {round.held:.0f} connections: 99 of 100 answers within "
                f"{round.meanwhile * 1000:.1f} ms, before {round.before * 1000:.1f} ms, "
                f"afterwards {round.afterwards * 1000:.1f} ms"
            )
            wrong = [f"{name}: {line}" for line in round.wrong()]
            if not wrong:
                break
        lines += wrong
    return lines

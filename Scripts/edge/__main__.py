"""Runs the framing corpus through proxies, then measures how long clients wait beside connections held open."""

import pathlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

from edge import corpus
from edge.framing import Proxies, check_framing
from harness.check import Check, run_check
from harness.gateway import Gateway
from harness.measures import delay
from harness.waiting import Worker, look_until

# The length of each attack.
SECONDS = 6
ATTACKS = {"slow heads": 2000, "slow bodies": 2000, "slow readers": 50}
SLOWHTTPTEST = {
    "slow heads": ["-H", "-i", "2", "-x", "32"],
    "slow bodies": ["-B", "-i", "2", "-x", "32", "-s", "65536", "-t", "POST"],
}
# Seconds that other work may add to the 99th percentile, times the delay of the machine.
NOISE = 0.010
# Other work may slow down a round or two. An attack that works slows down all of them.
ROUNDS = 4


class OrdinaryClients(Worker):
    """Clients that write at a steady pace, each on a connection that it keeps."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.times: list[float] = []
        self.failures: list[str] = []
        self.begin(8)

    def work(self, number: int) -> None:
        try:
            # From another address than the attackers', as in production.
            with socket.create_connection(("127.0.0.1", self.port), 30, (f"127.0.1.{number + 1}", 0)) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                request = corpus.post(b'{"level":"info","message":"all is well"}\n' * 20)
                while not self.ended.wait(0.02):
                    began = time.monotonic()
                    connection.sendall(request)
                    answer = connection.recv(65536)
                    self.times.append(time.monotonic() - began)
                    if not answer.startswith(b"HTTP/1.1 200 "):
                        self.failures.append(repr(answer[:200]))
                        return
        except OSError as error:
            self.failures.append(str(error))


def measure(port: int, seconds: float) -> tuple[float, list[str]]:
    clients = OrdinaryClients(port)
    time.sleep(seconds)
    clients.end()
    times = sorted(clients.times) or [float("inf")]
    return times[len(times) * 99 // 100], clients.failures


def start_attack(check: Check, gateway: Gateway, name: str, count: int) -> subprocess.Popen[bytes]:
    """Returns once most of the attack's connections are open."""
    port = gateway.devices
    if name == "slow readers":
        readers = pathlib.Path(__file__).with_name("readers.py")
        command = [sys.executable, str(readers), str(port), str(count), str(SECONDS)]
        attacker = subprocess.Popen(command, stdin=subprocess.PIPE)
        # Waits until all have requested more than they read. Before that they are a flood, which is another attack.
        sent = -1.0
        while sent != (sent := gateway.metric('sluice_http_sent_bytes_total{listener="devices"}')):
            time.sleep(0.5)
        assert attacker.stdin is not None
        attacker.stdin.close()
        return attacker
    command = ["slowhttptest", "-c", str(count), "-r", str(count), "-l", str(SECONDS + 2), *SLOWHTTPTEST[name]]
    command += ["-p", "5", "-u", f"http://127.0.0.1:{port}/logs/edge"]
    with open(check.work / "slowhttptest.out", "ab") as out:
        attacker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    # Less than half of them is a complaint later.
    look_until(lambda: gateway.metric('sluice_http_connections{listener="devices"}') >= count / 2, 10)
    return attacker


class Round:
    """One attack, with the ordinary clients measured before, during and after it."""

    def __init__(self, check: Check, gateway: Gateway, name: str, count: int) -> None:
        port, self.count = gateway.devices, count
        self.before, self.failures = measure(port, SECONDS / 2)
        attacker = start_attack(check, gateway, name, count)
        self.during, failures = measure(port, SECONDS)
        self.failures += failures
        self.held = gateway.metric('sluice_http_connections{listener="devices"}')
        attacker.wait(timeout=SECONDS + 60)
        self.noise = NOISE * delay()
        self.after, failures = measure(port, SECONDS / 2)
        self.failures += failures

    def complaints(self) -> Iterator[str]:
        yield from (f"a client was refused: {failure}" for failure in self.failures)
        if self.held < self.count / 2:
            yield f"only {self.held:.0f} connections were held, which proves nothing"
        normal = max(self.before, self.after)
        if self.during > 2 * normal + self.noise:
            yield f"other clients waited {self.during / normal:.1f} times as long"


def check_slow(check: Check, gateway: Gateway) -> None:
    measure(gateway.devices, 1)
    for name, count in ATTACKS.items():
        complaints: list[str] = []
        for _ in range(ROUNDS):
            round = Round(check, gateway, name, count)
            check.say(
                f"{name}, {round.held:.0f} connections: 99 of 100 answers within {round.during * 1000:.1f} ms, "
                f"before {round.before * 1000:.1f} ms, after {round.after * 1000:.1f} ms"
            )
            complaints = [f"{name}: {complaint}" for complaint in round.complaints()]
            if not complaints:
                break
        check.complaints += complaints


def check_edge(check: Check) -> None:
    destination = "  edge: { project: edge, logstore: edge, packet: { age: 50ms } }"
    gateway = check.gateway(destination, "limits: { connections_per_address: 10000 }", sandbox=True)
    proxies = Proxies(check.work, gateway.devices)
    check.programs.add(proxies)
    check_framing(check, gateway, proxies)
    proxies.kill()
    check_slow(check, gateway)
    check.stop(gateway)


run_check("check-edge", check_edge)

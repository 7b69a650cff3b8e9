"""Runs the framing corpus through proxies, then measures how long clients wait beside connections held open."""

import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator

from edge import corpus
from edge.framing import Proxies, check_framing
from harness.check import Check, run_check
from harness.gateway import Gateway
from harness.measures import delay
from harness.waiting import Worker, look_until
from proof.clients.neighbour import SteadyClients

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
QUESTIONS = b"OPTIONS /logs/edge HTTP/1.1\r\nHost: edge.example\r\n\r\n" * 1000
CONNECTIONS = 'sluice_http_connections{listener="devices"}'


def measure(port: int, seconds: float) -> tuple[float, list[str]]:
    """How long ordinary clients wait, and what they complain of."""
    clients = SteadyClients(port, 8, corpus.post(b'{"level":"info","message":"all is well"}\n' * 20))
    time.sleep(seconds)
    clients.end()
    times = sorted(clients.times) or [float("inf")]
    return times[len(times) * 99 // 100], clients.failures


class SlowReaders(Worker):
    """Clients that send requests and do not read the answers. slowhttptest has slow readers too, but the answers to its
    few requests fit into a socket's buffer and end at once."""

    def __init__(self, port: int, count: int) -> None:
        self.connections: list[socket.socket] = []
        for _ in range(count):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            connection.connect(("127.0.0.1", port))
            connection.setblocking(False)
            self.connections.append(connection)
        self.begin()

    def work(self, _: int) -> None:
        sent = [0] * len(self.connections)
        while not self.ended.wait(0.005):
            for index, connection in enumerate(self.connections):
                with contextlib.suppress(OSError):
                    sent[index] += connection.send(QUESTIONS[sent[index] % len(QUESTIONS) :])

    def end(self) -> None:
        super().end()
        for connection in self.connections:
            connection.close()


@contextlib.contextmanager
def attack(check: Check, gateway: Gateway, name: str, count: int) -> Iterator[None]:
    """The block begins once most of the attack's connections are open."""
    port = gateway.devices
    if name == "slow readers":
        readers = SlowReaders(port, count)
        # Waits until all have requested more than they read. Before that they are a flood, which is another attack.
        sent = -1.0
        while sent != (sent := gateway.metric('sluice_http_sent_bytes_total{listener="devices"}')):
            time.sleep(0.5)
        try:
            yield
        finally:
            readers.end()
        return
    command = ["slowhttptest", "-c", str(count), "-r", str(count), "-l", str(SECONDS + 2), *SLOWHTTPTEST[name]]
    command += ["-p", "5", "-u", f"http://127.0.0.1:{port}/logs/edge"]
    with open(check.work / "slowhttptest.out", "ab") as out:
        attacker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    # Less than half of them is a complaint later.
    look_until(lambda: gateway.metric(CONNECTIONS) >= count / 2, 10)
    yield
    attacker.wait(timeout=SECONDS + 60)


def round_of(check: Check, gateway: Gateway, name: str, count: int) -> list[str]:
    """One attack, with the ordinary clients measured before, during and after it. Returns the complaints."""
    before, refused = measure(gateway.devices, SECONDS / 2)
    with attack(check, gateway, name, count):
        during, more = measure(gateway.devices, SECONDS)
        held = gateway.metric(CONNECTIONS)
    noise = NOISE * delay()
    after, still = measure(gateway.devices, SECONDS / 2)
    check.say(
        f"{name}, {held:.0f} connections: 99 of 100 answers within {during * 1000:.1f} ms, "
        f"before {before * 1000:.1f} ms, after {after * 1000:.1f} ms"
    )
    complaints = [f"{name}: a client was refused: {failure}" for failure in refused + more + still]
    if held < count / 2:
        complaints.append(f"{name}: only {held:.0f} connections were held, which proves nothing")
    normal = max(before, after)
    if during > 2 * normal + noise:
        complaints.append(f"{name}: other clients waited {during / normal:.1f} times as long")
    return complaints


def check_slow(check: Check, gateway: Gateway) -> None:
    measure(gateway.devices, 1)
    for name, count in ATTACKS.items():
        rounds = (round_of(check, gateway, name, count) for _ in range(ROUNDS))
        # The first round without complaints ends them, otherwise those of the last one count.
        for complaints in rounds:
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

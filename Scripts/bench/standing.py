"""What a gateway takes that has little to do: its start, handshakes, and connections that send nothing."""

import argparse
import re
import resource
import socket
import ssl
import statistics
import subprocess
import time

from bench.cases import Case
from bench.load import Bench, benching
from harness.gateway import port_of
from harness.measures import cpu_seconds, memory

LIMITS = "limits: { connections: %d, connections_per_address: %d, idle_timeout: 600s }\n"


def start(bench: Bench, sluice: str) -> float:
    """Milliseconds from the start of the process, without a queue, until it says that it is ready."""
    with bench.gateway(Case("start"), sluice) as gateway:
        return gateway.ready_after * 1000


def idle(bench: Bench, sluice: str, count: int, tls: bool) -> tuple[float, float, float]:
    """Resident MiB without and with so many connections that send nothing, and how many came a second."""
    case = Case("idle", tls=tls, settings=LIMITS % (count + 1000, count + 1000))
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with bench.gateway(case, sluice) as gateway:
        port = port_of(gateway.wait_for("TLS listener is ready")["devices-tls"]) if tls else gateway.devices
        before, began = memory(gateway.process.pid, "VmRSS"), time.monotonic()
        connections: list[socket.socket] = []
        for number in range(count):
            # An address has some 28,000 ports for its connections to one listener.
            connection = socket.create_connection(("127.0.0.1", port), source_address=(f"127.0.0.{2 + number % 4}", 0))
            connections.append(context.wrap_socket(connection) if tls else connection)
        took = time.monotonic() - began
        gateway.ledger()
        with_all = memory(gateway.process.pid, "VmRSS")
        for connection in connections:
            connection.close()
        return before, with_all, count / took


def handshakes(bench: Bench, sluice: str, version: str, resumes: bool, seconds: int = 4) -> tuple[float, float]:
    """Connections a second, each with a handshake and one small question, from two clients on the same cores; and the
    gateway's CPU time for each, in microseconds."""
    with bench.gateway(Case("handshakes", tls=True), sluice) as gateway:
        port = port_of(gateway.wait_for("TLS listener is ready")["devices-tls"])
        words = ["openssl", "s_time", "-connect", f"127.0.0.1:{port}", "-www", "/healthz", f"-{version}"]
        words += ["-reuse" if resumes else "-new", "-time", str(seconds)]
        before, began = cpu_seconds(gateway.process.pid), time.monotonic()
        clients = [
            subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)
        ]
        for client in clients:
            bench.programs.add(client)
        texts = [client.communicate(timeout=seconds + 30)[0] for client in clients]
        took, spent = time.monotonic() - began, cpu_seconds(gateway.process.pid) - before
    # It prints a letter for each connection: r for a resumed session, * for a new one.
    letter = "r" if resumes else "*"
    made = sum(len(run) for text in texts for run in re.findall(rf"[{letter}]{{20,}}", text))
    if made < sum(int(number) for text in texts for number in re.findall(r"(\d+) connections in \d+ real", text)) * 0.9:
        raise SystemExit(f"standing: openssl made other handshakes than asked for: {texts[0][-300:]}")
    return made / took, spent / made * 1e6


def raise_limit(descriptors: int) -> None:
    """The limit of open files, which the gateway inherits."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, max(descriptors, most)))
    except ValueError:
        raise SystemExit(f"standing: {most} files may be open here; use --connections {most - 500}") from None


def main() -> None:
    parser = argparse.ArgumentParser(prog="Benchmarks/standing", description=__doc__)
    parser.add_argument("sluice", help="a release build")
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--connections", type=int, default=20_000)
    arguments = parser.parse_args()
    raise_limit(arguments.connections + 500)
    with benching(1) as bench:
        times = [start(bench, arguments.sluice) for _ in range(arguments.starts)]
        print(f"start, empty queue: {statistics.median(times):.0f} ms ({min(times):.0f} to {max(times):.0f})")
        for version in ("tls1_3", "tls1_2"):
            for resumes in (False, True):
                rate, cpu = handshakes(bench, arguments.sluice, version, resumes)
                kind = "with a ticket" if resumes else "new"
                print(f"{version} handshakes, {kind}: {rate:,.0f} a second, {cpu:.0f} us of CPU each")
        for tls in (False, True):
            before, after, rate = idle(bench, arguments.sluice, arguments.connections, tls)
            word = "TLS connections" if tls else "connections"
            print(f"{arguments.connections} idle {word}: {before:.0f} MiB before, {after:.0f} MiB with them", end="")
            print(f"; {rate:,.0f} came a second from one client")


main()

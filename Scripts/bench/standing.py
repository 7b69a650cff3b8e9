"""What a gateway takes that has little to do: its start, and connections that send nothing."""

import argparse
import os
import pathlib
import re
import resource
import socket
import ssl
import statistics
import subprocess
import tempfile
import time

from bench.cases import Case
from bench.load import Bench
from harness.gateway import Gateway, configuration
from harness.http import port_of

LIMITS = "limits: { connections: %d, connections_per_address: %d, idle_timeout: 600s }\n"


def memory(gateway: Gateway) -> float:
    """Resident MiB."""
    status = pathlib.Path(f"/proc/{gateway.process.pid}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


def start(bench: Bench, sluice: str) -> float:
    """Milliseconds from the start of the process, without a queue, until it says that it is ready."""
    data = bench.work / "start"
    subprocess.run(["rm", "-rf", data], check=True)
    file = bench.work / "start.yaml"
    destination = (
        f'  app: {{ endpoint: "http://localhost:{bench.sink_port}", project: bench, logstore: bench, region: bench }}'
    )
    credentials = "credentials: { default: { from: static, access_key_id: id, access_key_secret: secret } }"
    file.write_text(configuration(data, destination, credentials))
    began = time.monotonic()
    words = [sluice, "serve", "--config", str(file)]
    gateway = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    bench.programs.add(gateway)
    assert gateway.stdout is not None
    try:
        for line in gateway.stdout:
            if "sluice is ready" in line:
                return (time.monotonic() - began) * 1000
        raise SystemExit("standing: the gateway does not become ready")
    finally:
        gateway.terminate()
        gateway.communicate(timeout=20)


def idle(bench: Bench, sluice: str, count: int, tls: bool) -> tuple[float, float, float]:
    """Resident MiB without and with so many connections that send nothing, and how many came a second."""
    case = Case("idle", tls=tls, settings=LIMITS % (count + 1000, count + 1000))
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with bench.gateway(case, sluice) as gateway:
        port = port_of(gateway.wait_for("TLS listener is ready")["devices-tls"]) if tls else gateway.devices
        before, began = memory(gateway), time.monotonic()
        connections: list[socket.socket] = []
        for number in range(count):
            # An address has some 28,000 ports for its connections to one listener.
            connection = socket.create_connection(("127.0.0.1", port), source_address=(f"127.0.0.{2 + number % 4}", 0))
            connections.append(context.wrap_socket(connection) if tls else connection)
        took = time.monotonic() - began
        gateway.ledger()
        with_all = memory(gateway)
        for connection in connections:
            connection.close()
        return before, with_all, count / took


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
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(pathlib.Path(directory), os.environ["SLUICE_BENCH"], 1)
        try:
            times = [start(bench, arguments.sluice) for _ in range(arguments.starts)]
            print(f"start, empty queue: {statistics.median(times):.0f} ms ({min(times):.0f} to {max(times):.0f})")
            for tls in (False, True):
                before, after, rate = idle(bench, arguments.sluice, arguments.connections, tls)
                word = "TLS connections" if tls else "connections"
                print(
                    f"{arguments.connections} idle {word}: {before:.0f} MiB before, {after:.0f} MiB with them", end=""
                )
                print(f"; {rate:,.0f} came a second from one client")
        finally:
            bench.programs.end()


main()

"""One case on one release: a fresh gateway, a load of wrk, and the figures of both."""

import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Unpack

from bench import counter, requests
from bench.cases import DESTINATIONS, Case, Floor, Sink
from harness.certificates import make_certificate
from harness.gateway import Gateway, ask, port_of
from harness.measures import cpu_seconds, machine_times, memory
from harness.program import LaunchOptions, Programs
from harness.queues import Brokers, Database

# Unless --seconds says otherwise.
FLOOR_SECONDS = 6
# A slow sink may leave half of the load's logs.
DRAIN_SECONDS = 300
LOADER = pathlib.Path(__file__).parents[2] / "Benchmarks" / "post.lua"


@dataclasses.dataclass
class Result:
    """Rates are logs a second over the steady part of the load; CPU is seconds per million delivered logs, delivery
    included; times are milliseconds. `idle` is the share of the machine's processor time that nothing used, and `waiting`
    the part of it in which something waited for the disk. `left` is the share of the load's logs that wait when it ends."""

    accepted: float
    delivered: float
    left: float
    cpu: float
    p50: float
    p99: float
    half_p99: float | None
    memory: int
    errors: int
    idle: float = 0
    waiting: float = 0
    # Instructions for each delivered log, where the machine counts them.
    instructions: float | None = None
    # Only for a load at a fixed rate; `answered` is in requests a second.
    p999: float = 0
    longest: float = 0
    answered: float = 0


@dataclasses.dataclass
class FloorResult:
    """Logs a second, CPU seconds per million logs, and microseconds of a sync: half of them, 99 %, the longest."""

    rate: float
    cpu: float
    syncs: tuple[float, ...]


class Bench:
    """The programs and files that all cases share: sinks in place of SLS, bodies, a certificate. `seconds` is the length
    of each load; without it, the cases' own."""

    def __init__(self, work: pathlib.Path, program: str, seconds: float | None, programs: Programs) -> None:
        self.work, self.program, self.seconds, self.programs = work, program, seconds, programs
        self.sinks: dict[Sink, int] = {}

    def sink(self, kind: Sink) -> int:
        """Its port."""
        if kind not in self.sinks:
            words = [self.program, *kind.words]
            if kind.tls:
                key, certificate = self.certificate()
                words += ["--certificate", str(certificate), "--key", str(key)]
            sink = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            self.programs.add(sink)
            assert sink.stdout is not None
            self.sinks[kind] = int(sink.stdout.readline())
        return self.sinks[kind]

    def destination(self, case: Case, name: str) -> str:
        scheme, more = ("https", f", ca_file: {self.certificate()[1]}") if case.sink.tls else ("http", "")
        return (
            f'  {name}: {{ endpoint: "{scheme}://localhost:{self.sink(case.sink)}", project: {name}, logstore: "{case.logstore}", '
            f"region: bench, exactly_once: {str(case.exactly_once).lower()}, compress: {case.compression}{more} }}"
        )

    def bodies(self, kind: str) -> pathlib.Path:
        directory = self.work / f"bodies-{kind}"
        if not directory.exists():
            subprocess.run([self.program, "bodies", directory, kind], check=True, stdout=subprocess.DEVNULL)
        return directory

    def requests(self, case: Case) -> pathlib.Path:
        bodies, directory = self.bodies(case.bodies), self.work / f"requests-{case.bodies}-{case.form}"
        if case.form == "group":
            return bodies
        if not directory.exists():
            requests.write(case.form, bodies, directory)
        return directory

    def floor(self, floor: Floor) -> FloorResult:
        directory = self.bodies(floor.bodies)
        running = []
        for number in range(floor.threads):
            scratch = self.work / f"floor-{number}"
            scratch.mkdir(exist_ok=True)
            for file in scratch.iterdir():
                file.unlink()
            words = [self.program, "floor", str(directory), str(scratch), str((self.seconds or FLOOR_SECONDS) / 2)]
            words += ["--batches", str(floor.batches), "--store", floor.store]
            running.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
            self.programs.add(running[-1])
        texts = [each.communicate(timeout=600)[0] for each in running]
        found = [{name: float(value) for name, value in re.findall(r"(\w+)=(\S+)", text)} for text in texts]
        return FloorResult(
            rate=sum(one["floor_logs_per_second"] for one in found),
            cpu=sum(one["floor_cpu_seconds_per_million"] for one in found) / len(found),
            syncs=tuple(found[0].get(f"sync_{name}_us", 0) for name in ("p50", "p99", "longest")),
        )

    def certificate(self) -> tuple[pathlib.Path, pathlib.Path]:
        key, certificate = self.work / "key.pem", self.work / "certificate.pem"
        if not key.exists():
            # A project is part of the host's name, and curl takes no wildcard before a single label.
            make_certificate(certificate, key, "localhost", [f"{name}.localhost" for name in DESTINATIONS])
        return key, certificate

    def measure(self, case: Case, sluice: str) -> Result:
        with self.gateway(case, sluice) as gateway:
            return self.measure_running(case, gateway)

    @contextlib.contextmanager
    def gateway(self, case: Case, sluice: str, **more: Unpack[LaunchOptions]) -> Iterator[Gateway]:
        destinations = "\n".join(self.destination(case, name) for name in case.destinations)
        settings = case.settings
        if case.tls:
            key, certificate = self.certificate()
            settings += f'tls: {{ listen: "127.0.0.1:0", certificate: {certificate}, key: {key} }}\n'
        data = self.work / "data"
        shutil.rmtree(data, ignore_errors=True)
        engine: Brokers | Database | None = None
        if case.engine != "sqlite":
            work = pathlib.Path(tempfile.mkdtemp(dir=self.work))
            engine = Brokers(work, self.programs) if case.engine == "jetstream" else Database(self.programs)
            settings += engine.settings("bench")
        options: LaunchOptions = {"programs": self.programs, "binary": sluice, **more}
        gateway = Gateway(self.work, data, destinations, settings, seconds=60, **options)
        try:
            yield gateway
        finally:
            gateway.stop()
            if engine is not None:
                engine.kill()

    def measure_running(self, case: Case, gateway: Gateway) -> Result:
        url = f"http://127.0.0.1:{gateway.devices}"
        if case.tls:
            ready = gateway.wait_for("TLS listener is ready")
            url = f"https://127.0.0.1:{port_of(ready['devices-tls'])}"
        if case.capture:
            ask(gateway.admin, "/admin/captures", method="POST", body=case.capture.encode(), token=gateway.token)
        finish(self.start(case, url, 1))
        gateway.require_drained()
        instructions = counter.Counter(gateway.process.pid, self.programs) if counter.is_there() else None
        before, cpu = gateway.ledger()["ledger"], cpu_seconds(gateway.process.pid)
        seconds = self.seconds or case.seconds
        load = self.start(case, url, seconds)
        # The first quarter warms up; rates are those of the part between the two looks.
        time.sleep(seconds / 4)
        first, began, used = gateway.ledger()["ledger"], time.monotonic(), machine_times()
        time.sleep(seconds * 0.65)
        last, took = gateway.ledger()["ledger"], time.monotonic() - began
        times = [after - before for before, after in zip(used, machine_times())]
        wrk = finish(load)
        end = gateway.ledger()["ledger"]
        after = gateway.require_drained(DRAIN_SECONDS)["ledger"]
        spent, delivered = cpu_seconds(gateway.process.pid) - cpu, max(after["delivered"] - before["delivered"], 1)
        counted = instructions.end() / delivered if instructions else None
        rate = (last["accepted"] - first["accepted"]) / took
        half = None
        if case.half:
            # The pause of a connection between an answer and its next request.
            pause = case.connections * 1000 / (rate / case.logs / 2) - wrk["p50_ms"] * 0.7
            half = finish(self.start(case, url, seconds / 2, pause))["p99_ms"]
        return Result(
            accepted=rate,
            delivered=(last["delivered"] - first["delivered"]) / took,
            left=end["queued"] / max(end["accepted"] - before["accepted"], 1),
            cpu=spent / delivered * 1e6,
            instructions=counted,
            p50=wrk["p50_ms"],
            p99=wrk["p99_ms"],
            half_p99=half,
            memory=int(memory(gateway.process.pid)),
            errors=int(wrk["errors"] + wrk["not_2xx"]),
            p999=wrk.get("p999_ms", 0),
            longest=wrk["max_ms"],
            answered=wrk["requests"] / wrk["seconds"],
            idle=(times[3] + times[4]) / sum(times),
            waiting=times[4] / sum(times),
        )

    def start(self, case: Case, url: str, seconds: float, pause: float = 0) -> "subprocess.Popen[str]":
        words = ["wrk", "-t1", f"-c{case.connections}", f"-d{max(seconds, 1):.0f}s", "--latency"]
        words += ["-s", str(LOADER), url, "--", str(self.requests(case)), f"{max(pause, 0):.0f}"]
        if case.rate:
            words = [self.program, "open", str(self.requests(case)), url.rpartition(":")[2], "--rate", str(case.rate)]
            words += ["--connections", str(case.connections), "--seconds", str(seconds)]
        load = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.programs.add(load)
        return load


@contextlib.contextmanager
def benching(seconds: float | None) -> Iterator[Bench]:
    """A bench in a directory of its own, with the program that $SLUICE_BENCH names. A terminated one ends its programs."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    programs = Programs()
    with tempfile.TemporaryDirectory() as directory:
        try:
            yield Bench(pathlib.Path(directory), os.environ["SLUICE_BENCH"], seconds, programs)
        finally:
            programs.end()


def finish(load: "subprocess.Popen[str]") -> dict[str, float]:
    text = load.communicate(timeout=600)[0]
    line = next(line for line in text.splitlines() if line.startswith(("wrk ", "open ")))
    return {name: float(value) for name, value in (pair.split("=") for pair in line.split()[1:])}

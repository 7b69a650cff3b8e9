"""One case on one release: a fresh gateway, a load of wrk, and the figures of both."""

import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator

from bench.cases import Case
from harness.certificates import make_certificate
from harness.gateway import Gateway, ask, port_of
from harness.measures import cpu_seconds, machine_times, memory
from harness.program import Programs
from harness.queues import Brokers, Database

LOADER = pathlib.Path(__file__).parents[2] / "Benchmarks" / "post.lua"


@dataclasses.dataclass
class Result:
    """Rates are logs a second over the steady part of the load; CPU is seconds per million delivered logs, delivery
    included; times are milliseconds. `idle` is the share of the machine's processor time that nothing used, and `waiting`
    the part of it in which something waited for the disk."""

    accepted: float
    delivered: float
    backlog: int
    cpu: float
    p50: float
    p99: float
    half_p99: float | None
    memory: int
    errors: int
    idle: float = 0
    waiting: float = 0


class Bench:
    """The programs and files that all cases share: a sink in place of SLS, bodies, a certificate."""

    def __init__(self, work: pathlib.Path, program: str, seconds: float, programs: Programs) -> None:
        self.work, self.program, self.seconds, self.programs = work, program, seconds, programs
        self.sink = subprocess.Popen([program, "sink", "0"], stdout=subprocess.PIPE, text=True)
        self.programs.add(self.sink)
        assert self.sink.stdout is not None
        self.sink_port = int(self.sink.stdout.readline())

    def bodies(self, kind: str) -> pathlib.Path:
        directory = self.work / f"bodies-{kind}"
        if not directory.exists():
            subprocess.run([self.program, "bodies", directory, kind], check=True, stdout=subprocess.DEVNULL)
        return directory

    def floor(self, kind: str, processes: int) -> tuple[float, float]:
        """Logs a second, and CPU seconds per million logs, of so many floors beside each other."""
        directory = self.bodies(kind)
        floors = []
        for number in range(processes):
            scratch = self.work / f"floor-{number}"
            scratch.mkdir(exist_ok=True)
            for file in scratch.iterdir():
                file.unlink()
            words = [self.program, "floor", str(directory), str(scratch), str(self.seconds)]
            floors.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
            self.programs.add(floors[-1])
        texts = [floor.communicate(timeout=self.seconds * 5 + 30)[0] for floor in floors]
        rate = sum(float(re.findall(r"floor_logs_per_second=(\S+)", text)[0]) for text in texts)
        cpu = [float(re.findall(r"floor_cpu_seconds_per_million=(\S+)", text)[0]) for text in texts]
        return rate, sum(cpu) / len(cpu)

    def certificate(self) -> tuple[pathlib.Path, pathlib.Path]:
        key, certificate = self.work / "key.pem", self.work / "certificate.pem"
        if not key.exists():
            make_certificate(certificate, key, "bench")
        return key, certificate

    def measure(self, case: Case, sluice: str) -> Result:
        with self.gateway(case, sluice) as gateway:
            return self.measure_running(case, gateway)

    @contextlib.contextmanager
    def gateway(self, case: Case, sluice: str) -> Iterator[Gateway]:
        destinations = "\n".join(
            f'  {name}: {{ endpoint: "http://localhost:{self.sink_port}", project: {name}, logstore: "*", '
            f"region: bench, exactly_once: {str(case.exactly_once).lower()} }}"
            for name in case.destinations
        )
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
        gateway = Gateway(self.work, data, destinations, settings, programs=self.programs, binary=sluice)
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
        before, cpu = gateway.ledger()["ledger"], cpu_seconds(gateway.process.pid)
        load = self.start(case, url, self.seconds)
        # The first quarter warms up; rates are those of the part between the two looks.
        time.sleep(self.seconds / 4)
        first, began, used = gateway.ledger()["ledger"], time.monotonic(), machine_times()
        time.sleep(self.seconds * 0.65)
        last, took = gateway.ledger()["ledger"], time.monotonic() - began
        times = [after - before for before, after in zip(used, machine_times())]
        wrk = finish(load)
        after = gateway.require_drained(120)["ledger"]
        spent = cpu_seconds(gateway.process.pid) - cpu
        rate = (last["accepted"] - first["accepted"]) / took
        half = None
        if case.half:
            logs = 1 if case.bodies == "single" else 100
            # The pause of a connection between an answer and its next request.
            pause = case.connections * 1000 / (rate / logs / 2) - wrk["p50_ms"] * 0.7
            half = finish(self.start(case, url, self.seconds / 2, pause))["p99_ms"]
        return Result(
            accepted=rate,
            delivered=(last["delivered"] - first["delivered"]) / took,
            backlog=last["queued"] - first["queued"],
            cpu=spent / max(after["delivered"] - before["delivered"], 1) * 1e6,
            p50=wrk["p50_ms"],
            p99=wrk["p99_ms"],
            half_p99=half,
            memory=int(memory(gateway.process.pid)),
            errors=int(wrk["errors"] + wrk["not_2xx"]),
            idle=(times[3] + times[4]) / sum(times),
            waiting=times[4] / sum(times),
        )

    def start(self, case: Case, url: str, seconds: float, pause: float = 0) -> "subprocess.Popen[str]":
        words = ["wrk", "-t1", f"-c{case.connections}", f"-d{max(seconds, 1):.0f}s", "--latency"]
        words += ["-s", str(LOADER), url, "--", str(self.bodies(case.bodies)), f"{max(pause, 0):.0f}"]
        load = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.programs.add(load)
        return load


@contextlib.contextmanager
def benching(seconds: float) -> Iterator[Bench]:
    """A bench in a directory of its own, with the program that $SLUICE_BENCH names."""
    programs = Programs()
    with tempfile.TemporaryDirectory() as directory:
        try:
            yield Bench(pathlib.Path(directory), os.environ["SLUICE_BENCH"], seconds, programs)
        finally:
            programs.end()


def finish(load: "subprocess.Popen[str]") -> dict[str, float]:
    text = load.communicate(timeout=600)[0]
    line = next(line for line in text.splitlines() if line.startswith("wrk "))
    return {name: float(value) for name, value in (pair.split("=") for pair in line.split()[1:])}

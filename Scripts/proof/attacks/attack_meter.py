"""Sends hostile requests one after the other, and measures answers and costs."""

import re
import socket
import time

from harness.calibration import delay, slowness
from harness.gateway import Gateway
from harness.process import cpu_seconds
from proof.clients.device import ConnectionLost, Device
from proof.trial import Trial

# Seconds of wall time that a request may take, times the delay of the machine.
PATIENCE = 10
# Processor seconds allowed for the worst body, and the allowed multiple of the cost of an ordinary body of the same
# size; the sum is multiplied by the slowness of the machine.
EFFORT, FOLD = 0.5, 12


class AttackMeter:
    """Sends requests and measures what they cost."""

    def __init__(self, trial: Trial, gateway: Gateway, size: int) -> None:
        self.trial, self.gateway, self.pid = trial, gateway, gateway.process.pid
        self.count = 0
        self.slowest, self.costliest = (0.0, ""), (0.0, "")
        self.ordinary = self.ordinary_cost(size)

    def ordinary_cost(self, size: int, times: int = 3) -> float:
        """The processor seconds of an ordinary body: one log per line."""
        line = b'{"level":"info","message":"' + b"x" * 200 + b'","n":1}\n'
        device, before = Device(self.gateway.devices, 30, address="127.0.9.1"), cpu_seconds(self.pid)
        for _ in range(times):
            status, answer = device.post("/logs/floods", line * (size // len(line)), "Content-Type: application/json")
            self.trial.expect(status == 200, f"an ordinary body: answer {status} {answer[:200]!r}")
        device.close()
        self.gateway.require_drained()
        return (cpu_seconds(self.pid) - before) / times

    def body(self, name: str, path: str, content: bytes, fields: list[str], right: set[int]) -> bool:
        before, began = cpu_seconds(self.pid), time.monotonic()
        try:
            device = Device(self.gateway.devices, 30, address="127.0.9.1")
            status, answer = device.post(path, content, *fields)
            device.close()
        except ConnectionLost as error:
            status, answer = None, str(error).encode()
        return self.judge(name, status, right, answer, before, began)

    def head(self, name: str, request: bytes, right: int) -> bool:
        before, began = cpu_seconds(self.pid), time.monotonic()
        status, answer = converse(self.gateway.devices, request)
        return self.judge(name, status, {right}, answer, before, began)

    def judge(self, name: str, status: int | None, right: set[int], answer: bytes, before: float, began: float) -> bool:
        took, used = time.monotonic() - began, cpu_seconds(self.pid) - before
        self.count += 1
        self.slowest, self.costliest = max(self.slowest, (took, name)), max(self.costliest, (used, name))
        self.trial.expect(status in right, f"{name}: answer {status} instead of {sorted(right)}: {answer[:200]!r}")
        allowed = EFFORT + FOLD * self.ordinary
        fine = took < PATIENCE and used < allowed
        if not fine:
            allowed *= slowness()
            fine = took < PATIENCE * delay() and used < allowed
        told = f"{name}: took {took:.1f} s, {used:.2f} s of processor time; {allowed:.2f} s are allowed"
        return self.trial.expect(fine, told)

    def say(self, what: str) -> None:
        self.trial.say(
            f"{what}: {self.count} requests, {self.slowest[0]:.2f} s at most ({self.slowest[1]}), "
            f"{self.costliest[0]:.2f} s of processor time at most ({self.costliest[1]}), "
            f"an ordinary body {self.ordinary:.2f} s"
        )
        self.count, self.slowest, self.costliest = 0, (0, ""), (0, "")


def converse(port: int, request: bytes) -> tuple[int | None, bytes]:
    """Sends as many bytes as the server accepts. Returns the first status and everything that arrived."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), 10, ("127.0.9.2", 0)) as connection:
        try:
            connection.sendall(request)
        except OSError:
            pass  # The server has answered and closed; its answer may still be readable.
        try:
            while piece := connection.recv(65536):
                answer += piece
                if b"\r\n\r\n" in answer:
                    break
        except OSError:
            pass
    found = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
    return int(found[1]) if found else None, answer

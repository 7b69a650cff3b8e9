"""A gateway whose socket a service manager holds refuses no connection and loses no request while it is restarted."""

import contextlib
import itertools
import os
import pathlib
import shutil
import signal
import socket
import sys
import time
from typing import Any

from harness.gateway import Gateway, Sandbox
from harness.waiting import Worker, wait_until
from proof.clients.device import Device, message, request
from proof.clients.promised_logs import PromisedLogs
from proof.clients.promised_logs import request as logs_request
from proof.trial import Trial

RESTARTS = 10
# Devices with a connection for each request, and those that keep one; together they send 200 requests a second.
EACH, RATE = 4, 200
# Answers between two restarts.
BETWEEN = 200
WATCHDOG = 0.4
# Gives the passed socket the first free number, and tells that it is meant for this process.
PASS = """import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid())}
os.execv(sys.argv[2], sys.argv[2:])
"""


class Manager:
    """What systemd does with Type=notify, WatchdogSec= and a socket unit."""

    def __init__(self, trial: Trial, sandbox: Sandbox) -> None:
        self.trial, self.sandbox = trial, sandbox
        self.devices = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = self.devices.getsockname()[1]
        self.path = str(trial.work / "notify")
        self.news = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.news.bind(self.path)

    def start(self, program: pathlib.Path) -> Gateway:
        told = {
            "NOTIFY_SOCKET": self.path,
            "WATCHDOG_USEC": str(int(WATCHDOG * 1e6)),
            "SLUICE_LISTEN": f"127.0.0.1:{self.port}",
        }
        number = self.devices.fileno()
        gateway = self.trial.gateway(
            self.sandbox,
            binary=str(program),
            environment=told,
            before=(sys.executable, "-c", PASS, str(number)),
            descriptors=(number,),
        )
        self.wait_for("READY=1")
        return gateway

    def wait_for(self, line: str) -> None:
        """Reads news until the line comes."""
        self.news.settimeout(60)
        while line not in self.news.recv(4096).decode().split("\n"):
            pass

    def stop(self, gateway: Gateway) -> None:
        gateway.signal(signal.SIGTERM)
        self.wait_for("STOPPING=1")
        code = gateway.process.wait(60)
        self.trial.expect(code == 0, f"a stop ends with {code}")


class Senders(Worker):
    """Devices whose every request must be answered with 200. Even ones keep their connection until an answer ends it."""

    def __init__(self, trial: Trial, port: int) -> None:
        self.trial, self.port = trial, port
        self.promises = PromisedLogs(trial.random)
        self.slowest = 0.0
        self.begin(2 * EACH)

    def work(self, number: int) -> None:
        device: Device | None = None
        began = time.monotonic()
        for turn in itertools.count():
            # A late turn follows at once.
            if self.ended.wait(max(0, began + turn * 2 * EACH / RATE - time.monotonic())):
                break
            device = self.post(device or Device(self.port, seconds=60), keeps=number % 2 == 0)
        if device:
            device.close()

    def post(self, device: Device, keeps: bool) -> Device | None:
        logs = self.promises.logs(1)
        asked = time.monotonic()
        device.socket.sendall(request(*logs_request(logs), *([] if keeps else ["Connection: close"])))
        answer = b""
        with contextlib.suppress(OSError):
            while not message(answer) and (piece := device.socket.recv(65536)):
                answer += piece
        found = message(answer)
        kind = "a kept" if keeps else "a new"
        if self.trial.expect(found and found.status == 200, f"a request on {kind} connection is answered {answer!r}"):
            self.promises.answered |= {log["name"] for log in logs}
        self.slowest = max(self.slowest, time.monotonic() - asked)
        if found and found.fields.get("connection") != "close":
            return device
        device.close()
        return None


def check(trial: Trial) -> None:
    sandbox = trial.sandbox()
    manager = Manager(trial, sandbox)
    first = pathlib.Path(os.environ["SLUICE"])
    gateway = manager.start(first)
    gateway.signal(signal.SIGHUP)
    manager.wait_for("RELOADING=1")
    manager.wait_for("READY=1")
    for _ in range(3):
        manager.wait_for("WATCHDOG=1")
    senders = Senders(trial, manager.port)
    upgrade = trial.work / "sluice"
    shutil.copy(first, upgrade)
    times = []
    for number in range(RESTARTS + 1):
        answered = len(senders.promises.answered)
        wait_until(lambda: len(senders.promises.answered) >= answered + BETWEEN, what="requests get no answer")
        began = time.monotonic()
        manager.stop(gateway)
        gateway = manager.start(upgrade if number == RESTARTS else first)
        times.append(time.monotonic() - began)
    senders.end()
    told: dict[str, Any] = gateway.require_drained()
    trial.expect(told["closed"], f"the ledger is not closed: {told}")
    arrived = senders.promises.arrived(sandbox)
    trial.expect(not arrived.missing, f"{len(arrived.missing)} answered logs are lost")
    trial.expect(not arrived.altered, f"{len(arrived.altered)} logs are altered")
    trial.say(
        f"{len(senders.promises.answered)} requests through {RESTARTS} restarts and an upgrade of {max(times):.1f} s at most; the slowest "
        f"answer took {senders.slowest:.1f} s"
    )

"""Carries out the plan: faults of SLS, of the network, of keys, of processes, and an operator's changes."""

import json
import signal
import time
from collections.abc import Callable
from random import Random
from typing import Any

from harness.gateway import TOKEN
from harness.http import ask
from harness.sandbox import Sandbox
from proof.faults.log_server import LogServer
from proof.scenarios.judge import plan
from proof.scenarios.judge.faulty_network import Network
from proof.scenarios.judge.gateway_run import GatewayRun
from proof.scenarios.judge.keys import Keys
from proof.scenarios.judge.plan import Change, Round
from proof.trial import Trial


class Disruptions:
    def __init__(self, trial: Trial, sandbox: Sandbox, server: LogServer, source: Callable[[], Random]) -> None:
        """`source` makes a random generator for each user whose draws depend on timing."""
        self.trial, self.sandbox, self.server = trial, sandbox, server
        self.networks = [trial.remember(Network(sandbox.port, source())) for _ in range(2)]
        self.keys = Keys(trial, sandbox, source())
        self.pauses, self.changes = 0, 0
        # True while an operator has paused delivery.
        self.is_held = False

    def prepare_round(self, round: Round) -> None:
        """Sets the faults and limits of SLS for a round."""
        self.sandbox.clear_faults()
        for fault in round.faults:
            self.sandbox.fault(**fault)
        self.sandbox.control("DELETE", "/limits")
        if round.limit:
            self.sandbox.control("POST", "/limits", round.limit)

    def apply(self, kind: str, detail: Any, run: GatewayRun) -> None:
        if kind == "key":
            self.keys.apply(detail, run.gateway)
        elif kind == "pause":
            name, seconds = detail
            self.pause(name, seconds, run)
        elif kind == "operator":
            self.change(detail, run)
        elif kind == "server":
            self.server.mode = detail
        else:
            self.networks[int(kind.split(" ")[1])].set_mode(detail)

    def pause(self, name: str, seconds: float, run: GatewayRun) -> None:
        began = time.monotonic()
        program = self.sandbox if name == "sandbox" else run.gateway
        self.pauses += program.is_running
        program.signal(signal.SIGSTOP)
        time.sleep(seconds)
        program.signal(signal.SIGCONT)
        if name == "gateway":
            run.pauses.append((began, time.monotonic()))

    def change(self, change: Change, run: GatewayRun) -> None:
        method, path, document = change
        body = None if document is None else json.dumps(document).encode()
        try:
            ask(run.gateway.admin, f"/admin/{path}", method, body, token=TOKEN, timeout=10)
            self.changes += 1
            self.is_held = (self.is_held and change != plan.RESUME) or change == plan.PAUSE
        except OSError as error:
            self.trial.wrong(f"{method} /admin/{path} {document}: {error}")

    def end(self, run: GatewayRun) -> None:
        """Removes all faults. The gateway must notice by itself; only an operator's pause is taken back through the
        admin API."""
        self.sandbox.clear_faults()
        self.sandbox.control("DELETE", "/limits")
        for network in self.networks:
            network.set_mode("open")
        self.server.mode = "open"
        if self.is_held:
            self.change(plan.RESUME, run)
        self.keys.apply("restore", run.gateway)

"""A gateway in a directory of its own, from its start to the comparison of promised and arrived logs."""

import json
import pathlib
from typing import Any

from harness.sandbox import Sandbox
from proof.clients.device import Device
from proof.clients.promised_logs import PromisedLogs
from proof.trial import Case, Trial


class Life(Case):
    """A gateway, a device, and what the device was promised."""

    def __init__(
        self,
        trial: Trial,
        sandbox: Sandbox,
        name: str,
        settings: str = "",
        directory: pathlib.Path | None = None,
        **options: Any,
    ) -> None:
        self.trial, self.sandbox, self.name, self.settings = trial, sandbox, name, settings
        self.options = options
        self.data = (directory or trial.work) / name.replace(" ", "-")
        self.promises = PromisedLogs(trial.random)
        self.start()

    def start(self) -> None:
        self.gateway = self.trial.gateway(self.sandbox, data=self.data, settings=self.settings, **self.options)
        self.device = Device(self.gateway.devices, seconds=30)

    def post(self, count: int = 4, size: int = 300) -> int | None:
        status = self.promises.post(self.device, self.promises.logs(count, size))
        if status is None:
            self.device = Device(self.gateway.devices, seconds=30)
        return status

    def state(self) -> tuple[str, str | None, bool]:
        """The queue's admission state and problem, and whether the gateway is ready."""
        status = json.loads(self.gateway.ask("/admin/status"))
        return status["queue"]["admission"], status["queue"]["problem"], status["ready"]

    def check_after_kill(self, keeps_running: bool = False) -> None:
        """Kills and restarts the gateway. It must deliver everything it promised, and its ledger must add up."""
        self.gateway.kill()
        self.start()
        ledger = self.gateway.drain(30)
        arrived = self.promises.arrived(self.sandbox)
        missing = self.promises.answered - arrived.names
        self.expect(not missing, f"{len(missing)} of {len(self.promises.answered)} answered logs are lost")
        self.expect(ledger["closed"] and not ledger["ledger"]["queued"], f"the ledger: {ledger}")
        self.expect(not arrived.altered, f"altered: {arrived.altered[:1]}")
        self.promises.answered.clear()
        if not keeps_running:
            self.gateway.kill()
        self.sandbox.control("DELETE", "/logs")

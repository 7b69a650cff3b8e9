"""A gateway under load while the servers of its queue are broken, and the verdict about its logs."""

import shutil

from harness.gateway import Gateway
from proof.clients.device import Device
from proof.clients.senders import Senders
from proof.trial import Trial

# Seconds after which commits must go on: an election takes 4 to 9, and a request that was refused is sent again.
GOES_ON_WITHIN = 60


class LoadedGateway:
    """A gateway under load while the servers of its queue are broken."""

    def __init__(self, trial: Trial, settings: str) -> None:
        self.trial, self.sandbox, self.settings = trial, trial.sandbox(), settings
        self.gateway = self.start()
        self.senders = Senders(trial, lambda: Device(self.gateway.devices, 30), batch=20)

    def start(self) -> Gateway:
        return self.trial.gateway(self.sandbox, self.settings, data=self.trial.work / "steady", seconds=60)

    @property
    def answered(self) -> int:
        return self.senders.answered

    def goes_on(self, what: str) -> None:
        """Waits for answers. The first wait of all is not for an outage."""
        if not self.senders.go_on(what, GOES_ON_WITHIN):
            self.trial.say("\n".join(str(event) for event in list(self.gateway.events())[-20:]))

    def end(self) -> None:
        self.senders.stop()
        ledger = self.gateway.drain()
        self.trial.expect(ledger["closed"] and not ledger["ledger"]["queued"], f"the ledger is open: {ledger}")
        self.gateway.kill()
        shutil.rmtree(self.trial.work / "steady")
        again = self.start()
        after = again.ledger()
        self.trial.expect(after == ledger, f"after the loss of its machine the ledger is {after}, before {ledger}")
        arrived, senders = self.senders.judge(self.sandbox), self.senders
        self.trial.say(f"{len(senders.promises.answered)} logs answered, {arrived.count} arrived")
        self.trial.say(
            f"longest wait for commits {senders.longest:.1f} s, {senders.refused} requests refused meanwhile"
        )

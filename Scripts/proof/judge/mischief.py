"""What the plan says, done: to SLS, to the network, to keys, to processes, by an operator."""

import json
import signal
import time

from judge import plan
from judge.keys import Keys
from judge.network import Network
from program import TOKEN, ask


class Mischief:
    def __init__(self, trial, sandbox, source):
        """`source` makes sources of chance, one for each that draws when it happens to."""
        self.trial, self.sandbox = trial, sandbox
        self.networks = [trial.remember(Network(sandbox.port, source())) for _ in range(2)]
        self.keys = Keys(sandbox, source())
        self.pauses, self.changes = 0, 0

    def arrange(self, round):
        """What SLS does in a round."""
        self.sandbox.peace()
        for fault in round.faults:
            self.sandbox.fault(**fault)
        self.sandbox.control("DELETE", "/limits")
        if round.limit:
            self.sandbox.control("POST", "/limits", round.limit)

    def happen(self, kind, detail, life):
        if kind == "key":
            self.keys.happen(detail, life.gateway)
        elif kind == "pause":
            self.pause(*detail, life)
        elif kind == "operator":
            self.change(*detail, life)
        else:
            self.networks[int(kind.split(" ")[1])].become(detail)

    def pause(self, name, seconds, life):
        began = time.monotonic()
        program = self.sandbox if name == "sandbox" else life.gateway
        program.signal(signal.SIGSTOP)
        time.sleep(seconds)
        program.signal(signal.SIGCONT)
        self.pauses += 1
        if name == "gateway":
            life.pauses.append((began, time.monotonic()))

    def change(self, method, path, document, life):
        body = None if document is None else json.dumps(document).encode()
        try:
            ask(life.gateway.admin, f"/admin/{path}", method, body, token=TOKEN, timeout=10)
            self.changes += 1
        except OSError as error:
            self.trial.wrong(f"{method} /admin/{path} {document}: {error}")

    def end(self, life):
        """Peace."""
        self.sandbox.peace()
        self.sandbox.control("DELETE", "/limits")
        for network in self.networks:
            network.become("open")
        self.change(*plan.RESUME, life)
        self.keys.is_amiss = True
        for _ in range(5):
            if self.keys.is_amiss:
                self.keys.mend(life.gateway)
        self.trial.expect(not self.keys.is_amiss, "no key could be given to the gateway")

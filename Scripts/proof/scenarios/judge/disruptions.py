"""Carries out the plan: faults of SLS, of the network, of keys, of processes, and an operator's changes."""

import http.client
import json
import signal
import time
import urllib.error
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from harness.gateway import TOKEN, Gateway, Sandbox, ask
from harness.measures import busy
from harness.program import KEY
from proof.faults.servers import LogServer
from proof.scenarios.judge import plan
from proof.scenarios.judge.faulty_network import Network
from proof.scenarios.judge.plan import Change, Round
from proof.trial import Trial

Key = dict[str, str]
FIRST = {
    "access_key_id": KEY["ALIBABA_CLOUD_ACCESS_KEY_ID"],
    "access_key_secret": KEY["ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
}
PATH = "/admin/credentials/default"
# Seconds: a verification asks one endpoint after the other, each for a full request timeout.
PATIENCE = 20
# SLS refuses the key; no endpoint answered.
UNPROVED = (422, 502)


class Keys:
    """SLS accepts the keys in `good`. The gateway has one of them, unless something `is_amiss`."""

    def __init__(self, trial: Trial, sandbox: Sandbox, random: Random) -> None:
        self.trial, self.sandbox, self.random = trial, sandbox, random
        self.good = [FIRST]
        self.revoked: list[Key] = []
        self.pushed, self.refused = 0, 0
        self.is_amiss = False
        # The fingerprint of the last push. The gateway confirmed that it stored this key.
        self.kept = None

    def apply(self, what: str, gateway: Gateway) -> None:
        if what == "restore":
            # A push without need would hide that the gateway has lost its key.
            if self.is_amiss:
                # SLS accepts all former keys again, and the gateway gets one of them.
                for key in self.revoked:
                    self.sandbox.control("POST", "/keys", key)
                self.good, self.revoked = [*self.revoked, *self.good], []
                self.is_amiss = not self.push(gateway, self.good[-1])
        elif what == "wrong":
            self.is_amiss = True
            self.push(gateway, {"access_key_id": "nobody", "access_key_secret": "knows"})
        elif what == "revoke":
            self.is_amiss = True
            self.revoked += self.good
            self.remove(self.good)
            self.good = []
        else:
            self.rotate(gateway, what)

    def rotate(self, gateway: Gateway, what: str) -> None:
        """A new key. The old ones are removed as soon as the gateway has confirmed the new one."""
        number = self.random.getrandbits(48)
        key = {"access_key_id": f"id-{number}", "access_key_secret": f"secret-{number}"}
        if what == "token":
            key |= {"security_token": f"token-{number}"}
        self.sandbox.control("POST", "/keys", key)
        old, self.good = self.good, [*self.good, key]
        if self.push(gateway, key, is_proved=what == "rotate"):
            self.remove(old)
            self.good, self.revoked, self.is_amiss = [key], [], False

    def remove(self, keys: list[Key]) -> None:
        for key in keys:
            self.sandbox.control("DELETE", f"/keys?access_key_id={key['access_key_id']}")

    def push(self, gateway: Gateway, key: Key, is_proved: bool = False) -> bool:
        """True if the gateway accepted and stored the key. It may refuse a key that it has to verify first."""
        document = dict(key)
        if "security_token" in key:
            document["expiration"] = "2099-01-01T00:00:00Z"
        path = PATH if is_proved else f"{PATH}?force=true"
        try:
            answer = json.loads(ask(gateway.admin, path, "PUT", json.dumps(document).encode(), TOKEN, PATIENCE))
        except urllib.error.HTTPError as error:
            told = f"PUT {path}: {error.code} {error.read()[:300]!r}"
            self.trial.expect(is_proved and error.code in UNPROVED, told)
            self.refused += 1
            return False
        except (OSError, http.client.HTTPException) as error:
            self.trial.wrong(f"PUT {path}: {type(error).__name__}: {error}")
            return False
        self.pushed += 1
        self.kept = answer["fingerprint"]
        return self.trial.expect(answer["stored"], f"PUT {path}: the key is not stored: {answer}")

    def check_key(self, gateway: Gateway) -> None:
        """After a start the gateway must use the key that was pushed last."""
        if self.kept:
            used = json.loads(ask(gateway.admin, PATH, token=TOKEN))
            self.trial.expect(used.get("fingerprint") == self.kept, f"{self.kept} was pushed, in use is {used}")


class GatewayRun:
    """A gateway process, with the periods in which it was stopped by a signal."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.began, self.ended = gateway.began, float("inf")
        self.pauses: list[tuple[float, float]] = []
        self.is_asked = False
        # The delay of the machine at its start.
        self.late = 1.0

    def starved(self) -> float:
        """Seconds for which its threads wanted to run and had no core."""
        return sum(waited for _, waited in busy(self.gateway.process.pid).values())

    def ask_to_end(self) -> None:
        self.is_asked = True
        self.gateway.signal(signal.SIGTERM)

    def end(self) -> bool:
        """Kills the process. Returns whether it was still alive."""
        was_alive = self.gateway.is_running
        self.gateway.kill()
        self.ended = time.monotonic()
        return was_alive

    def wrong(self, was_alive: bool) -> Iterator[str]:
        """Complaints after its end: it ended by itself, or its journal has an error. A crash writes its reason
        between the journal's lines."""
        code = self.gateway.process.returncode
        killed = was_alive and code == -signal.SIGKILL
        if not killed and not (self.is_asked and code == 0):
            yield f"the gateway ended by itself with {code}"
        *lines, rest = self.gateway.journal.read_text(errors="replace").split("\n")
        # A kill can interrupt the writing of a line.
        lines += [rest] if rest and not killed else []
        bad = [line for line in lines if is_bad(line)]
        yield from (f"the journal says: {line[:300]}" for line in bad[:10])
        if len(bad) > 10:
            yield f"and {len(bad) - 10} more such lines"


def is_bad(line: str) -> bool:
    try:
        return json.loads(line)["level"] == "error"
    except (ValueError, TypeError, KeyError):
        return True


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
            self.pause(run, *detail)
        elif kind == "operator":
            self.change(detail, run)
        elif kind == "server":
            self.server.mode = detail
        else:
            self.networks[int(kind.split(" ")[1])].set_mode(detail)

    def pause(self, run: GatewayRun, name: str, seconds: float) -> None:
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
        """Removes all faults. The gateway must notice by itself; only an operator's pause is taken back."""
        self.sandbox.clear_faults()
        self.sandbox.control("DELETE", "/limits")
        for network in self.networks:
            network.set_mode("open")
        self.server.mode = "open"
        if self.is_held:
            self.change(plan.RESUME, run)
        self.keys.apply("restore", run.gateway)

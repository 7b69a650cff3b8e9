"""The access keys of SLS and of the gateway, and how they change."""

import http.client
import json
import urllib.error
from random import Random

from harness.gateway import TOKEN, Gateway
from harness.http import ask
from harness.program import KEY
from harness.sandbox import Sandbox
from proof.trial import Trial

Key = dict[str, str]


FIRST = {
    "access_key_id": KEY["ALIBABA_CLOUD_ACCESS_KEY_ID"],
    "access_key_secret": KEY["ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
}
PATH = "/admin/credentials/default"
# Seconds. A verification asks one endpoint after the other, each for a full request timeout, on a machine that may
# be busy.
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
                self.restore(gateway)
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
            self.trial.expect(
                used.get("fingerprint") == self.kept, f"{self.kept} was pushed and stored, but in use is {used}"
            )

    def restore(self, gateway: Gateway) -> None:
        """SLS accepts all former keys again, and the gateway gets one of them."""
        for key in self.revoked:
            self.sandbox.control("POST", "/keys", key)
        self.good, self.revoked = [*self.revoked, *self.good], []
        self.is_amiss = not self.push(gateway, self.good[-1])

"""The keys of SLS and of the gateway, and what becomes of them."""

import http.client
import json

from program import KEY, TOKEN, ask

FIRST = {
    "access_key_id": KEY["ALIBABA_CLOUD_ACCESS_KEY_ID"],
    "access_key_secret": KEY["ALIBABA_CLOUD_ACCESS_KEY_SECRET"],
}


class Keys:
    """SLS takes those in `good`. The gateway has one of them, unless something `is_amiss`."""

    def __init__(self, sandbox, random):
        self.sandbox, self.random = sandbox, random
        self.good, self.revoked = [FIRST], []
        self.pushed, self.refused = 0, 0
        self.is_amiss = False

    def happen(self, what, gateway):
        if what == "mend":
            self.mend(gateway)
        elif what == "wrong":
            self.is_amiss = True
            self.push(gateway, {"access_key_id": "nobody", "access_key_secret": "knows"}, "?force=true")
        elif what == "revoke":
            self.is_amiss = True
            self.revoked += self.good
            self.forget(self.good)
            self.good = []
        else:
            self.rotate(gateway, what)

    def rotate(self, gateway, what):
        """A new key; the old ones end as soon as the gateway has said that it uses it."""
        number = self.random.getrandbits(48)
        key = {"access_key_id": f"id-{number}", "access_key_secret": f"secret-{number}"}
        if what == "token":
            key |= {"security_token": f"token-{number}"}
        self.sandbox.control("POST", "/keys", key)
        old, self.good = self.good, [*self.good, key]
        if self.push(gateway, key, "" if what == "rotate" else "?force=true"):
            self.forget(old)
            self.good, self.revoked = [key], []

    def forget(self, keys):
        for key in keys:
            self.sandbox.control("DELETE", f"/keys?access_key_id={key['access_key_id']}")

    def push(self, gateway, key, how):
        """Whether the gateway has the key, and keeps it over a restart."""
        document = dict(key)
        if "security_token" in key:
            document["expiration"] = "2099-01-01T00:00:00Z"
        try:
            body = json.dumps(document).encode()
            path = f"/admin/credentials/default{how}"
            answer = json.loads(ask(gateway.admin, path, "PUT", body, token=TOKEN, timeout=1))
            self.pushed += 1
            return answer["stored"]
        except (OSError, http.client.HTTPException):
            self.refused += 1
            return False

    def mend(self, gateway):
        """What SLS took it takes again, and the gateway has one of them."""
        for key in self.revoked:
            self.sandbox.control("POST", "/keys", key)
        self.good, self.revoked = [*self.revoked, *self.good], []
        self.is_amiss = not self.push(gateway, self.good[-1], "?force=true")

"""The program as people start it: a gateway, a sandbox; what they say, and how they end."""

import itertools
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request

from undisturbed import undisturbed

# What the machine says about proxies is for others.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
KEY = {"ALIBABA_CLOUD_ACCESS_KEY_ID": "prove-id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "prove-secret"}
TOKEN = "prove-admin-token-0123456789abcdef0123456789abcdef"
numbers = itertools.count(1)


class DidNotStart(Exception):
    pass


class NotEmptied(Exception):
    """Not an OSError, which would look like a connection that broke."""


class Program:
    """A process with its journal in a file. `before` is what goes in front of it, as strace. It is one of `programs`,
    for whoever ends all of them, before it has said a word."""

    def __init__(self, work, name, words, environment=None, before=(), preexec=None, programs=None):
        self.journal = work / f"{name}-{next(numbers)}.journal"
        command = [*before, os.environ["SLUICE"], *words]
        inherited = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "TMPDIR", "LANG")}
        # Between the new process and the note of it nobody may come.
        with undisturbed(), open(self.journal, "wb") as journal:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=journal,
                env=inherited | KEY | (environment or {}),
                preexec_fn=preexec,
            )
            if programs is not None:
                programs.append(self)

    def said(self, event, seconds=20):
        """The first line of the journal with this event, as soon as it is there."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            ended = self.process.poll() is not None
            for line in self.lines():
                if line.get("event") == event or line.get("message") == event:
                    return line
            if ended:
                break
            time.sleep(0.005)
        raise DidNotStart(f"the journal does not say '{event}':\n{self.journal.read_text()[-2000:]}")

    def begun(self, event, seconds=20):
        """As `said`; a program that does not say it is ended, and so is one that nobody waits for any longer."""
        try:
            return self.said(event, seconds)
        except BaseException:
            self.kill()
            raise

    def lines(self):
        """The journal so far, without a line that is not whole."""
        for line in self.journal.read_text(errors="replace").splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue

    @property
    def is_running(self):
        return self.process.poll() is None

    def signal(self, number):
        if self.is_running:
            self.process.send_signal(number)

    def kill(self):
        """Ends it at once, whatever state it is in."""
        self.signal(signal.SIGKILL)
        self.process.wait()

    def stop(self, seconds=60):
        """Asks it to end, and returns its exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(seconds)


class Sandbox(Program):
    """SLS's look-alike, which keeps what arrives."""

    def __init__(self, work, port=0, storage=None, **options):
        words = ["sandbox", "--listen", f"127.0.0.1:{port}"] + (["--storage", storage] if storage else [])
        super().__init__(work, "sandbox", words, **options)
        self.port = port_of(self.begun("sandbox listening")["address"])

    def control(self, method, path, document=None):
        body = None if document is None else json.dumps(document).encode()
        return json.loads(ask(self.port, path, method=method, body=body) or b"null")

    def fault(self, **fault):
        return self.control("POST", "/faults", fault)

    def peace(self):
        self.control("DELETE", "/faults")

    def logs(self):
        """All that arrived, in its order, and is still kept."""
        after, more = 0, True
        while more:
            page, after, more = self.page(after)
            yield from page

    def page(self, after, logstore=""):
        """Some logs behind a place, the place up to which that goes, and whether there are more."""
        only = f"&logstore={logstore}" if logstore else ""
        path = f"/logs?details=1&limit=100000&after={after}{only}"
        with direct.open(f"http://127.0.0.1:{self.port}{path}", timeout=120) as answer:
            page = [json.loads(line) for line in answer]
            return page, answer.headers.get("x-sandbox-cursor", after), answer.headers.get("x-sandbox-more") == "true"


class Gateway(Program):
    """A gateway on a data directory. `settings` are lines of YAML for the whole, `destination` is more of the one
    destination, `others` are lines for more of them, `destinations` lines in the place of all. Without `wait` it may be
    killed before it is ready; without a token it makes its own, in its data directory."""

    def __init__(
        self,
        work,
        sandbox,
        settings="",
        destination="",
        others="",
        destinations=None,
        data=None,
        token=TOKEN,
        seconds=20,
        wait=True,
        **options,
    ):
        self.data, self.own_token = data or work / "data", token
        file = work / f"sluice-{next(numbers)}.yaml"
        where = sandbox if isinstance(sandbox, str) else f"http://localhost:{sandbox.port}"
        way = f'endpoint: "{where}", project: demo, logstore: "*", region: sandbox'
        one = f"  app: {{ {way}, packet: {{ age: 50ms }} {destination} }}"
        lines = [
            "listen: 127.0.0.1:0",
            f'admin: {{ listen: "127.0.0.1:0"{f", token: {token}" if token else ""} }}',
            f"data_dir: {self.data}",
            *settings.splitlines(),
            "destinations:",
            *(destinations or one).splitlines(),
            *others.splitlines(),
        ]
        file.write_text("\n".join(lines) + "\n")
        self.began = time.monotonic()
        super().__init__(work, "gateway", ["serve", "--config", str(file)], **options)
        if wait:
            self.ready(seconds)

    def ready(self, seconds=20):
        ready = self.begun("sluice is ready", seconds)
        self.ready_after = time.monotonic() - self.began
        self.devices, self.admin = port_of(ready["devices"]), port_of(ready["admin"])

    def ask(self, path, method="GET", body=None):
        return ask(self.admin, path, method=method, body=body, token=self.token)

    @property
    def token(self):
        return self.own_token or (self.data / "admin-token").read_text().strip()

    def ledger(self):
        """Counters of the whole, and whether they add up: {"closed": …, "ledger": {…}}."""
        return json.loads(self.ask("/admin/ledger"))

    def drained(self, seconds=60):
        """The ledger once nothing is queued any more, or as it is when that takes too long."""
        deadline = time.monotonic() + seconds
        while True:
            ledger = self.ledger()
            if ledger["ledger"]["queued"] == 0 or time.monotonic() > deadline:
                return ledger
            time.sleep(0.05)

    def emptied(self, seconds=60):
        """As `drained`, for those who go on as if nothing were queued: then nothing must be."""
        whole = self.drained(seconds)
        if whole["ledger"]["queued"]:
            raise NotEmptied(f"after {seconds} s there are still logs in the queue: {whole['ledger']}")
        return whole

    def figure(self, name):
        """What /metrics says under a name with its labels."""
        for line in self.ask("/metrics").decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise KeyError(f"/metrics has no {name}")


def port_of(address):
    return int(address.rsplit(":", 1)[1])


def ask(port, path, method="GET", body=None, token=None, timeout=30):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data=body, method=method)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    if body is not None:
        request.add_header("Content-Type", "application/json")
    with direct.open(request, timeout=timeout) as answer:
        return answer.read()

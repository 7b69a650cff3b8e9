"""rsyslog and syslog-ng of Debian, with the settings of docs/clients/syslog.md.

Messages arrive while the gateway accepts them, while it refuses them, and while it is away and both daemons restart.
"""

import json
import os
import pathlib
import re
import socket
import time

from clients.arrivals import Arrivals, Sent
from harness.check import Check
from harness.gateway import Gateway
from harness.program import Program
from harness.queues import free_port
from harness.sources import ROOT
from harness.waiting import look_until, wait_until

DESTINATIONS = """
  first: { project: first, logstore: "*", endpoint: "http://127.0.0.1:%d", region: sandbox, packet: { age: 50ms } }
"""
# What operators have already, between the first line of the page and the rest.
RSYSLOG = """
global(workDirectory="{work}")
module(load="imuxsock" SysSock.Use="off")
module(load="imtcp")
input(type="imuxsock" socket="{work}/local")
input(type="imtcp" address="127.0.0.1" port="{port}")
"""
SYSLOG_NG = """@version: 3.38
source s_src {{
  unix-dgram("{work}/local");
  syslog(ip("127.0.0.1") port({port}) transport("tcp") keep-hostname(yes));
}};
"""
TEXTS = {
    "plain": b"",
    "quotes": rb' "quoted" \ \n {"a": 1} %41',
    "lines": b" first\nsecond\tand a tab",
    "UTF-8": " 世界 \U0001f600".encode(),
    "damaged": b" cut \xe4\xb8 and \xff",
    "long": b" " + b"x" * 60_000,
}
STRUCTURE = {"origin@32473": {"ip": "10.0.0.1", "note": 'a "b" ] \\ 世'}, "x@1": {"c": "2"}}
STRUCTURED = r'[origin@32473 ip="10.0.0.1" note="a \"b\" \] \\ 世"][x@1 c="2"]'


def example(mark: str) -> str:
    """The one example of the page with these words."""
    page = (ROOT / "docs/clients/syslog.md").read_text()
    found = [text for text in re.findall(r"^```\w*\n(.*?)^```", page, re.M | re.S) if mark in text]
    if len(found) != 1:
        raise LookupError(f"docs/clients/syslog.md has {len(found)} examples with '{mark}', expected one")
    return found[0]


class Daemon:
    """A daemon that forwards the messages of its two inputs to a gateway."""

    name: str
    # What becomes of bytes that are no UTF-8, in Python's words.
    damage: str

    def __init__(self, check: Check, unpacked: pathlib.Path, gateway: int) -> None:
        self.check, self.unpacked, self.gateway, self.port = check, unpacked, gateway, free_port()
        self.work = check.work / self.name
        self.work.mkdir()
        (self.work / "configuration").write_text(self.configuration())

    def configuration(self) -> str:
        raise NotImplementedError

    def command(self) -> list[str]:
        raise NotImplementedError

    def example(self, mark: str) -> str:
        """As `example`, with the places of this trial."""
        text = example(mark).replace("logs.example.com:8080", f"127.0.0.1:{self.gateway}")
        return re.sub(r"/(usr/local/bin|var/spool/sluice|var/lib/syslog-ng)\b", str(self.work), text)

    def launch(self, name: str, binary: str, *words: str) -> Program:
        # Where syslog-ng has libraries of its own.
        environment = {"LD_LIBRARY_PATH": f"{self.unpacked}/usr/lib/syslog-ng"}
        return Program(self.work, name, words, binary=binary, environment=environment, programs=self.check.programs)

    def start(self) -> None:
        self.program = self.launch(self.name, *self.command())
        wait_until(self.hears, what=f"{self.name} does not listen")

    def hears(self) -> bool:
        try:
            self.local_socket().close()
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True

    def local_socket(self) -> socket.socket:
        local = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            local.connect(str(self.work / "local"))
        except OSError:
            local.close()
            raise
        local.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        return local

    def stop(self) -> None:
        code = self.program.stop()
        self.check.expect(code == 0, f"{self.name} ended with {code}:\n{self.program.journal.read_text()}")

    def write(self, arrivals: Arrivals, moment: str) -> None:
        """Messages as programs of this host send them (RFC 3164), and as other hosts do (RFC 5424 over TCP)."""
        here = {"facility": "user", "severity": "warning", "program": "checkout", "pid": "4711"}
        here["host"] = socket.gethostname().partition(".")[0]
        there = {"facility": "local4", "severity": "notice", "host": "web-1", "program": "basket", "pid": "42"}
        there["structured_data"] = json.dumps(STRUCTURE)
        with self.local_socket() as local, socket.create_connection(("127.0.0.1", self.port)) as remote:
            for kind, text in TEXTS.items():
                message = f"{self.name} {moment} {kind} here".encode() + text
                self.expect(arrivals, message, here)
                local.send(f"<12>{time.strftime('%b %e %H:%M:%S')} checkout[4711]: ".encode() + message)

                message = f"{self.name} {moment} {kind} there".encode() + text
                seconds, micros = divmod(time.time_ns() // 1000, 1_000_000)
                self.expect(arrivals, message, there, seconds, micros * 1000)
                when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{micros:06}Z"
                whole = f"<165>1 {when} web-1 basket 42 ID47 {STRUCTURED} ".encode() + message
                remote.sendall(f"{len(whole)} ".encode() + whole)

    def expect(self, arrivals: Arrivals, message: bytes, fields: dict[str, str], *moment: int) -> None:
        text = message.decode("utf-8", self.damage)
        # The gateway marks what it replaced.
        marks = {"__invalid_utf8__": "message"} if "\ufffd" in text else {}
        when = moment or (None, None)
        arrivals.expect(Sent(fields | {"message": text} | marks, "first", "syslog", "syslog", "", {}, *when))


class Rsyslog(Daemon):
    """With the program that posts its files, which is killed without a warning."""

    name, damage = "rsyslog", "replace"

    def configuration(self) -> str:
        own = RSYSLOG.format(work=self.work, port=self.port)
        return self.example("global(") + own + self.example("omfile")

    def command(self) -> list[str]:
        (modules,) = self.unpacked.glob("usr/lib/*/rsyslog")
        files = ["-f", f"{self.work}/configuration", "-i", f"{self.work}/pid"]
        return [f"{self.unpacked}/usr/sbin/rsyslogd", "-n", "-M", str(modules), *files]

    def start(self) -> None:
        poster = self.work / "sluice-spool"
        poster.write_text(self.example("def post"))
        poster.chmod(0o755)
        self.poster = self.launch("sluice-spool", str(poster))
        super().start()

    def stop(self) -> None:
        self.poster.kill()
        super().stop()


class SyslogNG(Daemon):
    name, damage = "syslog-ng", "backslashreplace"

    def configuration(self) -> str:
        return SYSLOG_NG.format(work=self.work, port=self.port) + self.example("http(")

    def command(self) -> list[str]:
        (modules,) = self.unpacked.glob("usr/lib/syslog-ng/[0-9]*")
        files = ["-f", "configuration", "-R", "persist", "-p", "pid", "-c", "control"]
        files = [word if word.startswith("-") else f"{self.work}/{word}" for word in files]
        return [f"{self.unpacked}/usr/sbin/syslog-ng", "-F", "--no-caps", f"--module-path={modules}", *files]


class Trial:
    """A gateway that is refusing, gone, and back at the same address."""

    def __init__(self, check: Check) -> None:
        self.check, self.sandbox, self.port = check, check.sandbox(), free_port()
        self.arrivals = Arrivals(self.gateway(), self.sandbox)
        unpacked = pathlib.Path(os.environ["SYSLOG_DAEMONS"])
        self.daemons = [kind(check, unpacked, self.port) for kind in (Rsyslog, SyslogNG)]

    def gateway(self) -> Gateway:
        destinations = DESTINATIONS % self.sandbox.port
        return self.check.gateway(destinations, data="syslog", listen=f"127.0.0.1:{self.port}")

    def write(self, moment: str) -> None:
        for daemon in self.daemons:
            daemon.write(self.arrivals, moment)

    def wait_for_arrival(self) -> None:
        arrived = lambda: sum(1 for _ in self.sandbox.logs()) >= len(self.arrivals.expected)
        if not look_until(arrived, 60, pause=0.2):
            self.check.wrong(*self.arrivals.complaints())
            self.check.fail("not all messages arrived")

    def refuse(self) -> None:
        """Until both daemons have been answered with 503."""
        gateway = self.arrivals.gateway
        gateway.ask("/admin/drain", "POST")
        self.write("refused")

        def refused() -> bool:
            refusals = json.loads(gateway.ask("/admin/refusals"))["refusals"]
            agents = {str(refusal["agent"]).partition(" ")[0] for refusal in refusals if refusal["status"] == 503}
            return agents >= {"sluice-spool", "syslog-ng"}

        wait_until(refused, what="the daemons do not try again while the gateway refuses logs")
        gateway.ask("/admin/drain", "DELETE")

    def restart(self) -> None:
        self.check.stop(self.arrivals.gateway)
        self.write("away")
        for daemon in self.daemons:
            daemon.stop()
            daemon.start()
        self.write("restarted")
        self.arrivals.gateway = self.gateway()


def check_daemons(check: Check) -> None:
    trial = Trial(check)
    for daemon in trial.daemons:
        daemon.start()
    trial.write("open")
    for change in (trial.refuse, trial.restart):
        trial.wait_for_arrival()
        change()
    trial.wait_for_arrival()
    for daemon in trial.daemons:
        daemon.stop()
    check.complaints += trial.arrivals.complaints()
    check.say(f"{len(trial.arrivals.expected)} logs of rsyslog and syslog-ng")
    check.stop(trial.arrivals.gateway)

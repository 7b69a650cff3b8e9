"""A gateway that delivers to a sandbox of its own."""

import json
import os
import re
import secrets
import subprocess
import time
import urllib.request

# What the machine says about proxies is for others.
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Gateway:
    def __init__(self, work):
        self.token = secrets.token_hex(32)
        configuration = work / "sluice.yaml"
        configuration.write_text(
            f"""
listen: 127.0.0.1:0
admin: {{ listen: "127.0.0.1:0", token: {self.token} }}
data_dir: {work / "data"}
limits: {{ connections_per_address: 10000 }}
destinations:
  edge: {{ project: edge, logstore: edge, packet: {{ age: 50ms }} }}
"""
        )
        self.log = work / "gateway.log"
        command = [os.environ["SLUICE"], "serve", "--sandbox", "--config", configuration]
        with open(self.log, "wb") as log, open(work / "gateway.out", "wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=log)
        self.sandbox = self.said("sandbox listening", "address")
        self.devices = self.said("sluice is ready", "devices")
        self.admin = self.said("sluice is ready", "admin")

    def said(self, event, name):
        """The port that the program says under a name."""
        for _ in range(200):
            for line in self.log.read_text().splitlines():
                if event in line:
                    return int(re.search(f'"{name}":"[^"]*:([0-9]+)"', line)[1])
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit(f"check-edge: the gateway does not say '{event}':\n{self.log.read_text()}")

    def stored(self):
        """All logs at SLS, once nothing is on its way any more."""
        for _ in range(300):
            ledger = json.loads(self.ask(self.admin, "/admin/ledger"))
            if ledger["closed"] and ledger["ledger"]["queued"] == 0:
                break
            time.sleep(0.1)
        else:
            raise SystemExit(f"check-edge: logs do not arrive: {ledger}")
        text = self.ask(self.sandbox, "/logs?limit=100000").decode()
        return [json.loads(line) for line in text.splitlines()]

    def figure(self, name):
        """What /metrics says under a name."""
        for line in self.ask(self.admin, "/metrics").decode().splitlines():
            if line.startswith(name + " "):
                return float(line.split()[1])
        raise SystemExit(f"check-edge: /metrics has no {name}")

    def ask(self, port, path):
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}")
        request.add_header("Authorization", f"Bearer {self.token}")
        with direct.open(request, timeout=60) as answer:
            return answer.read()

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=60)

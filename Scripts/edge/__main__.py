"""Hostile and slow clients, and the proxies that they may come through."""

import pathlib
import sys
import tempfile

import framing
import slow
from gateway import Gateway
from proxies import Proxies

with tempfile.TemporaryDirectory(prefix="sluice-edge-") as directory:
    work = pathlib.Path(directory)
    gateway = Gateway(work)
    try:
        proxies = Proxies(work, gateway.devices)
        try:
            wrong = framing.check(gateway, proxies)
        finally:
            proxies.stop()
        wrong += slow.check(gateway, work)
    finally:
        code = gateway.stop()
    if code != 0:
        wrong.append(f"the gateway ended with {code}:\n{gateway.log.read_text()}")
for line in wrong:
    print(f"check-edge: {line}", file=sys.stderr)
print("check-edge: fine" if not wrong else f"check-edge: {len(wrong)} things are wrong")
sys.exit(1 if wrong else 0)

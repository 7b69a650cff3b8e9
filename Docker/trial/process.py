"""Checks that a gateway's process has no unneeded rights, and measures how long it took to be ready."""

import datetime
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Scripts"))
from harness.measures import delay

# Milliseconds on an idle machine of the usual speed.
ALLOWED = 300

process = sys.argv[1]
(line,) = (text for text in sys.stdin if "sluice is ready" in text)
status = dict(text.split(":\t", 1) for text in open(f"/proc/{process}/status").read().splitlines() if ":\t" in text)
uids = set(status["Uid"].split())
if uids != {"65532"} or int(status["CapEff"], 16) or int(status["CapBnd"], 16) or status["NoNewPrivs"] != "1":
    sys.exit(
        f"test-image: the process has more rights than it needs: {uids}, {status['CapEff']}, {status['CapBnd']}, {status['NoNewPrivs']}"
    )
ticks = int(open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()[19])
ready = datetime.datetime.fromisoformat(json.loads(line[line.index("{") :])["time"].replace("Z", "+00:00")).timestamp()
# The kernel reports the start in ticks since boot; /proc/uptime has hundredths of a second.
uptime = float(open("/proc/uptime").read().split()[0])
started = datetime.datetime.now().timestamp() - uptime + ticks / os.sysconf("SC_CLK_TCK")
taken = ready - started
print(f"test-image: ready {taken * 1000:.0f} ms after the process began")
allowed = ALLOWED * delay()
if taken * 1000 > allowed:
    sys.exit(f"test-image: more than the allowed {allowed:.0f} ms")

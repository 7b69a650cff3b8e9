"""What a capture that takes nothing costs: one gateway under one load, and the capture on and off in turns.

Neighbouring windows differ in the capture alone, so their ratio is steadier than that of two runs.
"""

import json
import random
import statistics
import sys
import time

from bench.cases import CAPTURE, CAPTURE_STATUS, CAPTURE_TEXT, Case
from bench.load import benching
from harness.gateway import Gateway
from harness.measures import cpu_seconds

# Pairs of windows, and seconds of a window and before it.
PAIRS, WINDOW, SETTLE = 60, 0.5, 0.1


def window(gateway: Gateway) -> tuple[float, float]:
    """Logs a second, and CPU seconds per million logs."""
    time.sleep(SETTLE)
    pid = gateway.process.pid
    accepted, spent, began = gateway.ledger()["ledger"]["accepted"], cpu_seconds(pid), time.monotonic()
    time.sleep(WINDOW)
    logs = gateway.ledger()["ledger"]["accepted"] - accepted
    return logs / (time.monotonic() - began), (cpu_seconds(pid) - spent) / logs * 1e6


def ratios(gateway: Gateway, capture: str | None) -> tuple[list[float], list[float]]:
    """How the rate and the CPU seconds with the capture compare to those without, for each pair of windows."""
    rates, costs = [], []
    for _ in range(PAIRS):
        figures = {}
        # A drift of the load falls on both alike.
        for runs in random.sample([True, False], 2):
            if runs and capture:
                answer = gateway.ask("/admin/captures", "POST", capture.encode())
            figures[runs] = window(gateway)
            if runs and capture:
                gateway.ask(f"/admin/captures/{json.loads(answer)['id']}", "DELETE")
        rates.append(figures[True][0] / figures[False][0])
        costs.append(figures[True][1] / figures[False][1])
    return rates, costs


def change(ratios: list[float]) -> str:
    """The median, and the ordered ratios between which it is with 95 %."""
    ordered = sorted(ratios)
    middle, reach = len(ordered) // 2, int(0.98 * len(ordered) ** 0.5)
    low, high = ordered[max(middle - reach, 0)], ordered[min(middle + reach, len(ordered) - 1)]
    return f"{statistics.median(ordered) - 1:+.1%} ({low - 1:+.1%} to {high - 1:+.1%})"


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: Benchmarks/captures SLUICE, a release build")
    # Nothing against nothing shows what the method itself can tell.
    captures = {"none": None, "tag and text": CAPTURE, "text": CAPTURE_TEXT, "status": CAPTURE_STATUS}
    seconds = (len(captures) * PAIRS * 2 + 4) * (WINDOW + SETTLE) * 1.2
    with benching(seconds) as bench, bench.gateway(Case("switched"), sys.argv[1]) as gateway:
        bench.start(Case("switched"), f"http://127.0.0.1:{gateway.devices}", seconds)
        time.sleep(2)
        print("| Capture | logs/s | CPU-s per log |\n|---|---|---|")
        for name, capture in captures.items():
            rates, costs = ratios(gateway, capture)
            print(f"| {name} | {change(rates)} | {change(costs)} |", flush=True)


main()

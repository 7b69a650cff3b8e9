"""What a capture that takes nothing costs: one gateway under one load, and the capture on and off in turns.

Neighbouring windows differ in the capture alone, so their ratio is steadier than that of two runs.
"""

import argparse
import json
import random
import statistics
import time

from bench.cases import CAPTURE, CAPTURE_STATUS, CAPTURE_TEXT, Case
from bench.load import benching
from harness.gateway import Gateway
from harness.measures import cpu_seconds

SETTLE = 0.1


def window(gateway: Gateway, seconds: float) -> tuple[float, float]:
    """Logs a second, and CPU seconds per million logs."""
    time.sleep(SETTLE)
    pid = gateway.process.pid
    accepted, spent, began = gateway.ledger()["ledger"]["accepted"], cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    logs = gateway.ledger()["ledger"]["accepted"] - accepted
    return logs / (time.monotonic() - began), (cpu_seconds(pid) - spent) / logs * 1e6


def ratios(gateway: Gateway, capture: str | None, pairs: int, seconds: float) -> tuple[list[float], list[float]]:
    """How the rate and the CPU seconds with the capture compare to those without, for each pair of windows."""
    rates, costs = [], []
    for _ in range(pairs):
        figures = {}
        # A drift of the load falls on both alike.
        for runs in random.sample([True, False], 2):
            if runs and capture:
                answer = gateway.ask("/admin/captures", "POST", capture.encode())
            figures[runs] = window(gateway, seconds)
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
    parser = argparse.ArgumentParser(prog="Benchmarks/captures", description=__doc__)
    parser.add_argument("sluice", help="a release build")
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each window")
    arguments = parser.parse_args()
    # Nothing against nothing shows what the method itself can tell.
    captures = {"none": None, "tag and text": CAPTURE, "text": CAPTURE_TEXT, "status": CAPTURE_STATUS}
    seconds = (len(captures) * arguments.pairs * 2 + 4) * (arguments.seconds + SETTLE) * 1.2
    with benching(seconds) as bench, bench.gateway(Case("switched"), arguments.sluice) as gateway:
        bench.start(Case("switched"), f"http://127.0.0.1:{gateway.devices}", seconds)
        time.sleep(2)
        print("| Capture | logs/s | CPU-s per log |\n|---|---|---|")
        for name, capture in captures.items():
            rates, costs = ratios(gateway, capture, arguments.pairs, arguments.seconds)
            print(f"| {name} | {change(rates)} | {change(costs)} |", flush=True)


main()

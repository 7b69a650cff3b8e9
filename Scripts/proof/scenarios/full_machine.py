"""While clients send more than the machine can take, it delivers what it accepts, at nearly its best rate."""

import os
import pathlib
import shutil
import statistics

from bench.cases import Case
from bench.load import Bench
from proof.trial import Trial

SECONDS, ROUNDS = {False: 3, True: 6}, {False: 1, True: 5}
BEST = Case("32 clients", bodies="10", connections=32)
FULL = [
    Case("512 clients, large logs", bodies="10", connections=512),
    Case("512 clients, small logs", bodies="4", connections=512),
]
# Of the accepted logs, and of the rate with 32 clients. The rates of single rounds differ by a tenth or more.
DELIVERED, OF_BEST = 0.9, {False: 0.7, True: 0.9}


def check(trial: Trial) -> None:
    bench_program = pathlib.Path(os.environ["SLUICE"]).with_name("sluice-bench")
    if not bench_program.exists() or shutil.which("wrk") is None:
        return trial.skip("full_machine", "there is no wrk, or no sluice-bench beside the gateway")
    bench = Bench(trial.work, str(bench_program), SECONDS[trial.is_long], trial.programs)
    delivered: dict[str, list[float]] = {}
    for _ in range(ROUNDS[trial.is_long]):
        for case in [BEST, *FULL]:
            result = bench.measure(case, os.environ["SLUICE"])
            delivered.setdefault(case.name, []).append(result.delivered)
            share = result.delivered / max(result.accepted, 1)
            trial.say(f"{case.name}: {result.accepted:,.0f} logs/s accepted, {share:.0%} of them delivered at once")
            trial.expect(result.errors == 0, f"{case.name}: {result.errors} requests failed")
            trial.expect(share >= DELIVERED, f"{case.name}: {share:.0%} of what was accepted was delivered")
    best, large = (statistics.median(delivered[case.name]) for case in (BEST, FULL[0]))
    trial.expect(
        large >= OF_BEST[trial.is_long] * best,
        f"512 clients: {large:,.0f} logs/s delivered, {large / best:.0%} of the rate with 32",
    )

"""While 512 clients send more than the machine can take, it delivers what it accepts, and nearly as much as with 32."""

import os
import pathlib
import shutil
import statistics

from bench.cases import Case
from bench.load import Bench
from proof.trial import Trial

SECONDS, ROUNDS = {False: 3, True: 6}, {False: 1, True: 5}
KINDS = ("10 fields", "4 fields")
FEW, MANY = 32, 512
# The least share of the accepted logs that must be delivered, in each round. Without PacketsAhead it is 46 to 77 %.
DELIVERED_SHARE_MIN = 0.9
# The least rate with many clients, as a share of that with few. The rates of single rounds differ by a tenth or more.
RATE_SHARE_MIN = {False: 0.7, True: 0.9}


def check(trial: Trial) -> None:
    bench_program = pathlib.Path(os.environ["SLUICE"]).with_name("sluice-bench")
    if not bench_program.exists() or shutil.which("wrk") is None:
        return trial.skip("full_machine", "there is no wrk, or no sluice-bench beside the gateway")
    bench = Bench(trial.work, str(bench_program), SECONDS[trial.is_long], trial.programs)
    delivered: dict[tuple[str, int], list[float]] = {}
    for _ in range(ROUNDS[trial.is_long]):
        for kind in KINDS:
            for clients in (FEW, MANY):
                name = f"{clients} clients, {kind}"
                case = Case(name, bodies=kind.split()[0], connections=clients)
                result = bench.measure(case, os.environ["SLUICE"])
                delivered.setdefault((kind, clients), []).append(result.delivered)
                share = result.delivered / max(result.accepted, 1)
                trial.say(f"{name}: {result.accepted:,.0f} logs/s accepted, {share:.0%} of them delivered at once")
                trial.expect(result.errors == 0, f"{name}: {result.errors} requests failed")
                trial.expect(share >= DELIVERED_SHARE_MIN, f"{name}: {share:.0%} of what was accepted was delivered")
    for kind in KINDS:
        few, many = (statistics.median(delivered[kind, clients]) for clients in (FEW, MANY))
        trial.expect(
            many >= RATE_SHARE_MIN[trial.is_long] * few,
            f"{kind}: {many:,.0f} logs/s delivered with {MANY} clients, {many / few:.0%} of the rate with {FEW}",
        )

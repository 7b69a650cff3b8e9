"""Runs the parts that are named, or all, each in a directory of its own."""

import argparse
import contextlib
import importlib
import os
import pathlib
import random
import secrets
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator

from harness.signals import TERMINATING, signals_deferred
from proof.trial import Trial

OWN = str(pathlib.Path(__file__).parents[1])
# Seconds of a part until it is taken for one that hangs, and until whatever hangs on its way out is left behind. The
# longest take a tenth of it on an idle machine.
DEADLINE, AGAIN = {False: 600, True: 5400}, 60
# Seconds in which whoever was asked to end ends.
PATIENCE = 15
# In the order in which they run. Each is a module with `check(trial)`; its first line says what it proves.
PARTS = {
    "judge": "judge",
    "points": "kills.kill_points",
    "power": "power.power_cuts",
    "time_jumps": "time_jumps.clock_jumps",
    "lies": "lies",
    "edge": "edge",
    "cost": "cost",
    "disk": "disk.disk_faults",
    "corruption": "corruption",
    "limits": "limits.resource_limits",
    "soak": "soak",
}


def minutes(text: str) -> int:
    if not (text.isdecimal() and 5 <= int(text) <= 1440):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 5 to 1440")
    return int(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Scripts/prove", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[[], *PARTS], help=", ".join(PARTS))
    parser.add_argument("--seed", type=int, help="do again what a run with this seed did")
    parser.add_argument("--long", action="store_true", help="the long form, minutes instead of seconds")
    parser.add_argument("--minutes", type=minutes, metavar="MINUTES", help="how long `soak` lasts, 5 to 1440")
    parser.add_argument(
        "--allow-skips", action="store_true", help="the long form may leave out what this machine cannot do"
    )
    parser.add_argument("--list", action="store_true", help="say what each part proves")
    parser.add_argument("--deadline", type=int, metavar="SECONDS", help="when a part that does not end is given up")
    parser.add_argument("--clear", action="store_true", help="leave nothing of a part that failed")
    options = parser.parse_args()
    if options.minutes and options.parts != ["soak"]:
        parser.error("--minutes is for `soak` alone")
    return options


class Overdue(BaseException):
    """Not to be taken for a fault of what is tried, which goes on with the next case."""


def overdue(*_: object) -> None:
    raise Overdue("this takes so long that something must hang")


def leave(number: int, _: object) -> None:
    """Ends this, and what it started. Python forgets what is raised while it tidies up: then it is raised again, later
    than it takes to end all in good order."""
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(128 + number))
    signal.setitimer(signal.ITIMER_REAL, PATIENCE, PATIENCE)
    sys.exit(128 + number)


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Whatever waits in this block is interrupted then, and again and again if it does not give up."""
    signal.signal(signal.SIGALRM, overdue)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def run(part: str, options: argparse.Namespace) -> list[str]:
    """What was wrong."""
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    again = f"SLUICE={os.path.relpath(os.environ['SLUICE'])} Scripts/prove {part} --seed {seed}{' --long' if options.long else ''}"
    if options.minutes:
        again += f" --minutes {options.minutes}"
    print(f"prove: {part}: seed {seed}", flush=True)
    work = pathlib.Path(tempfile.gettempdir(), f"sluice-{part}-{secrets.token_hex(4)}")
    trial = Trial(part, work, seed, options.long, options.minutes)
    began = time.monotonic()
    try:
        work.mkdir(mode=0o700)
        with deadline(options.deadline or DEADLINE[options.long] + 60 * (options.minutes or 0)):
            modules[part].check(trial)
    except (Exception, Overdue) as error:  # Whatever it is, the next part runs, and the way to see it again is told.
        places = [
            f"{place.name} line {place.lineno}"
            for place in traceback.extract_tb(error.__traceback__)
            if OWN in place.filename
        ]
        trial.wrong(f"{type(error).__name__}: {error} (in {', '.join(places)})")
    finally:
        with signals_deferred():
            trial.end()
            if not trial.complaints or options.clear:
                shutil.rmtree(work, ignore_errors=True)
    if trial.skipped and options.long and not options.allow_skips:
        trial.wrong(f"left out, and --allow-skips is not given: {', '.join(trial.skipped)}")
    for line in trial.complaints:
        print(f"prove: {part}: WRONG: {line}", file=sys.stderr)
    verdict = f"{len(trial.complaints)} things are wrong; again: {again}" if trial.complaints else "fine"
    if trial.skipped:
        verdict += f", {len(trial.skipped)} left out: {', '.join(trial.skipped)}"
    print(f"prove: {part}: {verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    if work.exists():
        print(f"prove: {part}: what was left is in {work}")
    return [f"{part}: {line}" for line in trial.complaints]


options = arguments()
# An import, too, forgets what is raised.
modules = {part: importlib.import_module(f"proof.scenarios.{PARTS[part]}") for part in options.parts or PARTS}
if options.list:
    for part, module in modules.items():
        print(f"{part:10} {(module.__doc__ or '').splitlines()[0]}")
    sys.exit(0)
# Whoever starts this with nohup means it.
for number in TERMINATING:
    if signal.getsignal(number) != signal.SIG_IGN:
        signal.signal(number, leave)
complaints = [line for part in modules for line in run(part, options)]
# Once more at the end, where people look.
if len(modules) > 1 and complaints:
    print("prove: wrong:", *(line[:400] for line in complaints), sep="\n  ")
sys.stdout.flush()
# A thread that hangs would be waited for. Nothing is left that an orderly end would do.
os._exit(1 if complaints else 0)

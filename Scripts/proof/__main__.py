"""Runs the named parts, or all of them, each in a directory of its own."""

import argparse
import concurrent.futures
import contextlib
import importlib
import os
import pathlib
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator

from harness.program import TERMINATING, signals_deferred
from proof.trial import Trial

OWN = str(pathlib.Path(__file__).parents[1])
# Seconds until a part counts as hung, and until a part that hangs in its own cleanup is abandoned. The longest
# parts take a tenth of the deadline on an idle machine.
DEADLINE, AGAIN = {False: 600, True: 5400}, 60
# Seconds for an orderly end after a terminating signal.
PATIENCE = 15
# Parts in the order in which they run, the two longest first: a module below `scenarios`, and its function, `check`
# unless named. The docstring of the function, or else of the module, says what the part proves.
PARTS = {
    "cluster": "cluster.outages",
    "damaged_logs": "cluster.damaged_logs",
    "judge": "judge",
    "brokers": "brokers:check_brokers",
    "database": "brokers:check_database",
    "partitions": "cluster.partitions",
    "cluster_clocks": "cluster.outages:check_clocks",
    "broker_disks": "cluster.outages:check_disks",
    "points": "kill_points",
    "power": "power_cuts",
    "time_jumps": "time_jumps",
    "lies": "lies",
    "restarts": "restarts",
    "upgrades": "upgrades",
    "edge": "edge",
    "cost": "cost",
    "admin_cost": "admin_cost",
    "allocations": "allocations",
    "full_machine": "full_machine",
    "disk": "disk_faults",
    "corruption": "corruption",
    "limits": "limits",
    "soak": "soak",
}
# Parts that measure latency or processor time: no other part runs beside them.
MEASURED = ("edge", "cost", "admin_cost", "full_machine", "limits")


def minutes(text: str) -> int:
    if not (text.isdecimal() and 5 <= int(text) <= 1440):
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer from 5 to 1440")
    return int(text)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="Scripts/prove", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[[], *PARTS], help=", ".join(PARTS))
    parser.add_argument("--seed", type=int, help="repeat the run with this seed")
    parser.add_argument("--long", action="store_true", help="the long form, minutes instead of seconds")
    parser.add_argument("--minutes", type=minutes, metavar="MINUTES", help="how long `soak` lasts, 5 to 1440")
    parser.add_argument("--allow-skips", action="store_true", help="the long form may skip what this machine cannot do")
    parser.add_argument("--list", action="store_true", help="print what each part proves")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="run so many parts at a time")
    parser.add_argument("--clear", action="store_true", help="remove the files of a failed part, too")
    options = parser.parse_args()
    if options.minutes and options.parts != ["soak"]:
        parser.error("--minutes is only for `soak`")
    return options


class Overdue(BaseException):
    """The deadline of a part. As it is no Exception, no case takes it for a fault of the program."""


def overdue(*_: object) -> None:
    raise Overdue("the deadline has passed; something hangs")


def leave(number: int, _: object) -> None:
    """Ends the run and all programs it started. Python drops an exception that is raised during cleanup, so a timer
    raises it again, later than an orderly end takes."""
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(128 + number))
    signal.setitimer(signal.ITIMER_REAL, PATIENCE, PATIENCE)
    sys.exit(128 + number)


@contextlib.contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Interrupts the block after so many seconds, and again at intervals while it does not give up."""
    signal.signal(signal.SIGALRM, overdue)
    signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def run(part: str, options: argparse.Namespace) -> list[str]:
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
        with deadline(DEADLINE[options.long] + 60 * (options.minutes or 0)), trial.skips(part):
            chosen[part](trial)
    # The next part runs whatever happened, and the command that repeats this one is printed.
    except (Exception, Overdue) as error:
        frames = traceback.extract_tb(error.__traceback__)
        places = ", ".join(f"{frame.name} line {frame.lineno}" for frame in frames if OWN in frame.filename)
        trial.wrong(f"{type(error).__name__}: {error} (in {places})")
    finally:
        with signals_deferred():
            trial.programs.end()
            if not trial.complaints or options.clear:
                shutil.rmtree(work, ignore_errors=True)
    if trial.skipped and options.long and not options.allow_skips:
        trial.wrong(f"skipped without --allow-skips: {', '.join(trial.skipped)}")
    for line in trial.complaints:
        print(f"prove: {part}: WRONG: {line}", file=sys.stderr)
    verdict = f"{len(trial.complaints)} complaints; again: {again}" if trial.complaints else "fine"
    if trial.skipped:
        verdict += f", {len(trial.skipped)} skipped: {', '.join(trial.skipped)}"
    print(f"prove: {part}: {verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    if work.exists():
        print(f"prove: {part}: the files are in {work}")
    return [f"{part}: {line}" for line in trial.complaints]


def run_apart(part: str, options: argparse.Namespace, running: list[subprocess.Popen[str]]) -> list[str]:
    """Runs one part in a process of its own and prints its output when it ends."""
    command = [sys.executable, "-m", "proof", part]
    command += [] if options.seed is None else ["--seed", str(options.seed)]
    command += [f"--{name.replace('_', '-')}" for name in ("long", "clear", "allow_skips") if getattr(options, name)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    running.append(process)
    output, _ = process.communicate()
    print(output, end="", flush=True)
    wrong = f"prove: {part}: WRONG: "
    complaints = [line.removeprefix(wrong) for line in output.splitlines() if line.startswith(wrong)]
    if process.returncode and not complaints:
        complaints = [f"ended with {process.returncode}"]
    return [f"{part}: {line}" for line in complaints]


def run_side_by_side(options: argparse.Namespace) -> Iterator[str]:
    """Runs the parts that may share the machine, `--jobs` at a time."""
    running: list[subprocess.Popen[str]] = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        parts = [pool.submit(run_apart, part, options, running) for part in chosen if part not in MEASURED]
        try:
            for part in parts:
                yield from part.result()
        except BaseException:
            # A terminating signal: each part ends the programs that it started.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in running:
                process.terminate()
            raise


def find(place: str) -> Callable[[Trial], object]:
    """The check of a part, with a docstring."""
    name, _, function = place.partition(":")
    module = importlib.import_module(f"proof.scenarios.{name}")
    check: Callable[[Trial], object] = getattr(module, function or "check")
    check.__doc__ = check.__doc__ or module.__doc__
    return check


options = arguments()
# Imported here, because Python also drops an exception that a signal raises during an import.
chosen = {part: find(PARTS[part]) for part in options.parts or PARTS}
if options.list:
    for part, check in chosen.items():
        print(f"{part:14} {' '.join((check.__doc__ or '').split())}")
    sys.exit(0)
# A signal that is ignored stays ignored: nohup relies on it.
for number in TERMINATING:
    if signal.getsignal(number) != signal.SIG_IGN:
        signal.signal(number, leave)
is_shared = options.jobs > 1 and len(chosen) > 1
complaints = list(run_side_by_side(options)) if is_shared else []
complaints += [line for part in chosen if not is_shared or part in MEASURED for line in run(part, options)]
# Repeated at the end, where people look.
if len(chosen) > 1 and complaints:
    print("prove: complaints:", *(line[:400] for line in complaints), sep="\n  ")
sys.stdout.flush()
# sys.exit would wait for a hung thread. Everything of an orderly end is done by now.
os._exit(1 if complaints else 0)

"""Runs the parts that are named, or all, each in a directory of its own."""

import argparse
import importlib
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback

from trial import Trial

OWN = str(pathlib.Path(__file__).parent)
# In the order in which they run. Each is a module with `check(trial)`; its first line says what it proves.
PARTS = ["judge", "points", "power", "time_jumps", "lies", "edge", "disk", "corruption", "limits", "soak"]


def arguments():
    parser = argparse.ArgumentParser(prog="Scripts/prove", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[[], *PARTS], help=", ".join(PARTS))
    parser.add_argument("--seed", type=int, help="do again what a run with this seed did")
    parser.add_argument("--long", action="store_true", help="the long form, minutes instead of seconds")
    parser.add_argument("--list", action="store_true", help="say what each part proves")
    parser.add_argument("--keep", action="store_true", help="leave the directory of a part that failed")
    return parser.parse_args()


def run(part, options):
    """Whether nothing was wrong."""
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    again = f"Scripts/prove {part} --seed {seed}{' --long' if options.long else ''}"
    print(f"prove: {part}: seed {seed}", flush=True)
    work = pathlib.Path(tempfile.mkdtemp(prefix=f"sluice-{part}-"))
    trial = Trial(part, work, seed, options.long)
    began = time.monotonic()
    try:
        importlib.import_module(part).check(trial)
    except Exception as error:  # Whatever it is, the next part runs, and the way to see it again is told.
        places = [f"{place.name} line {place.lineno}" for place in traceback.extract_tb(error.__traceback__) if OWN in place.filename]
        trial.wrong(f"{type(error).__name__}: {error} (in {', '.join(places)})")
    finally:
        trial.end()
    for line in trial.complaints:
        print(f"prove: {part}: WRONG: {line}", file=sys.stderr)
    verdict = f"{len(trial.complaints)} things are wrong; again: {again}" if trial.complaints else "fine"
    print(f"prove: {part}: {verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    if trial.complaints and options.keep:
        print(f"prove: {part}: what was left is in {work}")
    else:
        shutil.rmtree(work, ignore_errors=True)
    return not trial.complaints


options = arguments()
if options.list:
    for part in PARTS:
        print(f"{part:10} {importlib.import_module(part).__doc__.splitlines()[0]}")
    sys.exit(0)
# Who ends this ends what it started, too.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
results = [run(part, options) for part in options.parts or PARTS]
sys.exit(0 if all(results) else 1)

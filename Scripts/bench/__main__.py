"""Measures one release, or two in turns, and keeps the results."""

import argparse
import datetime
import os
import pathlib
import platform

from bench import report
from bench.cases import SETS, Case
from bench.load import benching

KEPT = pathlib.Path("bench-results")


def machine() -> str:
    processors = [line for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    return f"{os.cpu_count()} x {processors[0].split(': ')[1]}, {platform.system()} {platform.release()}"


def chosen(arguments: argparse.Namespace) -> list[Case]:
    cases = [case for name in arguments.set.split(",") for case in SETS[name]]
    return [case for case in cases if not arguments.case or any(part in case.name for part in arguments.case)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="Benchmarks/compare", description=__doc__)
    parser.add_argument("releases", nargs="+", metavar="PROGRAM", help="NEW, or OLD NEW: release builds of sluice")
    parser.add_argument("--set", default="loads", help=f"sets of cases, joined by commas: {', '.join(SETS)}")
    parser.add_argument("--case", action="append", help="only cases whose name contains this; may be repeated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6, help="of each load")
    parser.add_argument("--no-floor", action="store_true")
    arguments = parser.parse_args()
    names = arguments.set.split(",")
    if len(arguments.releases) > 2 or not set(names) <= set(SETS):
        parser.error(f"give one or two programs, and sets among {', '.join(SETS)}")
    for program in arguments.releases:
        if not os.access(program, os.X_OK):
            parser.error(f"{program} is not executable; build it: swift build -c release --product sluice")
    cases = chosen(arguments)
    if not cases:
        parser.error("no case matches; known: " + ", ".join(case.name for name in names for case in SETS[name]))
    releases = [os.path.realpath(program) for program in arguments.releases]
    results: list[report.Results] = [{case.name: [] for case in cases} for _ in releases]
    floors: report.Floors = {}
    with benching(arguments.seconds) as bench:
        for round in range(arguments.rounds):
            print(f"round {round + 1} of {arguments.rounds}", flush=True)
            if not arguments.no_floor:
                for kind in sorted({case.bodies for case in cases} & {"4", "10"}):
                    for processes, word in ((1, "one thread"), (2, "two threads")):
                        floors.setdefault(f"{kind} fields, {word}", []).append(bench.floor(kind, processes))
            # A case may inherit work of the disk from the one before it.
            for case in cases if round % 2 == 0 else cases[::-1]:
                turns = list(enumerate(releases))
                for number, program in turns if round % 2 == 0 else turns[::-1]:
                    results[number][case.name].append(bench.measure(case, program))
    tell(cases, results, floors, arguments.set.replace(",", "-"))


def tell(cases: list[Case], results: list[report.Results], floors: report.Floors, name: str) -> None:
    new = results[-1]
    lines = [f"machine: {machine()}", "", *(report.floors(floors) if floors else []), ""]
    lines += report.rows(cases, new, floors)
    if len(results) == 2:
        lines += ["", "Old and new, in turns:", "", *report.differences(cases, results[0], new)]
    text = "\n".join(lines)
    print(text)
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{stamp}-{name}.md").write_text(text + "\n")
    print(f"\nkept in {KEPT}/{stamp}-{name}.md")


main()

"""Measures one release, or two in turns, and keeps the table: medians with their range, and ratios by pairs."""

import argparse
import dataclasses
import datetime
import os
import pathlib
import platform
import re
import statistics
from collections.abc import Iterable, Sequence

from bench.cases import FLOOR_BODIES, SETS, STORES, Case, Floor
from bench.load import FloorResult, Result, benching

Results = dict[str, list[Result]]
Floors = dict[Floor, list[FloorResult]]


def figures(results: Sequence[Result], name: str) -> list[float]:
    return [getattr(one, name) for one in results]


def spread(values: Sequence[float], digits: int = 0) -> str:
    """For example 843,000 (801,000 to 860,000)."""
    middle = f"{statistics.median(values):,.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def share(ours: Sequence[float], theirs: Sequence[float]) -> str:
    ratios = [one / other * 100 for one, other in zip(ours, theirs) if other]
    return "-" if not ratios else f"{statistics.median(ratios):.0f} %"


def table(head: str, rows: Iterable[Sequence[str]]) -> list[str]:
    return [head, "|---" * (head.count("|") - 1) + "|", *("| " + " | ".join(row) + " |" for row in rows)]


def floor_table(found: Floors) -> list[str]:
    rows = []
    for floor, results in found.items():
        p50, p99, longest = (sorted(times) for times in zip(*(one.syncs for one in results)))
        rows.append(
            [
                floor.name,
                spread([one.rate for one in results]),
                spread([one.cpu for one in results], 2),
                f"{statistics.median(p50) / 1000:.2f}, {statistics.median(p99) / 1000:.2f}, {longest[-1] / 1000:.1f}"
                if longest[-1]
                else "",
            ]
        )
    return table("| Floor | logs/s | CPU-s per million | fdatasync: p50, p99, longest ms |", rows)


def of_floor(case: Case, accepted: Sequence[float], found: Floors, store: str) -> str:
    floor = found.get(Floor.of(case, store))
    return f"{statistics.median(accepted) / statistics.median([one.rate for one in floor]):.2f}" if floor else ""


def case_table(cases: Sequence[Case], results: Results, found: Floors) -> list[str]:
    """One table for one release."""
    head = "| Case | accepted logs/s | delivered | waits at the end | CPU-s per million | instructions a log | p50, p99 ms | half load p99 | MiB "
    lines = []
    for case in cases:
        ours = results[case.name]
        accepted, delivered = figures(ours, "accepted"), figures(ours, "delivered")
        p50, p99, idle, waiting = (statistics.median(figures(ours, name)) for name in ("p50", "p99", "idle", "waiting"))
        halves = [one.half_p99 for one in ours if one.half_p99 is not None]
        errors = sum(one.errors for one in ours)
        counts = [one.instructions for one in ours if one.instructions is not None]
        cells = [
            case.name + (f", {errors} refused" if errors else ""),
            spread(accepted),
            share(delivered, accepted),
            f"{statistics.median(figures(ours, 'left')) * 100:.1f} %",
            spread(figures(ours, "cpu"), 2),
            spread(counts) if counts else "",
            f"{p50:.1f}, {p99:.1f}",
            f"{statistics.median(halves):.1f}" if halves else "",
            f"{max(one.memory for one in ours)}",
            f"{idle:.0%}, {waiting:.0%}",
            share(accepted, figures(results[case.base], "accepted")) if case.base in results else "",
            *(of_floor(case, accepted, found, store) for store in STORES),
        ]
        lines.append(cells)
    return table(head + "| idle, for the disk | of its base | of the SQLite floor | of the file's |", lines)


def open_table(cases: Sequence[Case], results: Results) -> list[str]:
    """Latencies of loads at fixed rates, from each request's intended time."""
    lines = []
    for case in cases:
        ours = results[case.name]
        errors = sum(one.errors for one in ours)
        cells = [
            case.name + (f", {errors} refused" if errors else ""),
            spread(figures(ours, "answered")),
            *(spread(figures(ours, name), 1) for name in ("p50", "p99", "p999")),
            f"{max(figures(ours, 'longest')):.0f}",
            f"{statistics.median(figures(ours, 'left')) * 100:.1f} %",
            spread(figures(ours, "cpu"), 2),
            f"{max(one.memory for one in ours)}",
        ]
        lines.append(cells)
    head = "| Rate | answered a second | p50 ms | p99 ms | p99.9 ms | longest ms | waits at the end | CPU-s per million | MiB |"
    return table(head, lines)


def differences(cases: Sequence[Case], old: Results, new: Results) -> list[str]:
    """How the new release compares with the old one, pair by pair."""
    lines = []
    for case in cases:
        before, after = old[case.name], new[case.name]
        cells = [case.name, spread(figures(before, "accepted")), spread(figures(after, "accepted"))]
        cells += [share(figures(after, name), figures(before, name)) for name in ("accepted", "cpu", "p99")]
        lines.append(cells)
    return table("| Case | old logs/s | new logs/s | new of old | CPU, new of old | p99, new of old |", lines)


KEPT = pathlib.Path("bench-results")


def machine() -> str:
    # Kernels name no processor on arm64.
    model = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    name = model[1] if model else platform.machine()
    return f"{os.cpu_count()} x {name}, {platform.system()} {platform.release()}"


def chosen(arguments: argparse.Namespace) -> list[Case]:
    given = {"delay": arguments.sink_delay, "tls": arguments.sink_tls, "errors": arguments.sink_errors}
    sink = {name: value for name, value in given.items() if value is not None}
    cases = [
        dataclasses.replace(case, sink=dataclasses.replace(case.sink, **sink))
        for name in arguments.set.split(",")
        for case in SETS[name]
    ]
    return [case for case in cases if not arguments.case or any(part in case.name for part in arguments.case)]


def chosen_floors(cases: Sequence[Case]) -> list[Floor]:
    """The floors that the cases are compared with, and pairs of them that show what both cores can do."""
    closed = [case for case in cases if case.bodies in FLOOR_BODIES and not case.rate]
    own = [Floor.of(case, store) for case in closed for store in STORES]
    pairs = [dataclasses.replace(floor, threads=2) for floor in own if floor.batches == 32]
    return list(dict.fromkeys(own + pairs))


def main() -> None:
    parser = argparse.ArgumentParser(prog="Benchmarks/compare", description=__doc__)
    parser.add_argument("releases", nargs="+", metavar="PROGRAM", help="NEW, or OLD NEW: release builds of sluice")
    parser.add_argument("--set", default="loads", help=f"sets of cases, joined by commas: {', '.join(SETS)}")
    parser.add_argument("--case", action="append", help="only cases whose name contains this; may be repeated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, help="of each load; 6 by default, 20 in the sets backlog and open")
    parser.add_argument("--long", action="store_true", help="one round with loads of ten minutes")
    parser.add_argument("--sink-delay", type=float, metavar="MS", help="the sink answers after so long, in all cases")
    parser.add_argument("--sink-tls", action="store_true", default=None, help="over TLS to the sink")
    parser.add_argument("--sink-errors", type=float, metavar="PERCENT", help="of answers: 5xx, or 403 for a quota")
    parser.add_argument("--no-floor", action="store_true")
    arguments = parser.parse_args()
    if arguments.long:
        arguments.rounds, arguments.seconds = 1, 600
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
    results: list[Results] = [{case.name: [] for case in cases} for _ in releases]
    floors: Floors = {}
    with benching(arguments.seconds) as bench:
        for round in range(arguments.rounds):
            print(f"round {round + 1} of {arguments.rounds}", flush=True)
            if not arguments.no_floor:
                for floor in chosen_floors(cases):
                    floors.setdefault(floor, []).append(bench.floor(floor))
            # A case may inherit work of the disk from the one before it.
            for case in cases if round % 2 == 0 else cases[::-1]:
                turns = list(enumerate(releases))
                for number, program in turns if round % 2 == 0 else turns[::-1]:
                    results[number][case.name].append(bench.measure(case, program))
    tell(cases, results, floors, arguments.set.replace(",", "-"))


def tell(cases: list[Case], results: list[Results], floors: Floors, name: str) -> None:
    new = results[-1]
    lines = [f"machine: {machine()}", "", *(floor_table(floors) if floors else []), ""]
    closed, fixed = [case for case in cases if not case.rate], [case for case in cases if case.rate]
    lines += [*(case_table(closed, new, floors) if closed else []), ""]
    if fixed:
        older = ["Old:", "", *open_table(fixed, results[0]), "", "New:", ""] if len(results) == 2 else []
        lines += [*older, *open_table(fixed, new)]
    if len(results) == 2:
        lines += ["", "Old and new, in turns:", "", *differences(cases, results[0], new)]
    text = "\n".join(lines)
    print(text)
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{stamp}-{name}.md").write_text(text + "\n")
    print(f"\nkept in {KEPT}/{stamp}-{name}.md")


main()

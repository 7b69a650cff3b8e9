"""Instructions and system calls of a log, delivery included, for one program or several: with callgrind and strace, and a
fixed number of posts."""

import argparse
import collections
import dataclasses
import os
import pathlib
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from bench import callgrind, calls
from bench.cases import Case
from bench.load import Bench, benching
from bench.posting import Poster, read
from harness.gateway import Gateway
from harness.program import LaunchOptions


@dataclasses.dataclass(frozen=True)
class Posts:
    """`count` requests from so many connections."""

    name: str
    bodies: str
    logs: int
    count: int
    connections: int = 32


POSTS = [
    Posts("4 fields, 100 logs a request", "4", 100, 1600),
    Posts("10 fields, 100 logs a request", "10", 100, 640),
    Posts("one log a request", "single", 1, 3200, connections=64),
]
# The admin listener serves this program's own questions, and the history takes samples by the clock, however slow the rest
# is under valgrind.
ASIDE = {"admin", "history", callgrind.DIGESTS}

Key = TypeVar("Key")


@dataclasses.dataclass
class Figures:
    """`grouping` has the requests a commit under valgrind and under strace: the queue's work depends on it."""

    threads: callgrind.Threads
    functions: callgrind.Functions
    calls: calls.Calls
    grouping: tuple[float, float]


def middle(rounds: Sequence[Figures]) -> Figures:
    """The medians of several rounds."""

    def of(counts: Sequence[dict[Key, int]]) -> dict[Key, int]:
        keys = {key for one in counts for key in one}
        return {key: int(statistics.median(one.get(key, 0) for one in counts)) for key in keys}

    made = [one.calls for one in rounds]
    return Figures(
        of([one.threads for one in rounds]),
        of([one.functions for one in rounds]),
        calls.Calls(of([one.counts for one in made]), [sync for one in made for sync in one.syncs]),
        (statistics.median(one.grouping[0] for one in rounds), statistics.median(one.grouping[1] for one in rounds)),
    )


def load(bench: Bench, gateway: Gateway, posts: Posts, begin: Callable[[], object]) -> float:
    """Warms up, and then posts. Returns when all logs are delivered, with the requests a commit."""
    bodies = read(bench.requests(Case(posts.name, bodies=posts.bodies)))
    poster = Poster(gateway.devices, posts.connections)
    poster.post(bodies, posts.connections * 4)
    gateway.require_drained()
    commits = gateway.metric("sluice_queue_commits_total")
    begin()
    poster.post(bodies, posts.count)
    commits = gateway.metric("sluice_queue_commits_total") - commits
    gateway.require_drained()
    poster.close()
    return posts.count / max(commits, 1)


def measure(bench: Bench, program: str, chosen: Sequence[Posts]) -> list[Figures]:
    work = pathlib.Path(tempfile.mkdtemp(dir=bench.work))
    stripped, counted = callgrind.readable(program, work), []
    options: LaunchOptions = {"before": callgrind.before(work), "environment": callgrind.ENVIRONMENT}
    with bench.gateway(Case("counted"), stripped, **options) as gateway:
        counting = callgrind.Counting(work, gateway)
        for posts in chosen:
            grouping = load(bench, gateway, posts, counting.begin)
            counted.append((*counting.end(), grouping))
    file, spans, traced = work / "calls", [], []
    with bench.gateway(Case("traced"), program, before=calls.before(file)) as gateway:
        for posts in chosen:
            grouping = load(bench, gateway, posts, lambda: traced.append(time.time()))
            spans.append((grouping, traced[-1], time.time()))
        names = calls.names(gateway.process.pid)
    return [
        Figures(threads, functions, calls.read(file, names, began, ended), (valgrind, strace))
        for (threads, functions, valgrind), (strace, began, ended) in zip(counted, spans)
    ]


def short(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in sorted(counts.items(), key=lambda item: -item[1]) if name not in ASIDE}


def row(name: str, values: Sequence[float], digits: int = 0) -> str:
    """The values, and how each compares with the first."""
    cells = [name, *(f"{value:,.{digits}f}" for value in values)]
    cells += [f"{value / values[0]:.1%}" if values[0] else "-" for value in values[1:]]
    return "| " + " | ".join(cells) + " |"


def head(name: str, programs: Sequence[str]) -> list[str]:
    cells = [name, *programs, *(f"{program}, of the first" for program in programs[1:])]
    return ["", "| " + " | ".join(cells) + " |", "|---" * len(cells) + "|"]


def tell(posts: Posts, programs: Sequence[str], figures: Sequence[Figures], top: int) -> None:
    logs = posts.count * posts.logs
    threads = [short(one.threads) for one in figures]
    lines = head(f"{posts.name}: instructions a log", programs)
    lines.append(row("all threads", [sum(one.values()) / logs for one in threads], 1))
    names = dict.fromkeys(name for one in threads for name in one)
    rows = [(name, [one.get(name, 0) / logs for one in threads]) for name in names]
    lines += [row(name, values, 1) for name, values in rows if max(values) * 100 > sum(threads[0].values()) / logs]
    lines.append(row("aside: digests", [one.threads.get(callgrind.DIGESTS, 0) / logs for one in figures], 1))
    lines.append(row("requests a commit", [one.grouping[0] for one in figures], 1))
    if top:
        costs = [collections.Counter[str]() for _ in figures]
        for one, cost in zip(figures, costs):
            for (thread, function), number in one.functions.items():
                if thread not in ASIDE:
                    cost[f"{thread}: {function}"] += number
        dearest = [name for name, _ in sum(costs, collections.Counter[str]()).most_common(top)]
        lines += head("function, its own instructions a log", programs)
        for name, readable in zip(dearest, callgrind.demangled(dearest)):
            lines.append(row(readable.replace("|", "\\|")[:160], [cost[name] / logs for cost in costs], 1))
    lines += head("system calls a request", programs)
    made = [collections.Counter[str]() for _ in figures]
    for one, count in zip(figures, made):
        for (thread, call), times in one.calls.counts.items():
            if thread not in ASIDE:
                count[call] += times
    lines.append(row("all", [sum(count.values()) / posts.count for count in made], 2))
    often = [name for name, _ in sum(made, collections.Counter[str]()).most_common(10)]
    lines += [row(name, [count[name] / posts.count for count in made], 3) for name in often]
    lines.append(row("requests a commit", [one.grouping[1] for one in figures], 1))
    finds: dict[str, Callable[[Sequence[float]], float]] = {"median": statistics.median, "longest": max}
    for name, find in finds.items():
        took = [find(one.calls.syncs or [0]) * 1e6 for one in figures]
        lines.append(row(f"fdatasync, {name}, us under strace", took))
    print("\n".join(lines), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="Benchmarks/instructions", description=__doc__)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM", help="release builds of sluice")
    parser.add_argument(
        "--top", type=int, default=0, metavar="N", help="also the N functions with the most instructions"
    )
    parser.add_argument("--case", action="append", help="only cases whose name contains this; may be repeated")
    parser.add_argument("--rounds", type=int, default=1, help="of all programs in turns; the figures are medians")
    parser.add_argument("--times", type=float, default=1, help="so many times the usual number of posts")
    arguments = parser.parse_args()
    chosen = [
        dataclasses.replace(posts, count=int(posts.count * arguments.times))
        for posts in POSTS
        if not arguments.case or any(part in posts.name for part in arguments.case)
    ]
    if not chosen:
        parser.error("no case matches; known: " + "; ".join(posts.name for posts in POSTS))
    programs = [os.path.realpath(program) for program in arguments.programs]
    with benching(1) as bench:
        rounds = [[measure(bench, program, chosen) for program in programs] for _ in range(arguments.rounds)]
    for number, posts in enumerate(chosen):
        figures = [middle([round[at][number] for round in rounds]) for at in range(len(programs))]
        tell(posts, arguments.programs, figures, arguments.top)


main()

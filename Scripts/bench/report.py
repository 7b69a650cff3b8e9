"""Tables of results: medians with their range, and ratios by pairs that ran one after the other."""

import statistics
from collections.abc import Iterable, Sequence

from bench.cases import Case
from bench.load import Result

Results = dict[str, list[Result]]
Floors = dict[str, list[tuple[float, float]]]


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


def floors(found: Floors) -> list[str]:
    rows = [
        (name, *(spread(each, digits) for each, digits in zip(zip(*values), (0, 2)))) for name, values in found.items()
    ]
    return table("| Floor | logs/s | CPU-s per million |", rows)


def rows(cases: Sequence[Case], results: Results, found: Floors) -> list[str]:
    """One table for one release."""
    head = "| Case | accepted logs/s | delivered | CPU-s per million | p50, p99 ms | half load p99 | MiB "
    lines = []
    for case in cases:
        ours = results[case.name]
        accepted, delivered = figures(ours, "accepted"), figures(ours, "delivered")
        p50, p99, idle, waiting = (statistics.median(figures(ours, name)) for name in ("p50", "p99", "idle", "waiting"))
        floor = found.get(f"{case.bodies} fields, one thread")
        halves = [one.half_p99 for one in ours if one.half_p99 is not None]
        errors = sum(one.errors for one in ours)
        cells = [
            case.name + (f", {errors} refused" if errors else ""),
            spread(accepted),
            share(delivered, accepted),
            spread(figures(ours, "cpu"), 2),
            f"{p50:.1f}, {p99:.1f}",
            f"{statistics.median(halves):.1f}" if halves else "",
            f"{max(one.memory for one in ours)}",
            f"{idle:.0%}, {waiting:.0%}",
            share(accepted, figures(results[case.base], "accepted")) if case.base in results else "",
            f"{statistics.median(delivered) / statistics.median([rate for rate, _ in floor]):.2f}" if floor else "",
        ]
        lines.append(cells)
    return table(head + "| idle, for the disk | of its base | of the floor |", lines)


def differences(cases: Sequence[Case], old: Results, new: Results) -> list[str]:
    """How the new release compares with the old one, pair by pair."""
    lines = []
    for case in cases:
        before, after = old[case.name], new[case.name]
        cells = [case.name, spread(figures(before, "accepted")), spread(figures(after, "accepted"))]
        cells += [share(figures(after, name), figures(before, name)) for name in ("accepted", "cpu", "p99")]
        lines.append(cells)
    return table("| Case | old logs/s | new logs/s | new of old | CPU, new of old | p99, new of old |", lines)

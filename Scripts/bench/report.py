"""Tables of results: medians with their range, and ratios by pairs that ran one after the other."""

import statistics
from collections.abc import Callable, Sequence

from bench.cases import Case
from bench.load import Result

Results = dict[str, list[Result]]
Floors = dict[str, list[tuple[float, float]]]


def spread(values: Sequence[float], digits: int = 0) -> str:
    """For example 843,000 (801,000 to 860,000)."""
    middle = f"{statistics.median(values):,.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def share(ours: Sequence[float], theirs: Sequence[float]) -> str:
    ratios = [one / other * 100 for one, other in zip(ours, theirs) if other]
    return "-" if not ratios else f"{statistics.median(ratios):.0f} %"


def floors(found: Floors) -> list[str]:
    lines = ["| Floor | logs/s | CPU-s per million |", "|---|---|---|"]
    for name, values in found.items():
        lines.append(f"| {name} | {spread([rate for rate, _ in values])} | {spread([cpu for _, cpu in values], 2)} |")
    return lines


def rows(cases: Sequence[Case], results: Results, found: Floors) -> list[str]:
    """One table for one release."""
    lines = [
        "| Case | accepted logs/s | delivered | CPU-s per million | p50, p99 ms | half load p99 | MiB | idle, for the disk "
        "| of its base | of the floor |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for case in cases:
        ours = results[case.name]
        pick: Callable[[Callable[[Result], float]], list[float]] = lambda figure: [figure(one) for one in ours]
        base = (
            share(pick(lambda one: one.accepted), [one.accepted for one in results[case.base]])
            if case.base in results
            else ""
        )
        floor = found.get(f"{case.bodies} fields, one thread")
        ratio = (
            statistics.median(pick(lambda one: one.delivered)) / statistics.median([rate for rate, _ in floor])
            if floor
            else None
        )
        halves = [one.half_p99 for one in ours if one.half_p99 is not None]
        errors = sum(one.errors for one in ours)
        cells = [
            case.name + (f", {errors} refused" if errors else ""),
            spread(pick(lambda one: one.accepted)),
            share(pick(lambda one: one.delivered), pick(lambda one: one.accepted)),
            spread(pick(lambda one: one.cpu), 2),
            f"{statistics.median(pick(lambda one: one.p50)):.1f}, {statistics.median(pick(lambda one: one.p99)):.1f}",
            f"{statistics.median(halves):.1f}" if halves else "",
            f"{max(one.memory for one in ours)}",
            f"{statistics.median(pick(lambda one: one.idle)):.0%}, {statistics.median(pick(lambda one: one.waiting)):.0%}",
            base,
            f"{ratio:.2f}" if ratio else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def differences(cases: Sequence[Case], old: Results, new: Results) -> list[str]:
    """How the new release compares with the old one, pair by pair."""
    lines = [
        "| Case | old logs/s | new logs/s | new of old | CPU, new of old | p99, new of old |",
        "|---|---|---|---|---|---|",
    ]
    for case in cases:
        if case.name not in old:
            continue
        before, after = old[case.name], new[case.name]
        cells = [
            case.name,
            spread([one.accepted for one in before]),
            spread([one.accepted for one in after]),
            share([one.accepted for one in after], [one.accepted for one in before]),
            share([one.cpu for one in after], [one.cpu for one in before]),
            share([one.p99 for one in after], [one.p99 for one in before]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines

"""Collects all problems of a run."""

problems: list[str] = []


def expect(is_fine: object, problem: str) -> bool:
    if not is_fine:
        problems.append(problem)
    return bool(is_fine)

"""What is wrong, all of it at once."""

problems: list[str] = []


def expect(is_fine, problem):
    if not is_fine:
        problems.append(problem)
    return is_fine

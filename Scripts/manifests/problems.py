"""Collects all problems of a run."""

import os
import subprocess
from typing import Any

problems: list[str] = []


def expect(is_fine: object, problem: str) -> bool:
    if not is_fine:
        problems.append(problem)
    return bool(is_fine)


def passes(place: object, *command: object, **options: Any) -> str:
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    expect(run.returncode == 0, f"{place}: {run.stdout}{run.stderr}")
    return run.stdout


def sluice_takes(place: object, file: object, **options: Any) -> None:
    """The gateway accepts this configuration."""
    passes(place, os.environ["SLUICE"], "check", "--offline", "--config", file, **options)

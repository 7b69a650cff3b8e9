"""Finds Swift sources by file name, so that a move to another folder breaks no script."""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def swift_source(name: str) -> str:
    """The text of the only source with this file name."""
    found = list((ROOT / "Sources").rglob(name))
    if len(found) != 1:
        raise FileNotFoundError(f"Sources has {len(found)} files named {name}, expected one: {list(map(str, found))}")
    return found[0].read_text()

"""The steps of the queue's schema, read from the Swift source."""

import re

from harness.sources import swift_source


def schema_version() -> int:
    """The version of the schema: the number of its steps."""
    return len(schema_steps())


def schema_steps() -> list[str]:
    text = swift_source("QueueSchema.swift")
    return re.findall(r'^        """\n(.*?)^        """,?$', text, re.MULTILINE | re.DOTALL)

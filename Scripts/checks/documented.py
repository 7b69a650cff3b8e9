"""Requests that schemathesis makes from an OpenAPI document. Every answer must match the document."""

import os
import re
import subprocess

from harness.check import Check

SETTINGS = """
seed = 20260118
continue-on-failure = true
request-timeout = 60
"""
REPORTED = re.compile(r"Selected:|generated|Missing test data|^ +- (GET|PUT|POST|PATCH|DELETE)")


def send_documented(check: Check, settings: str, document: str, *words: str) -> None:
    """`document` is a path or an address, `settings` lines of schemathesis.toml."""
    (check.work / "schemathesis.toml").write_text(SETTINGS + settings)
    command = [os.environ["SCHEMATHESIS"], "--config-file", "schemathesis.toml", "run", document, "--no-color", *words]
    # It keeps its findings in its working directory.
    run = subprocess.run(command, cwd=check.work, capture_output=True, text=True)
    output = run.stdout + run.stderr
    check.require(run.returncode == 0, f"{output}\nthe answers above differ from {document}")
    print(*filter(REPORTED.search, output.splitlines()), sep="\n", flush=True)

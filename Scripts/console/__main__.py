"""Walks a browser through the console of a running gateway, in light, dark and narrow windows."""

import pathlib
import sys

from console.archive import check_archives, check_command_lines
from console.browser import Browser
from console.cluster import check_cluster
from console.walk import SCREENS, prepare, walk
from harness.check import Check, run_check

READER = "a-token-for-reading-0123456789abcdef"
DESTINATIONS = """\
  default: {{ project: sandbox, logstore: "*", packet: {{ age: 50ms }} }}
  store: {{ kind: file, path: "{work}/store.ndjson" }}
"""
SETTINGS = """
filters:
  - match: "app.**"
    steps: [{ drop: true, when: { field: level, is: debug } }]
"""
PICTURES = pathlib.Path(".build/console")
# The refusals that the walk causes on purpose, as the browser's log tells them.
EXPECTED = ("/admin/credentials/default", "status of 422", "status of 401", "status of 412")


def check_console(check: Check) -> None:
    gateway = check.gateway(
        DESTINATIONS.format(work=check.work),
        SETTINGS,
        sandbox=True,
        admin=f"tokens: {{ reader: {{ token: {READER}, role: read }} }}",
    )
    prepare(gateway, gateway.own_sandbox())
    with Browser(gateway.admin) as browser:
        walk(check, browser, gateway, PICTURES / "light", READER)
        troubles = list(browser.troubles)
    for name, width, height, dark in (
        ("dark", 1280, 900, True),
        ("narrow", 360, 740, False),
        ("wide", 2560, 1440, False),
    ):
        with Browser(gateway.admin, width, height, dark) as browser:
            browser.login(gateway.token)
            for screen, heading in SCREENS.items():
                browser.show(screen, heading)
                browser.screenshot(PICTURES / name / f"{screen}.png")
                check.expect(not browser.is_too_wide, f"{name}: {screen} scrolls sideways")
                if dark:
                    browser.check_access(f"{name} {screen}")
            browser.collect(name)
            troubles += browser.troubles
    for trouble in troubles:
        check.expect(any(word in trouble for word in EXPECTED), trouble)
    check_archives(check, gateway, check.work)
    check_command_lines(check, gateway)
    check.say(f"pictures are in {PICTURES}")
    check.stop(gateway)


def check_all(check: Check) -> None:
    if sys.argv[1:] != ["cluster"]:
        check_console(check)
    check_cluster(check, PICTURES)


run_check("check-console", check_all)

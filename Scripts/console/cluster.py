"""The console of a gateway in a cluster. It shows the other gateways with their dead letters and waiting logs. Then two
of them are lost with their disks: this gateway adopts the shard of one, and cannot adopt that of the other."""

import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
from collections.abc import Callable

from selenium.webdriver.common.keys import Keys

from console.browser import Browser
from console.walk import post
from harness.check import Check
from harness.gateway import Gateway, Sandbox
from harness.queues import Brokers
from harness.waiting import wait_until

DESTINATION = (
    '  {name}: {{ endpoint: "http://localhost:{port}", project: sandbox, logstore: "*", region: sandbox, '
    "packet: {{ age: 50ms }} }}\n"
)
# The third gateway has no destination in common with the others, so they cannot adopt its shard.
DESTINATIONS = {"gw-1": "default", "gw-2": "default", "gw-3": "elsewhere"}


def begin(check: Check, sandbox: Sandbox) -> list[Gateway]:
    """Three gateways with waiting logs, and dead letters at the second one."""
    brokers = Brokers(check.work, check.programs)
    gateways: list[Gateway] = []
    for node, name in DESTINATIONS.items():
        destination = DESTINATION.format(name=name, port=sandbox.port)
        settings = brokers.settings(node, more=", max_bytes: 64MiB")
        gateways.append(check.gateway(destination, settings, data=node, wait=False))
        # The first one makes what all share; the others may start at once.
        if len(gateways) == 1:
            gateways[0].wait_until_ready(30)
    for gateway in gateways[1:]:
        gateway.wait_until_ready(30)
    sandbox.control("POST", "/poisons", {"key": "bad", "code": "PostBodyInvalid", "message": "a <b>bad</b> field"})
    for number in range(2):
        assert post(gateways[1], "/logs/app.home", [{"bad": "1", "number": str(number)}]) == 200
    wait_until(lambda: gateways[1].ledger()["ledger"]["dead"] == 2, 30, "no dead letters")
    sandbox.control("DELETE", "/poisons")
    sandbox.fault(status=503, code="ServerBusy")
    for number, gateway in enumerate(gateways, 1):
        assert post(gateway, "/logs/app.home", [{"message": f"waits at gateway {number}"}] * number) == 200
    return gateways


def living(browser: Browser) -> None:
    """All is well: figures of all gateways, with a sum that adds up, by the keyboard too."""
    browser.show("cluster", "Cluster", then="3 gateways live.")
    # The others tell their ledgers every few seconds.
    reads_until(browser, lambda: total(browser)[:2] == ["8", "0"], "the sum lacks the others' logs")
    assert total(browser) == ["8", "0", "6", "2", "0", "0", "yes"], total(browser)
    assert [row.text.split()[0] for row in browser.all("#content section:first-of-type tbody tr")] == [*DESTINATIONS]
    assert "this one" in browser.one("#content tbody th").text, "this gateway is not marked"
    browser.check_access("cluster")
    browser.show("status", "Status")
    for _ in range(60):
        if browser.tab()["href"] == "#/cluster":
            break
    browser.keys(Keys.ENTER)
    browser.wait(lambda: browser.heading() == "Cluster", "the keyboard does not reach the cluster")
    browser.wait(lambda: browser.all("thead a[href*=accepted]"), "the table of gateways is not shown")
    browser.driver.execute_script("document.querySelector('thead a[href*=accepted]').focus()")
    browser.keys(Keys.ENTER)
    browser.wait(lambda: browser.all("th[aria-sort=descending]"), "the gateways are not sorted")
    assert total(browser)[0] == "8", "the sum has lost its place"


def letters(browser: Browser) -> None:
    """Dead letters of another gateway are found, opened and selected by their ids."""
    browser.show("dead-letters", "Dead letters")
    first = browser.one("tbody a[href^='#/dead-letters/gw-2~']").text
    browser.one("tbody input[type=checkbox]").click()
    browser.sees("Replay 1 selected")
    browser.press(first, "a")
    browser.wait(lambda: browser.heading() == f"Dead letter {first}", "the letter is not shown")
    browser.press("Edit…")
    browser.type("#edited", '{"number":"0","mended":"yes"}')
    browser.press("Save", then=f"letter {first} is changed")
    browser.check_access("dead letter of another gateway")


def queues(browser: Browser) -> None:
    browser.show("queue", "Queue", then="Gateway gw-2")
    browser.sees("Gateway gw-3")
    browser.check_access("queue of a cluster")
    browser.one("[aria-label='Look at the oldest of default at gw-2']").click()
    browser.sees("waits at gateway 2")
    assert "waits at gateway 1" not in browser.one("dialog").text, "logs of another gateway are among them"
    browser.press("Close")


def silent(browser: Browser) -> None:
    """A gateway hangs and another one is gone: what they have is said to be missing."""
    for screen, heading in (("dead-letters", "Dead letters"), ("queue", "Queue")):
        browser.show(screen, heading)
        browser.sees("no answer from gw-2, gw-3.", seconds=10)


def lost(check: Check, browser: Browser, pictures: pathlib.Path) -> None:
    """The loss is shown with the reason why one shard stays, then the adoption of the other."""
    # On a slow machine the second one may be adopted by now; the third one stays.
    shown = re.compile(r"1 gateway lives; [12] gone; [12] shards? without a gateway")
    reads_until(browser, lambda: shown.search(browser.text()), "the loss is not shown")
    pictured(browser, pictures, "cluster-lost")
    browser.show("status", "Status")
    browser.press("See the cluster", "a")
    browser.wait(lambda: browser.heading() == "Cluster", "the status does not lead to the cluster")
    reads_until(browser, lambda: "1 shard of lost gateways" in browser.text(), "the adoption is not shown")
    reads_until(browser, lambda: "not adopted" in browser.text(), "the refusal is not shown")
    assert "1 gateway lives; 1 gone; 1 shard without a gateway." in browser.text(), browser.text()
    assert total(browser)[0] == "8", f"adopted logs are counted twice: {total(browser)}"
    reason = browser.one("#content section:nth-of-type(3) td .reason").text
    check.expect("destination" in reason, f"the refusal has another reason: {reason}")
    pictured(browser, pictures, "cluster-adopted")
    browser.check_access("cluster after a loss")


def commands(check: Check, gateway: Gateway) -> None:
    """`sluice status --cluster` says the same."""

    def said(*options: str) -> str:
        words = [os.environ["SLUICE"], "status", "--cluster", "--admin-listen", f"127.0.0.1:{gateway.admin}", *options]
        environment = {"SLUICE_ADMIN_TOKEN": gateway.token}
        return subprocess.run(words, check=True, capture_output=True, text=True, env=environment).stdout

    text, document = said(), json.loads(said("--json"))
    check.say("sluice status --cluster:\n" + text)
    check.expect("gw-1: this one" in text and "not adopted: " in text, f"status --cluster says {text}")
    check.expect(document["ledger_closed"] and document["adoptions"] == 1, f"status --cluster --json says {document}")


def total(browser: Browser) -> list[str]:
    """The sums of the gateways' ledgers, and whether they add up."""
    return [cell.text.removeprefix("✓").strip() for cell in browser.all("#content tfoot td")[3:]]


def reads_until(browser: Browser, holds: Callable[[], object], what: str) -> None:
    """Reads the screen of the cluster until this holds, more often than the page does."""
    numbers = itertools.count()

    def read() -> object:
        browser.show(f"cluster?read={next(numbers)}", "Cluster")
        return holds()

    browser.wait(read, what, 40)


def pictured(browser: Browser, pictures: pathlib.Path, name: str) -> None:
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        browser.screenshot(pictures / scheme / f"{name}.png")
        browser.check_access(f"{name} {scheme}")
    browser.scheme("light")


def check_cluster(check: Check, pictures: pathlib.Path) -> None:
    sandbox = check.sandbox()
    gateways = begin(check, sandbox)
    with Browser(gateways[0].admin, height=1500) as browser:
        browser.login(gateways[0].token)
        living(browser)
        letters(browser)
        queues(browser)
        browser.screenshot(pictures / "light" / "cluster-queue.png")
        gateways[1].signal(signal.SIGSTOP)
        gateways[2].kill()
        silent(browser)
        gateways[1].kill()
        for node in ("gw-2", "gw-3"):
            shutil.rmtree(check.work / node)
        lost(check, browser, pictures)
        browser.size(360, 740)
        check.expect(not browser.is_too_wide, "the cluster scrolls sideways on a phone")
        browser.collect("cluster")
        check.complaints += browser.troubles
    commands(check, gateways[0])
    check.stop(gateways[0])

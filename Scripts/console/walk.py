"""A walk through every screen and action of the console, as an operator would."""

import json
import pathlib
import re

from selenium.webdriver.common.keys import Keys

from console.browser import Browser
from harness.check import Check
from harness.gateway import Gateway, SandboxControl, status_of
from harness.waiting import wait_until

SCREENS = {
    "status": "Status",
    "tail": "Live tail",
    "destinations": "Destinations",
    "credentials": "Credentials",
    "queue": "Queue",
    "dead-letters": "Dead letters",
    "capture": "Capture",
    "refusals": "Refusals",
    "routes": "Routes",
    "resolvers": "Resolvers",
    "clients": "Clients",
    "configuration": "Configuration",
    "audit": "Audit",
}
HOSTILE = {
    "html": "<script>document.title='alive'</script><img src=x onerror=\"document.title='alive'\">",
    "direction": "abc\u202edcb\u2066x",
    "terminal": "\u001b[31mred\u0007",
    "long": "L" * 200_000,
}


def post(gateway: Gateway, path: str, body: object) -> int:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return status_of(gateway.devices, path, method="POST", body=content)


def prepare(gateway: Gateway, sandbox: SandboxControl) -> None:
    """Logs that are delivered, dead letters, and refused requests."""
    sandbox.control("POST", "/poisons", {"key": "bad", "code": "PostBodyInvalid", "message": "a <b>bad</b> field"})
    for number in range(3):
        assert post(gateway, "/logs/app.home", [{"bad": "1", "number": str(number)}]) == 200
    assert post(gateway, "/logs/app.home", [{"message": "fine", "level": "debug"}, {"message": "fine"}]) == 200
    assert post(gateway, "/logs/app.home", b"{broken") == 400
    wait_until(lambda: gateway.ledger()["ledger"]["dead"] == 3, 60, "no dead letters")
    sandbox.control("DELETE", "/poisons")


def look(browser: Browser, pictures: pathlib.Path) -> None:
    """Every screen: content, picture, accessibility."""
    for screen, heading in SCREENS.items():
        browser.show(screen, heading)
        browser.screenshot(pictures / f"{screen}.png")
        browser.check_access(screen)
        browser.collect(screen)


def destinations(browser: Browser, gateway: Gateway) -> None:
    browser.show("destinations", "Destinations")
    browser.press("Pause", then="Its logs wait in the queue")
    browser.confirm(then="paused by an operator")
    assert post(gateway, "/logs/app.home", [{"message": "waits"}]) == 200
    browser.show("queue?destination=default", "Queue")
    browser.press("Look at the oldest", then="waits")
    browser.press("Close")
    browser.show("destinations/default", "Destination default")
    browser.press("Resume", then="sends again")
    browser.press("Flush", then="are sent now")
    browser.press("Test", then="default: SLS accepts a signed request")
    browser.type("#patch", '{"packet":{"logs":77}}')
    browser.press("Change", then="take effect at once")
    browser.confirm(then="the settings are in force")
    browser.sees("decided at run time")
    browser.press("Return all to the file", confirms=True, then="the file decides again")
    browser.show("destinations/store", "Destination store")
    browser.press("Test", then="is not there yet and can be made")


def two_operators(browser: Browser, gateway: Gateway) -> None:
    """Another operator is faster: the change is refused, keeps what was typed, and can be made after a reload."""
    patch = '{"packet":{"logs":78}}'
    browser.show("destinations/default", "Destination default")
    browser.type("#patch", patch)
    gateway.ask("/admin/destinations/default", "PATCH", b'{"topic":"other"}')
    # The page reads the other's change, but this one was meant for the settings before.
    browser.sees("decided at run time")
    for said in ("It was changed meanwhile", "the settings are in force"):
        browser.press("Change", confirms=True, then=said)
        if browser.named("button", "Reload"):
            assert browser.one("#patch").get_property("value") == patch, "what was typed is lost"
            browser.press("Reload", then="This is the present state")
    decided = json.loads(gateway.ask("/admin/destinations/default"))["decided"]
    assert set(decided) == {"topic", "packet"}, f"a change is lost: {decided}"
    gateway.ask("/admin/destinations/default", "DELETE")
    credential = '{"AccessKeyId":"other","AccessKeySecret":"other"}'
    browser.show("credentials", "Credentials")
    browser.press("Replace…", then="It replaces the one with fingerprint")
    browser.type("#new-credential", credential)
    gateway.ask("/admin/credentials/default?force=true", "PUT", credential.encode())
    browser.press("Test and activate", then="It was changed meanwhile")
    assert browser.one("#new-credential").get_property("value") == credential, "what was typed is lost"
    browser.press("Reload", then="This is the present state")
    # The dialog does not outlive the screen.
    browser.show("status", "Status")
    assert not browser.all("dialog"), "a dialog stands before another screen"
    browser.show("credentials", "Credentials")
    browser.press("Forget the pushed one", then="The configured source is used again")
    browser.confirm(then="the configured source is in use")


def credentials(browser: Browser, gateway: Gateway) -> None:
    browser.show("credentials", "Credentials")
    browser.press("Verify", then="default: accepted")
    browser.press("Replace…")
    browser.type("#new-credential", '{"AccessKeyId":"wrong","AccessKeySecret":"wrong"}')
    browser.press("Test and activate", then="SLS refuses the credential")
    browser.keys(Keys.ESCAPE)
    browser.wait(lambda: not browser.all("dialog"), "Escape does not close the dialog")


def letters(browser: Browser, gateway: Gateway) -> None:
    browser.show("dead-letters", "Dead letters", then="PostBodyInvalid")
    first = browser.one("tbody a[href^='#/dead-letters/']").text
    browser.show(f"dead-letters/{first}", f"Dead letter {first}")
    browser.press("Edit…")
    browser.type("#edited", '{"number":"0","mended":"yes"}')
    browser.sees("removed")
    browser.press("Save and replay")
    browser.wait(lambda: gateway.ledger()["ledger"]["dead"] == 2, "the letter is not replayed")
    browser.show("dead-letters", "Dead letters")
    browser.one("tbody input[type=checkbox]").click()
    browser.press("Replay 1 selected", confirms=True)
    browser.wait(lambda: gateway.ledger()["ledger"]["dead"] == 1, "the selected letter is not replayed")
    browser.press("Delete…")
    button = browser.one("dialog button.danger")
    assert not button.is_enabled(), "a purge needs the typed number"
    browser.type("#confirm-typed", "1")
    button.click()
    browser.sees("There are no dead letters")


def capture(browser: Browser, gateway: Gateway) -> None:
    browser.show("capture", "Capture")
    browser.type("#capture-path", "/logs")
    browser.press("Start a capture")
    browser.wait(lambda: browser.heading().startswith("Capture c"), "the capture is not shown")
    name = browser.heading().split()[1]
    assert post(gateway, "/logs/app.home?token=canary", [{"message": "captured", "password": "canary"}]) == 200
    browser.sees("/logs/app.home")
    browser.show(f"capture/{name}/1", f"Capture {name}, request 1", then="captured")
    browser.sees("[redacted", "✓ stored")
    assert "canary" not in browser.text(), "a secret is shown"
    browser.check_access("capture record")
    browser.press("Replay, dry")
    browser.press("Run", then="Nothing would change.")
    browser.type("#rules", '{"filters":[{"match":"**","steps":[{"add":{"env":"prod"}}]}]}')
    browser.press("Run", then="1 of 1 logs would fare otherwise.")
    browser.press("Close")
    assert post(gateway, "/logs/app.home", [{"message": "twice"}]) == 200
    browser.show(f"capture/{name}/2", f"Capture {name}, request 2")
    # The first body has a secret, so it has no line.
    browser.press("As curl", then="--data-raw")
    browser.press("Close")
    browser.press("Send again", confirms=True, then="queued again: 1, receipt ")
    browser.show(f"capture/{name}", f"Capture {name}")
    browser.press("Stop and forget", confirms=True, then="No capture was started")


def routes(browser: Browser, gateway: Gateway) -> None:
    browser.show("routes", "Routes")
    browser.type("#logs", '{"level":"debug"}')
    browser.sees("Dropped by filters[0].")
    browser.type("#tag", "other")
    browser.sees("No filter matches this tag.")


def tail(browser: Browser, gateway: Gateway) -> None:
    browser.show("tail", "Live tail", then="follows")
    assert post(gateway, "/logs/app.home", [HOSTILE]) == 200
    browser.sees("onerror=", "⟦RLO⟧")
    browser.sees("⟦ESC⟧", "show all 200,000 characters")
    browser.press("Pause")
    assert post(gateway, "/logs/app.home", [{"message": "while paused"}]) == 200
    browser.sees("1 wait")
    assert "while paused" not in browser.text()
    browser.press("Go on", then="while paused")
    assert post(gateway, "/logs/app.home", [{"message": "M" * 600_000, "after": "still shown"}]) == 200
    browser.sees("still shown", "cut: the log has")
    flood = [{"message": "flood", "number": str(number)} for number in range(2000)]
    assert post(gateway, "/logs/app.home", flood) == 200
    browser.wait(lambda: re.search(r"showing \d+ of [\d,]{5} a second", browser.text()), "no word of what is left out")
    assert "missed" not in browser.text(), "a viewer with a rate misses logs"


EARLY = """
new MutationObserver(() => {
  if (document.body) window.early ??= document.documentElement.dataset.theme ?? "none";
}).observe(document, { childList: true, subtree: true });
"""


def theme(browser: Browser, gateway: Gateway) -> None:
    """A remembered theme is there before the page's body, so the other one never flashes."""
    browser.show("status", "Status")
    script = browser.command("Page.addScriptToEvaluateOnNewDocument", source=EARLY)["identifier"]
    for chosen in ("dark", "light"):
        browser.press("◐")
        browser.open()
        browser.one("#menu")
        early = browser.driver.execute_script("return window.early")
        assert early == chosen, f"the page begins with the theme {early}, not {chosen}"
    browser.command("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def lists(browser: Browser, gateway: Gateway) -> None:
    browser.show("refusals", "Refusals", then="PostBodyInvalid")
    browser.show("configuration", "Configuration")
    browser.type("#narrow", "queue.max_bytes")
    browser.wait(lambda: len(browser.all("#content tbody tr")) == 1, "the list is not narrowed")
    browser.show("audit", "Audit", then="log in")
    browser.show("status", "Status")
    browser.press("as table")
    browser.press("as chart")


def by_keyboard(browser: Browser) -> None:
    """Every screen can be reached, and the first button of one pressed, without a mouse."""
    browser.show("status", "Status")
    reached: set[str] = set()
    skips = False
    # From the heading through the page, past its end, to the navigation.
    for _ in range(150):
        stop = browser.tab()
        skips = skips or stop["class"] == "skip"
        if stop["nav"]:
            reached.add(stop["href"].removeprefix("#/"))
        if len(reached) == len(SCREENS):
            break
    assert skips, "there is no link to skip the navigation"
    assert reached == set(SCREENS), f"the keyboard reaches only {sorted(reached)}"
    assert stop["href"] == "#/audit"
    browser.keys(Keys.ENTER)
    browser.wait(lambda: browser.heading() == "Audit", "Enter does not follow a link")
    assert browser.driver.switch_to.active_element.tag_name == "h1", "the focus is not on the heading"


def read_only(browser: Browser, token: str) -> None:
    """A token for reading sees no buttons that change."""
    browser.press("Log out")
    browser.one("#token")
    browser.login(token)
    browser.sees("may read")
    for screen in ("destinations", "credentials", "dead-letters", "capture"):
        browser.show(screen, SCREENS[screen])
        for word in ("Pause", "Resume", "Replace…", "Verify", "Replay all", "Delete…", "Start a capture"):
            assert not browser.named("button", word), f"{screen} offers {word} to a reader"


def walk(check: Check, browser: Browser, gateway: Gateway, pictures: pathlib.Path, reader: str) -> None:
    browser.login(gateway.token)
    look(browser, pictures)
    for step in (destinations, two_operators, credentials, letters, capture, routes, tail, theme, lists):
        step(browser, gateway)
        browser.collect(step.__name__)
        check.say(f"{step.__name__} is fine")
    by_keyboard(browser)
    read_only(browser, reader)
    browser.collect("read only")
    check.expect(browser.driver.title != "alive", "a hostile text ran")

"""A real browser that notes everything it should not see: errors, violations of the policy, requests elsewhere."""

import json
import pathlib
import shutil
from collections.abc import Callable
from typing import Any, Self

import axe_selenium_python
from selenium import webdriver
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

OPTIONS = [
    "--headless=new",
    # Chromium's sandbox does not run as root. The only pages it opens are the gateway's.
    "--no-sandbox",
    "--no-proxy-server",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
AXE = pathlib.Path(axe_selenium_python.__file__).parent / "node_modules" / "axe-core" / "axe.min.js"


class Browser:
    """A window of Chromium on one gateway's console."""

    def __init__(self, port: int, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        self.base = f"http://127.0.0.1:{port}"
        options = webdriver.ChromeOptions()
        for option in OPTIONS:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = shutil.which("chromedriver")
        assert driver, "no chromedriver; Scripts/setup-tests installs it"
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        self.size(width, height)
        self.scheme("dark" if dark else "light")
        self.troubles: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.quit()

    def command(self, name: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, parameters)

    # Waiting and finding

    def wait(self, holds: Callable[[], Any], what: str, seconds: float = 20) -> Any:
        return WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(lambda _: holds(), what)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return self.wait(lambda: next(iter(self.all(selector)), None), f"no {selector}")

    def named(self, tag: str, text: str) -> list[WebElement]:
        return self.driver.find_elements(By.XPATH, f"//{tag}[normalize-space()={json.dumps(text, ensure_ascii=False)}]")

    def heading(self) -> str:
        return str(self.driver.execute_script("return document.querySelector('h1')?.innerText ?? ''"))

    def text(self) -> str:
        return str(self.driver.execute_script("return document.body.innerText"))

    def sees(self, *texts: str, seconds: float = 20) -> None:
        for text in texts:
            self.wait(lambda: text in self.text(), f"the page never shows {text!r}", seconds)

    def press(self, text: str, tag: str = "button", confirms: bool = False, then: str = "") -> None:
        """Presses a button by its text, and confirms that in a dialog. A page may replace a button meanwhile."""
        obstacle = "there is none"

        def pressed() -> bool:
            nonlocal obstacle
            for element in self.named(tag, text):
                try:
                    if element.is_enabled() and element.is_displayed():
                        element.click()
                        return True
                    obstacle = "it is disabled or hidden"
                except WebDriverException as error:
                    obstacle = str(error.msg)
            return False

        try:
            self.wait(pressed, "")
        except TimeoutException:
            raise AssertionError(f"cannot press {tag} {text!r}: {obstacle}") from None
        if confirms:
            self.confirm()
        self.sees(then)

    def confirm(self, then: str = "") -> None:
        self.one("dialog button.primary").click()
        self.sees(then)

    def type(self, selector: str, text: str) -> None:
        element = self.one(selector)
        element.clear()
        element.send_keys(text)

    # The console

    def open(self, path: str = "/console/") -> None:
        self.driver.get(self.base + path)

    def login(self, token: str) -> None:
        self.open()
        self.type("#token", token)
        self.press("Log in")
        self.one("#menu")

    def show(self, screen: str, heading: str, then: str = "") -> None:
        """Goes to a screen, and waits for its content and for `then`."""
        self.driver.execute_script("location.hash = arguments[0]", f"#/{screen}")
        self.wait(lambda: self.heading() == heading and not self.all("#content[aria-busy]"), f"{screen} does not load")
        self.sees(then)

    @property
    def is_too_wide(self) -> bool:
        page = "document.documentElement"
        return bool(self.driver.execute_script(f"return {page}.scrollWidth > {page}.clientWidth"))

    def size(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.command("Emulation.setDeviceMetricsOverride", **metrics)

    def scheme(self, name: str) -> None:
        """Light or dark, as the system would say."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def screenshot(self, file: pathlib.Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(file))

    def keys(self, *keys: str) -> None:
        self.driver.switch_to.active_element.send_keys(*keys)

    def tab(self) -> dict[str, str]:
        """Where the focus goes next: the element's class, its address, and whether it is in the navigation."""
        webdriver.ActionChains(self.driver).send_keys(Keys.TAB).perform()
        place: dict[str, str] = self.driver.execute_script(
            "const at = document.activeElement;"
            "return {class: at.className, href: at.getAttribute('href') ?? '', nav: at.closest('nav') ? 'yes' : ''}"
        )
        return place

    # What must not be

    def collect(self, where: str) -> None:
        """Notes errors, violations and foreign requests since the last call."""
        for entry in self.driver.get_log("browser"):
            if entry["level"] in ("SEVERE", "WARNING"):
                self.troubles.append(f"{where}: {entry['message'][:300]}")
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] != "Network.requestWillBeSent":
                continue
            url = message["params"]["request"]["url"]
            if not url.startswith((self.base + "/", "data:", "chrome:", "about:")):
                self.troubles.append(f"{where}: a request to {url[:120]}")

    def check_access(self, where: str) -> None:
        """Runs axe, and notes serious findings."""
        # The page's policy forbids scripts of others, so axe comes in a world of its own.
        frame = self.command("Page.getFrameTree")["frameTree"]["frame"]["id"]
        world = self.command("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
        self.command("Runtime.evaluate", expression=AXE.read_text(), contextId=world)
        result = self.command(
            "Runtime.evaluate",
            expression="axe.run(document, {resultTypes: ['violations']}).then((found) => JSON.stringify(found.violations))",
            contextId=world,
            awaitPromise=True,
        )
        # axe scrolls, and leaves buttons under the header, where nobody can press them.
        self.driver.execute_script("window.scrollTo(0, 0)")
        found = result.get("result", {}).get("value")
        if found is None:
            self.troubles.append(f"{where}: axe did not run: {json.dumps(result)[:300]}")
            return
        for violation in json.loads(found):
            if violation["impact"] in ("serious", "critical"):
                places = "; ".join(node["html"][:120] for node in violation["nodes"][:3])
                self.troubles.append(f"{where}: axe: {violation['id']}: {violation['help']}: {places}")

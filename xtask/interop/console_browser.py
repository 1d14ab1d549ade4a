"""The console in Chromium: signing in, opening pages, filling in forms by what a reader sees, and what the browser reports."""

import contextlib
import json
import os
import tempfile
from urllib.parse import urlsplit

from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import WebDriverWait

from chromium import chromium

PATIENCE = 60
WIDE, NARROW = 1280, 390
HEIGHTS = {WIDE: 800, NARROW: 844}


@contextlib.contextmanager
def console():
    """A browser with an empty profile."""
    with tempfile.TemporaryDirectory() as profile:
        driver = chromium(profile)
        try:
            yield Console(driver)
        finally:
            driver.quit()


class Console:
    """A browser at the console of the server in the ready file of `vestry dev`."""

    def __init__(self, driver):
        with open(os.environ["VESTRY_DEV_JSON"], encoding="utf-8") as file:
            self.ready = json.load(file)
        self.driver = driver
        driver.set_script_timeout(PATIENCE)
        link = urlsplit(self.ready["console_url"])
        self.origin = f"{link.scheme}://{link.netloc}"

    # What the browser is like.

    def looks_like(self, width, theme="light", motion=True):
        """Sets the width of the window, the theme of the system, and whether it asks for less motion."""
        metrics = {"width": width, "height": HEIGHTS.get(width, 800), "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [
            {"name": "prefers-color-scheme", "value": theme},
            {"name": "prefers-reduced-motion", "value": "no-preference" if motion else "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def scripts(self, on):
        """Whether pages run scripts. Those of `script` run in any case."""
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not on})

    def before_each_page(self, text):
        """Runs a script before those of each page. The policy of the page does not apply to it."""
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": text})

    # Moving around.

    def path(self, page="", environment="test", app=None):
        """The path of a page of an App and environment."""
        return f"/console/{app or self.ready['app_id']}/{environment}/{page}"

    def open(self, path):
        """Opens a path or URL, and returns the status of the response."""
        self.driver.get(self.origin + path if path.startswith("/") else path)
        return self.status()

    def new_tab(self, path=None):
        """Opens a tab and goes to it. Returns the handle of the earlier one, for `switch_to.window`."""
        earlier = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        if path:
            self.open(path)
        return earlier

    def sign_in_by_link(self):
        """Uses the link that `vestry dev` prints, which works once."""
        self.open(self.ready["console_url"])
        self.press("Accept invitation")

    def sign_in(self):
        """Signs in with the password in the ready file."""
        self.open("/console/sign-in")
        self.fill("Work email", self.ready["operator"]["email"])
        self.fill("Password", self.ready["operator"]["password"])
        self.press("Continue")

    # What a page says.

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def status(self):
        """The status of the response that the page came with."""
        return self.script("return performance.getEntriesByType('navigation')[0].responseStatus")

    def here(self):
        """Path and query of the page."""
        parts = urlsplit(self.driver.current_url)
        return parts.path + (f"?{parts.query}" if parts.query else "")

    def heading(self):
        return self.find("h1").text

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector="main"):
        return self.find(selector).text

    def secret(self):
        """The key or secret that a page shows once."""
        return self.text("#secret")

    def reports(self):
        """Errors in the console of the browser since the last call, reports of the content security policy among them. A page with an
        error status counts as one."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def until(self, holds):
        """Waits until a function of no arguments returns something, and returns it."""
        ignored = (NoSuchElementException, StaleElementReferenceException)
        return WebDriverWait(self.driver, PATIENCE, 0.05, ignored).until(lambda _: holds())

    # Forms, by the words that a reader sees.

    def field(self, label):
        """The field with a label."""
        label = self._label(label)
        target = label.get_attribute("for")
        return self.driver.find_element(By.ID, target) if target else label.find_element(By.TAG_NAME, "input")

    def fill(self, label, text):
        """Replaces the content of a field."""
        field = self.field(label)
        field.clear()
        field.send_keys(text)

    def check(self, label):
        """Clicks a box, a choice or a switch."""
        self._label(label).click()

    def choose(self, label, option):
        """Chooses an option of a list by its text."""
        for each in self.field(label).find_elements(By.TAG_NAME, "option"):
            if each.text.strip() == option:
                return each.click()
        raise NoSuchElementException(f"no option {option} in {label}")

    def button(self, name):
        """The first visible button in the content of the page whose text starts like that, or else the first such link."""
        words = f"starts-with(normalize-space(.), {_quoted(name)})"
        found = [one for kind in ("button", "a") for one in self.driver.find_elements(By.XPATH, f"//main//{kind}[{words}]")]
        shown = [element for element in found if element.is_displayed()]
        if not shown:
            raise NoSuchElementException(f"no button or link {name} at {self.here()}")
        return shown[0]

    def press(self, name):
        """Clicks a button or link, and waits for the page that follows."""
        self.follow(self.button(name).click)

    def press_keys(self, *names):
        """Presses keys one after another: names of `Keys`, such as `Tab`, or text."""
        chain = ActionChains(self.driver, duration=0)
        for name in names:
            chain.send_keys(getattr(Keys, name.upper(), name) if len(name) > 1 else name)
        chain.perform()

    def follow(self, act):
        """Does something that leads to another page, and waits for it."""
        page = self.find("html")
        act()
        WebDriverWait(self.driver, PATIENCE, 0.02).until(staleness_of(page))
        self.until(lambda: self.script("return document.readyState") == "complete")

    def _label(self, words):
        path = f"//main//label[starts-with(normalize-space(.), {_quoted(words)})]"
        return self.driver.find_element(By.XPATH, path)


def _quoted(text):
    """A string of XPath, which has no escapes."""
    return f"'{text}'" if "'" not in text else f'"{text}"'

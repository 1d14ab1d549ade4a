"""From the link that `vestry dev` prints to a verified sign-in and a received webhook, in the browser only (CN-B1). The blocks of the
quick start run as the page shows them (CON-7, CON-15)."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from selenium.webdriver.common.by import By
from standardwebhooks.webhooks import Webhook

from console_browser import WIDE, console
from service import Check
from receiver import Receiver

LANGUAGES = ["curl", "TypeScript", "Python"]
STEPS = 4
PATIENCE = 30


class Journey:
    """One App and the browser."""

    def __init__(self, check, browser, language):
        self.check, self.browser, self.language = check, browser, language

    def through(self):
        self.create_app()
        receiver, secret = self.add_endpoint()
        key = self.create_key()
        blocks = self.blocks()
        run = {"curl": self.by_curl, "TypeScript": self.by_node, "Python": self.by_python}[self.language]
        printed = run(blocks, key)
        self.check.that(re.search("0x[0-9a-f]{130}", printed), f"{self.language}: the last block prints a signature: {printed}")
        self.sees_the_steps()
        self.sees_the_session()
        self.gets_the_webhook(receiver, secret)

    def create_app(self):
        browser = self.browser
        browser.open("/console/")
        browser.press("Create App")
        browser.fill("Name", f"Books by {self.language}")
        browser.press("Create App")
        self.base = browser.here().rstrip("/")
        self.check.that(self.base.endswith("/test"), f"the new App opens in test: {self.base}")

    def go(self, link):
        """Follows a link of the navigation."""
        self.browser.follow(self.browser.driver.find_element(By.XPATH, f"//nav[@id='nav']//a[.='{link}']").click)

    def add_endpoint(self):
        receiver = Receiver()
        self.go("Webhooks")
        self.browser.press("Add endpoint")
        self.browser.fill("URL", receiver.url)
        self.browser.press("Add endpoint")
        secret = self.browser.secret()
        self.browser.check("I have stored this secret")
        self.browser.press("Done")
        return receiver, secret

    def create_key(self):
        browser = self.browser
        self.go("Quick start")
        browser.press("Create key")
        browser.fill("Name", "Backend")
        browser.check("Full")
        browser.press("Create key")
        key = browser.secret()
        self.check.that(key.startswith("sk_test_"), "a key is shown")
        self.check.that(key not in browser.driver.current_url + browser.driver.title, "the key is in no URL or title")
        # The form is sent again by a reload: it acts once, and the key is not shown again.
        browser.follow(browser.driver.refresh)
        self.check.that(key not in browser.driver.page_source, "a reload does not show the key again")
        self.go("API keys")
        named = [row for row in browser.all("tbody tr") if "Backend" in row.text]
        self.check.that(len(named) == 1, f"a reload creates no second key: {len(named)}")
        return key

    def blocks(self):
        """The code of each step in one language, as the page shows it."""
        self.go("Quick start")
        chosen = self.browser.driver.find_elements(By.XPATH, f"//main//label[.='{self.language}']")
        self.check.that(len(chosen) == STEPS, f"{STEPS} steps have {self.language}")
        blocks = []
        for label in chosen:
            label.click()
            shown = [block for block in label.find_elements(By.XPATH, "ancestor::div[@class='code']/pre") if block.is_displayed()]
            self.check.that(len(shown) == 1, f"one language is shown at a time: {len(shown)}")
            blocks.append(shown[0].text)
        return blocks

    def by_curl(self, blocks, key):
        environment = {**os.environ, "VESTRY_KEY": key}

        def run(block):
            done = subprocess.run(["bash", "-c", block], env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE)
            return json.loads(done.stdout)

        user, send, verify, sign = blocks
        environment["WALLET"] = run(user)["user"]["wallets"][0]["id"]
        environment["EMAIL_ID"] = run(send)["email_id"]
        environment["CODE"] = self.captured_code()
        self.check.that(run(verify)["session_token"], "the code is verified")
        return json.dumps(run(sign))

    def captured_code(self):
        """Reads the code on the page of messages."""
        self.go("Messages")

        def code():
            self.browser.driver.refresh()
            shown = [one.text for one in self.browser.all("main summary .mono") if one.text.isdigit() and len(one.text) == 6]
            return shown and shown[0]

        return self.browser.until(code)

    def by_node(self, blocks, key):
        return self.in_file(["node"], "quick-start.mjs", blocks, key)

    def by_python(self, blocks, key):
        return self.in_file([sys.executable], "quick_start.py", blocks, key)

    def in_file(self, command, name, blocks, key):
        """Runs the blocks of a language as one program; returns what it prints."""
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / name
            file.write_text("\n\n".join(blocks))
            done = subprocess.run([*command, file], env={**os.environ, "VESTRY_KEY": key}, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr}")
        return done.stdout

    def sees_the_steps(self):
        self.go("Quick start")
        # The mark of signatures comes from counters, which are written every ten seconds: one App waits for it.
        marks = STEPS if self.language == LANGUAGES[-1] else STEPS - 1

        def done():
            self.browser.driver.refresh()
            return len([pill for pill in self.browser.all("main .pill") if pill.text.startswith("Done")]) >= marks

        self.check.that(self.browser.until(done), f"{marks} steps are marked")

    def sees_the_session(self):
        self.go("Users")
        self.browser.press("grace@example.com")
        shown = self.browser.text()
        self.check.that("1 active" in shown or "End" in shown, f"the user has a session: {shown}")

    def gets_the_webhook(self, receiver, secret):
        def session_event():
            for headers, body in receiver.arrived:
                event = Webhook(secret).verify(body, headers)
                if event["type"] == "session.created":
                    return event
            return None

        event = self.browser.until(session_event)
        self.check.that(event["data"]["user_id"].startswith("user_"), "the webhook of the session arrives, and its signature is right")
        self.go("Webhooks")
        self.browser.follow(self.browser.find("tbody th a").click)
        self.check.that("Delivered" in self.browser.text(), "the delivery is shown")


def main():
    check = Check("console_journey", "selenium", "httpx", "standardwebhooks")
    begun = time.monotonic()
    with console() as browser:
        browser.looks_like(WIDE)
        browser.sign_in_by_link()
        for language in LANGUAGES:
            Journey(check, browser, language).through()
        reports = browser.reports()
        check.that(not reports, f"the browser reports nothing: {reports}")
    print(f"interop console_journey: {time.monotonic() - begun:.1f} s for {len(LANGUAGES)} languages")
    check.end()


main()

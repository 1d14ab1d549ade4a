"""Chromium signs in through the built-in provider, on a page with one static link and a backend that verifies the token."""

import http.server
import json
import os
import tempfile
import threading
import urllib.parse

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from chromium import chromium
from service import Check, Refused, Service

WAIT_SECONDS = 30


class Shop(http.server.ThreadingHTTPServer):
    """An integrator's site: a page with a login link, and the page to which the browser returns."""

    daemon_threads = True

    def __init__(self, service, public_token):
        super().__init__(("127.0.0.1", 0), Handler)
        self.service = service
        self.origin = f"http://localhost:{self.server_address[1]}"
        query = urllib.parse.urlencode({"public_token": public_token, "redirect": "true"})
        self.link = f"{service.base_url}/v1/auth/oauth/test/begin?{query}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def landed(self, query):
        """The backend's handling of the returned query."""
        if "token" not in query:
            return {"error": query.get("error")}
        body = {"token": query["token"], "session_expires_in": 60}
        try:
            return self.service.call("POST", "/v1/auth/oauth/verify", body)
        except Refused as refusal:
            return {"refused": str(refusal)}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/":
            page = f'<!doctype html><title>Shop</title><a id="login" href="{self.server.link.replace("&", "&amp;")}">Sign in</a>'
        elif path in ("/in", "/new"):
            outcome = self.server.landed(dict(urllib.parse.parse_qsl(query)))
            for secret in ("session_token", "session_jwt", "idp_session"):
                outcome.pop(secret, None)
            outcome["landed"] = path
            page = f'<!doctype html><title>Shop</title><pre id="outcome">{json.dumps(outcome)}</pre>'
        else:
            page = ""
        body = page.encode()
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Logs nothing: the outcome is enough."""


def register(service, shop):
    """Registers the redirect URLs with the admin command, while the service runs."""
    for kind, path in (("login", "/in"), ("registration", "/new")):
        service.operate("redirect-url", "add", service.app_id, "test", shop.origin + path, "--kind", kind, "--default")


def sign_in(browser, shop, choice, email):
    """Clicks the link, chooses on the provider's page, and returns the content of the shop's page."""
    wait = WebDriverWait(browser, WAIT_SECONDS)
    browser.get(shop.origin)
    browser.find_element(By.ID, "login").click()
    field = wait.until(lambda page: page.find_element(By.NAME, "email"))
    field.clear()
    field.send_keys(email)
    browser.find_element(By.CSS_SELECTOR, f'button[value="{choice}"]').click()
    return json.loads(wait.until(lambda page: page.find_element(By.ID, "outcome").text))


def main():
    service = Service()
    check = Check("oauth", "selenium")
    with open(os.environ["VESTRY_DEV_JSON"], encoding="utf-8") as file:
        public_token = json.load(file)["test"]["public_token"]
    shop = Shop(service, public_token)
    register(service, shop)
    with tempfile.TemporaryDirectory(prefix="vestry-browser-", ignore_cleanup_errors=True) as profile:
        browser = chromium(profile)
        try:
            new = sign_in(browser, shop, "verified", "grace@example.com")
            check.that(new["landed"] == "/new", f"a new user registers: {new}")
            channels = [factor["delivery_channel"] for factor in (new.get("session") or {}).get("factors", [])]
            check.that(channels == ["test_oauth"], f"the session rests on the provider: {channels}")
            user = service.get(f"/v1/auth/users/{new['user_id']}")
            addresses = [(email["email"], email["verified"]) for email in user["emails"]]
            check.that(addresses == [("grace@example.com", True)], f"the address is the user's: {addresses}")
            known = sign_in(browser, shop, "verified", "grace@example.com")
            check.that(known["landed"] == "/in", f"a known user logs in: {known}")
            check.that(known.get("user_id") == new["user_id"], f"it is the same user: {known}")
            denied = sign_in(browser, shop, "denied", "grace@example.com")
            check.that(denied == {"error": "access_denied", "landed": "/in"}, f"a denial is reported: {denied}")
            failed = sign_in(browser, shop, "error", "grace@example.com")
            check.that(failed["error"] == "provider_unavailable", f"a failure is reported: {failed}")
            # The callback belongs to the browser that started: without its cookies it is rejected.
            browser.get(shop.origin)
            browser.find_element(By.ID, "login").click()
            WebDriverWait(browser, WAIT_SECONDS).until(lambda page: page.find_element(By.NAME, "email"))
            browser.delete_all_cookies()
            browser.find_element(By.CSS_SELECTOR, 'button[value="verified"]').click()
            shown = WebDriverWait(browser, WAIT_SECONDS).until(lambda page: page.find_element(By.ID, "outcome").text)
            lost = json.loads(shown)
            check.that(lost["error"] == "invalid_state", f"another browser is refused: {lost}")
        finally:
            browser.quit()
    shop.shutdown()
    check.end()


main()

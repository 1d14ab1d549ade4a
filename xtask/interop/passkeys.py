"""Chromium with a virtual authenticator registers and uses passkeys, on a page with a backend."""

import http.server
import json
import tempfile
import threading

from selenium.webdriver.common.by import By
from selenium.webdriver.common.virtual_authenticator import VirtualAuthenticatorOptions
from selenium.webdriver.support.ui import WebDriverWait

from chromium import chromium
from service import Check, Refused, Service

WAIT_SECONDS = 30

# The minimum of an integrator's page: options in, credential out.
PAGE = """<!doctype html>
<meta charset="utf-8">
<title>Passkeys</title>
<button id="register">Register</button>
<button id="named">Sign in as Ada</button>
<button id="discoverable">Sign in</button>
<pre id="outcome"></pre>
<script>
const call = async (name, body) => {
  const answer = await fetch("/api/" + name, {method: "POST", body: JSON.stringify(body ?? {})});
  return {status: answer.status, ...(await answer.json())};
};
const register = async () => {
  const begun = await call("register");
  const options = begun.public_key_credential_creation_options.publicKey;
  const credential = await navigator.credentials.create(
    {publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options)});
  return call("registered", {public_key_credential: credential.toJSON()});
};
const signIn = async (named) => {
  const begun = await call(named ? "named" : "discoverable");
  const options = begun.public_key_credential_request_options.publicKey;
  const credential = await navigator.credentials.get(
    {publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options)});
  return call("verify", {public_key_credential: credential.toJSON()});
};
const on = (id, run) => document.getElementById(id).onclick = async () => {
  const outcome = document.getElementById("outcome");
  outcome.textContent = "";
  try {
    outcome.textContent = JSON.stringify(await run());
  } catch (error) {
    outcome.textContent = JSON.stringify({status: 0, error: error.name});
  }
};
on("register", register);
on("named", () => signIn(true));
on("discoverable", () => signIn(false));
</script>
"""


class Backend(http.server.ThreadingHTTPServer):
    """The page and its backend, which forwards calls with the secret key. The browser never gets that key."""

    daemon_threads = True

    def __init__(self, service, user_id):
        super().__init__(("127.0.0.1", 0), Handler)
        self.service = service
        self.user_id = user_id
        self.kind = "platform"
        # Browsers allow passkeys without TLS only on `localhost`, by that name.
        self.origin = f"http://localhost:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def answer(self, name, sent):
        """Path and body of the API call for a call of the page."""
        user, domain = {"user_id": self.user_id}, {"domain": "localhost"}
        webauthn = "/v1/auth/webauthn"
        calls = {
            "register": ("registrations/begin", user | domain | {"authenticator_type": self.kind}),
            "registered": ("registrations/create", user | sent),
            "named": ("authentication/begin", user | domain),
            "discoverable": ("authentication/begin", domain),
            "verify": ("verify", sent | {"session_expires_in": 60}),
        }
        path, body = calls[name]
        return self.service.call("POST", f"{webauthn}/{path}", body)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.reply(200 if self.path == "/" else 404, "text/html", PAGE.encode() if self.path == "/" else b"")

    def do_POST(self):
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            status, answer = 200, self.server.answer(self.path.removeprefix("/api/"), sent)
        except Refused as refusal:
            status, answer = 400, {"refused": str(refusal)}
        # The page needs the user, not the session's secrets.
        for secret in ("session_token", "session_jwt"):
            answer.pop(secret, None)
        self.reply(status, "application/json", json.dumps(answer).encode())

    def reply(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Logs nothing: the outcome is enough."""


def authenticator(transport, discoverable):
    """An authenticator whose user verification always succeeds."""
    options = VirtualAuthenticatorOptions()
    options.protocol = VirtualAuthenticatorOptions.Protocol.CTAP2
    options.transport = transport
    options.has_resident_key = discoverable
    options.has_user_verification = True
    options.is_user_verified = True
    return options


def press(browser, button):
    """Clicks, and returns the content of the page."""
    browser.find_element(By.ID, button).click()
    shown = WebDriverWait(browser, WAIT_SECONDS).until(lambda page: page.find_element(By.ID, "outcome").text)
    return json.loads(shown)


def in_the_device(service, check, browser, backend):
    """A platform passkey: registered once, discoverable, refused after its deletion."""
    browser.add_virtual_authenticator(authenticator(VirtualAuthenticatorOptions.Transport.INTERNAL, True))
    browser.get(backend.origin)
    made = press(browser, "register")
    check.that(made["status"] == 200 and made["user_id"] == backend.user_id, f"a passkey is registered: {made}")
    again = press(browser, "register")
    check.that(again == {"status": 0, "error": "InvalidStateError"}, f"the browser knows the first one: {again}")
    for button in ("discoverable", "named", "discoverable"):
        signed_in = press(browser, button)
        check.that(signed_in["status"] == 200, f"{button} signs in: {signed_in}")
        check.that(signed_in.get("user_id") == backend.user_id, f"{button} is the user")
        factors = (signed_in.get("session") or {}).get("factors", [])
        channels = [factor["delivery_channel"] for factor in factors]
        check.that(channels == ["webauthn_credential"], f"the session rests on the passkey: {channels}")
    user = service.get(f"/v1/auth/users/{backend.user_id}")
    ids = [passkey["id"] for passkey in user["webauthn_credentials"]]
    check.that(ids == [made["webauthn_credential_id"]], "the user has the passkey")
    service.call("DELETE", f"/v1/auth/users/webauthn_credentials/{ids[0]}/delete")
    refused = press(browser, "discoverable")
    check.that("401 invalid_credentials" in refused.get("refused", ""), f"a deleted passkey is refused: {refused}")
    browser.remove_virtual_authenticator()


def on_a_cable(service, check, browser, backend):
    """A security key without discoverable credentials: the user is named."""
    backend.kind = "cross-platform"
    browser.add_virtual_authenticator(authenticator(VirtualAuthenticatorOptions.Transport.USB, False))
    browser.get(backend.origin)
    made = press(browser, "register")
    check.that(made["status"] == 200, f"a security key is registered: {made}")
    signed_in = press(browser, "named")
    check.that(signed_in["status"] == 200, f"a security key signs in: {signed_in}")
    check.that(signed_in.get("webauthn_credential_id") == made.get("webauthn_credential_id"), "it is that key")
    user = service.get(f"/v1/auth/users/{backend.user_id}")
    kinds = [passkey["authenticator_type"] for passkey in user["webauthn_credentials"]]
    check.that(kinds == ["cross-platform"], f"its kind is known: {kinds}")
    browser.remove_virtual_authenticator()


def main():
    service = Service()
    check = Check("passkeys", "selenium")
    created = service.call("POST", "/v1/auth/users/create", {"email": "ada@example.com", "first_name": "Ada"})
    backend = Backend(service, created["user_id"])
    with tempfile.TemporaryDirectory(prefix="vestry-browser-", ignore_cleanup_errors=True) as profile:
        browser = chromium(profile)
        try:
            print(f"browser: {browser.capabilities['browserName']} {browser.capabilities['browserVersion']}")
            in_the_device(service, check, browser, backend)
            on_a_cable(service, check, browser, backend)
        finally:
            browser.quit()
    backend.shutdown()
    check.end()


main()

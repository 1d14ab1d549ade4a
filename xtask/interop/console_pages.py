"""What the console has to show: objects for its pages, and the pages of each route."""

import http.server
import json
import pathlib
import re
import threading
import time

from service import Service

ROUTES = pathlib.Path(__file__).parents[2] / "crates/console/src/lib.rs"
PATIENCE = 60
# Each of these once made a page too wide or was taken for markup.
FIRST_NAME = "Wolfeschlegelsteinhausenbergerdorff-Nguyễn-Æthelflæd"
LAST_NAME = "<b>O'Brien</b> & “Şahin” مُحَمَّد 家族 👩‍👩‍👧"
LONG_EMAIL = f"{'very-long-local-part.' * 3}x@{'sub-domain.' * 8}example.com"
LONG_APP = "Ferries, Trams & <Trains> of the Northern Islands: Booking, Loyalty and Wallets"


def routes():
    """The paths that answer GET, as they are written in the source."""
    found, below = [], ""
    for scope, path in re.findall(r'web::scope\("([^"]*)"\)|\.route\(\s*"([^"]*)",\s*get\(\)', ROUTES.read_text()):
        if scope:
            below = scope
        else:
            found.append(below + path)
    return found


class Receiver:
    """Accepts webhooks below `/ok`, and answers others with an error."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                body = b"" if self.path == "/ok" else b"<html><b>Bad gateway</b>" + b"x" * 300
                self.send_response(204 if self.path == "/ok" else 502)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}"


class Objects(dict):
    """Ids of objects by the names that paths have for them."""

    def __init__(self, service):
        super().__init__()
        self.service = service
        self.number = 0
        app = self["app"] = service.app_id
        self["empty"] = self.operate("app", "create", LONG_APP)["id"]
        self.hooks()
        self.users()
        self.operate("redirect-url", "add", app, "test", "https://app.example.com/signed-in", "--default")
        pattern = f"https://*.{'preview.' * 10}example.com/{'path/' * 20}"
        self["url"] = self.operate("redirect-url", "add", app, "test", pattern)["redirect_urls"][0]["id"]
        key = ("--name", f"Orders of {LONG_APP}"[:100], "--scope", "users:read,wallets:read", "--ip-allow", "192.0.2.0/24,2001:db8::/32")
        self["key"] = self.operate("key", "create", app, "test", *key)["id"]
        self["key_of_live"] = self.operate("key", "create", app, "live", "--name", "Backend")["id"]
        # Nothing listens there, so its checks fail at once.
        secret = pathlib.Path(service.database()).with_name("client-secret")
        secret.write_text("not a secret")
        provider = ("kestrel", "--client-id", "abc", "--client-secret-file", str(secret), "--issuer", f"https://127.0.0.1:9/{'realm/' * 20}")
        self.operate("provider", "set", app, "test", *provider)
        of_key = ("--app", "all", "--environment", "test,live", "--expires-in", "90d", "--scope", "apps:write,audit:read")
        self["management_key"] = self.operate("manage-key", "create", "Pipeline", *of_key)["id"]
        for name, email in (("joins", "viewer@example.com"), ("invitation", f"invited@{'sub-domain.' * 10}example.com")):
            invited = self.operate("operator", "create", email, "--role", "viewer", "--app", app)
            self[name], self[f"{name}_link"] = invited["id"], invited["url"]
        self["self"] = self.operate("operator", "list")["operators"][0]["user_id"]

    def operate(self, *arguments):
        return json.loads(self.service.operate(*arguments, "--json"))

    def join(self, browser):
        """Lets a second operator join, then signs the first one in."""
        browser.open(self["joins_link"])
        browser.press("Accept invitation")
        joined = self.operate("operator", "list")["operators"]
        self["operator"] = next(one["user_id"] for one in joined if one["user_id"] != self["self"])
        browser.driver.delete_all_cookies()
        browser.sign_in()

    def hooks(self):
        receiver = Receiver()
        for name, path in (("hook", "ok"), ("failing", "broken")):
            made = self.operate("webhook", "create", self["app"], "test", f"{receiver.url}/{path}", "--name", f"Orders, {path}")
            self[name] = made["id"]
        disabled = "https://hooks.example.com/" + "path/" * 40
        self["disabled"] = self.operate("webhook", "create", self["app"], "test", disabled)["id"]
        self.operate("webhook", "disable", self["app"], self["disabled"])

    def users(self):
        call = self.service.call
        named = {
            "email": LONG_EMAIL,
            "email_verified": True,
            "phone_number": "+4915112345678",
            "first_name": FIRST_NAME,
            "last_name": LAST_NAME,
            "metadata": {"plan": "<gold>", "note": "n" * 400, "nested": {"a": [1, 2, {"b": None}]}},
        }
        user = self["user"] = call("POST", "/v1/auth/users/create", named)["user_id"]
        for kind in ("ethereum", "bitcoin", "solana", "stellar"):
            self["wallet"] = call("POST", "/v1/wallets/create", {"user_id": user, "wallet_type": kind})["id"]
        self["disabled_wallet"] = self["wallet"]
        call("POST", f"/v1/wallets/{self['wallet']}/disable", {})
        self["wallet"] = call("POST", "/v1/wallets/create", {"user_id": user, "wallet_type": "ethereum"})["id"]
        call("POST", f"/v1/wallets/{self['wallet']}/sign_message", {"message": "hello", "encoding": "utf-8"})
        call("POST", "/v1/auth/totps/create", {"user_id": user})
        self["session"] = self.signed_in(LONG_EMAIL)
        self["bare_user"] = call("POST", "/v1/auth/users/create", {"phone_number": "+4915112345679"})["user_id"]
        call("POST", f"/v1/auth/users/{self['bare_user']}/disable", {})
        # More than a page of users, events and deliveries.
        for number in range(50):
            call("POST", "/v1/auth/users/create", {"email": f"user-{number}@example.com", "first_name": "Ada", "last_name": str(number)})
        shown = call("GET", f"/v1/auth/users/{user}")
        self["email"] = shown["emails"][0]["id"]
        self["event"] = self.newest_event()
        deliveries = ("webhook", "deliveries", self["app"])
        for hook, name in (("hook", "delivery"), ("failing", "failed")):
            self[name] = self.soon(lambda: self.operate(*deliveries, self[hook])["deliveries"])[0]["id"]

    def newest_event(self):
        """The id of the newest event in the log."""
        return self.soon(lambda: self.service.get("/v1/events", order="desc", limit=10)["events"])[0]["id"]

    def last_position(self):
        """The position in the log of the last event that was sent to the endpoint."""
        sent = self.operate("webhook", "deliveries", self["app"], self["hook"])["deliveries"]
        # Those of one second are in no order.
        return max(one["position"] for one in sent)

    def new_user(self, newest):
        """Creates a user, and waits until something new is there."""
        known = newest()
        self.number += 1
        self.service.call("POST", "/v1/auth/users/create", {"email": f"new-{self.number}@example.com"})
        self.soon(lambda: newest() != known)

    def new_message(self):
        self.number += 1
        self.signed_in(f"new-{self.number}@example.com")

    def signed_in(self, email):
        """The id of a session that begins with a code."""
        begun = self.service.call("POST", "/v1/auth/otps/email/login_or_create", {"email": email})
        message = self.soon(lambda: self.service.get("/v1/test/messages", to=email)["messages"])[0]
        proof = {"method_id": begun["email_id"], "otp": message["code"], "session_expires_in": 3600}
        return self.service.call("POST", "/v1/auth/otps/verify", proof)["session"]["id"]

    @staticmethod
    def soon(read):
        """What a read returns once it returns something: workers run beside the calls."""
        until = time.monotonic() + PATIENCE
        while not (found := read()):
            if time.monotonic() > until:
                raise TimeoutError("the service did not get to it")
            time.sleep(0.05)
        return found


HERE, LIVE, EMPTY = "/{app}/test", "/{app}/live", "/{empty}/live"

# The pages of each route. Most have one with data; lists also have an empty one, in live.
PAGES = {
    "": [""],
    "/": ["/"],
    "/sign-in/company/callback": ["/sign-in/company/callback?state=unknown&code=x"],
    "/join": ["/join?token=unknown"],
    "/step-up": ["/step-up"],
    "/me": ["/me"],
    "/apps/new": ["/apps/new"],
    "/operators": ["/operators"],
    "/operators/invite": ["/operators/invite"],
    "/operators/invitations/{id}/withdraw": ["/operators/invitations/{invitation}/withdraw"],
    "/operators/{id}": ["/operators/{operator}", "/operators/{self}"],
    "/operators/{id}/{action}": [f"/operators/{{operator}}/{act}" for act in ("reset", "unlock", "disable", "remove")],
    "/deployment": ["/deployment"],
    "/management-keys": ["/management-keys"],
    "/management-keys/new": ["/management-keys/new"],
    "/management-keys/{id}/revoke": ["/management-keys/{management_key}/revoke"],
    "/{app}/{environment}/": [f"{HERE}/", f"{EMPTY}/"],
    "/{app}/{environment}/quick-start": [f"{HERE}/quick-start", f"{EMPTY}/quick-start"],
    "/{app}/{environment}/users": [f"{HERE}/users", f"{HERE}/users?q=unknown@example.com", f"{EMPTY}/users"],
    "/{app}/{environment}/users/{id}": [
        f"{HERE}/users/{{user}}",
        f"{HERE}/users/{{bare_user}}",
        f"{HERE}/users/user_3Fno4DCcJNUgxEXYswBqUg5tzib",
    ],
    "/{app}/{environment}/users/{id}/edit": [f"{HERE}/users/{{user}}/edit"],
    "/{app}/{environment}/users/{id}/{action}": [
        f"{HERE}/users/{{user}}/{act}"
        for act in ("disable", "unlock", "end-sessions", "end-session?of={session}", "remove-email?of={email}", "delete")
    ],
    "/{app}/{environment}/wallets": [f"{HERE}/wallets", f"{EMPTY}/wallets"],
    "/{app}/{environment}/wallets/{id}": [f"{HERE}/wallets/{{wallet}}", f"{HERE}/wallets/{{disabled_wallet}}"],
    "/{app}/{environment}/wallets/{id}/{action}": [f"{HERE}/wallets/{{wallet}}/disable", f"{HERE}/wallets/{{disabled_wallet}}/enable"],
    "/{app}/{environment}/messages": [f"{HERE}/messages", f"{HERE}/messages?to=unknown@example.com", "/{empty}/test/messages"],
    "/{app}/{environment}/messages/clear": [f"{HERE}/messages/clear"],
    "/{app}/{environment}/clock": [f"{HERE}/clock"],
    "/{app}/{environment}/methods": [f"{HERE}/methods", f"{EMPTY}/methods"],
    "/{app}/{environment}/providers": [f"{HERE}/providers"],
    "/{app}/{environment}/providers/{id}": [f"{HERE}/providers/{name}" for name in ("kestrel", "google", "apple", "microsoft")],
    "/{app}/{environment}/providers/{id}/remove": [f"{HERE}/providers/kestrel/remove"],
    "/{app}/{environment}/redirect-urls": [
        f"{HERE}/redirect-urls",
        f"{HERE}/redirect-urls?check=https://app.example.com/in&kind=login",
        f"{EMPTY}/redirect-urls",
    ],
    "/{app}/{environment}/redirect-urls/{id}/remove": [f"{HERE}/redirect-urls/{{url}}/remove"],
    "/{app}/{environment}/settings": [f"{HERE}/settings"],
    "/{app}/{environment}/audit": [f"{HERE}/audit", f"{EMPTY}/audit"],
    "/{app}/{environment}/events": [f"{HERE}/events", f"{HERE}/events?q={{user}}&types=user.created", f"{HERE}/events?q=-", f"{EMPTY}/events"],
    "/{app}/{environment}/events/{id}": [f"{HERE}/events/{{event}}"],
    "/{app}/{environment}/keys": [f"{HERE}/keys", f"{LIVE}/keys", f"{EMPTY}/keys"],
    "/{app}/{environment}/keys/new": [f"{HERE}/keys/new", f"{LIVE}/keys/new?kind=public"],
    "/{app}/{environment}/keys/{id}/edit": [f"{HERE}/keys/{{key}}/edit", f"{LIVE}/keys/{{key_of_live}}/edit"],
    "/{app}/{environment}/keys/{id}/rotate": [f"{HERE}/keys/{{key}}/rotate"],
    "/{app}/{environment}/keys/{id}/revoke": [f"{HERE}/keys/{{key}}/revoke"],
    "/{app}/{environment}/webhooks": [f"{HERE}/webhooks", f"{EMPTY}/webhooks"],
    "/{app}/{environment}/webhooks/new": [f"{HERE}/webhooks/new"],
    "/{app}/{environment}/webhooks/{id}": [f"{HERE}/webhooks/{{{hook}}}" for hook in ("hook", "failing", "disabled")],
    "/{app}/{environment}/webhooks/{id}/edit": [f"{HERE}/webhooks/{{hook}}/edit"],
    "/{app}/{environment}/webhooks/{id}/rotate": [f"{HERE}/webhooks/{{hook}}/rotate"],
    "/{app}/{environment}/webhooks/{id}/test": [f"{HERE}/webhooks/{{hook}}/test"],
    "/{app}/{environment}/webhooks/{id}/enable": [f"{HERE}/webhooks/{{disabled}}/enable"],
    "/{app}/{environment}/webhooks/{id}/disable": [f"{HERE}/webhooks/{{hook}}/disable"],
    "/{app}/{environment}/webhooks/{id}/deliveries/{delivery}": [
        f"{HERE}/webhooks/{{hook}}/deliveries/{{delivery}}",
        f"{HERE}/webhooks/{{failing}}/deliveries/{{failed}}",
    ],
}
# Where a form was sent to: they show the page of the form, which is opened above.
AGAIN = {
    "/me/password": ["/me/password"],
    "/me/totp": ["/me/totp"],
    "/me/totp/verify": ["/me/totp/verify"],
    "/me/totp/remove": ["/me/totp/remove"],
    "/me/passkeys": ["/me/passkeys"],
    "/me/passkeys/remove": ["/me/passkeys/remove"],
    "/me/sessions/end": ["/me/sessions/end"],
    "/{app}/{environment}/clock/{id}": [f"{HERE}/clock/advance"],
    "/{app}/{environment}/providers/{id}/check": [f"{HERE}/providers/kestrel/check"],
    "/{app}/{environment}/methods/mail": [f"{HERE}/methods/mail"],
    "/{app}/{environment}/providers/{id}/trial": [f"{HERE}/providers/kestrel/trial"],
    "/{app}/{environment}/redirect-urls/{id}/default": [f"{HERE}/redirect-urls/{{url}}/default"],
    "/{app}/{environment}/settings/review": [f"{LIVE}/settings/review"],
    "/{app}/{environment}/webhooks/{id}/replay": [f"{HERE}/webhooks/{{hook}}/replay"],
    "/{app}/{environment}/webhooks/{id}/deliveries/{delivery}/replay": [f"{HERE}/webhooks/{{hook}}/deliveries/{{delivery}}/replay"],
}
# Shown to strangers; the operator is signed in while all others are opened.
OUTSIDE = {"/sign-in": ["/sign-in"], "/join": ["{invitation_link}"]}
# Those that respond with an error.
ERRORS = {
    "/sign-in/company/callback?state=unknown&code=x": 404,
    "/join?token=unknown": 400,
    f"{HERE}/users/user_3Fno4DCcJNUgxEXYswBqUg5tzib": 404,
    f"{HERE}/events?q=-": 400,
}
# Not pages.
FILES = {"/assets/{hash}/{name}"}

"""The unmodified PyPI client `streambird` manages users, passcodes, magic links, sessions and authenticator apps. Calls that it lacks are
made like the Node client's."""

import contextlib
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request

import pyotp
import streambird
from streambird import exceptions

from service import Check, Service

SESSION_MINUTES = 60
TOTP_STEP = 30
# A running service applies changed settings within a second.
FOLLOW_SECONDS = 30

USER_KEYS = {
    "user_id",
    "app_id",
    "first_name",
    "middle_name",
    "last_name",
    "status",
    "active",
    "created_at",
    "updated_at",
    "emails",
    "phone_numbers",
    "idp_providers",
    "wallets",
    "totps",
    "webauthn_credentials",
    "metadata",
}
ISSUED = re.compile("[0-9A-Za-z]{64}")


class Flow:
    """A service and its client, with the steps that all flows share."""

    def __init__(self, service, check):
        self.service = service
        self.check = check
        self.client = streambird.Client(service.secret_key, api_instance_url=f"{service.base_url}/v1")

    def name(self, label):
        """A name that no earlier run used."""
        return f"{label}-{self.check.seed}"

    def number(self):
        """A number reserved for fiction that is accepted as valid: +1 415 555 2xxx."""
        return f"+1415555{self.check.random.randrange(2000, 9000)}"

    def message(self, to, kind, after=None):
        """The newest message to a recipient, once one has arrived `after` that message.

        Delivery is not part of a call's answer, so who sends twice and wants the second has to say which was the first.
        """
        query = {"to": to, "kind": kind, "wait": 10} | ({"after": after["id"]} if after else {})
        found = self.service.get("/v1/test/messages", **query)["messages"]
        self.check.that(bool(found), f"a message of kind {kind} was captured")
        return found[0]

    def refuses(self, error, call, description):
        """The call raises this exception of the client, with the message of our error."""
        try:
            call()
        except error as refusal:
            self.check.that(bool(refusal.message) and not refusal.message.startswith("{"), f"{description}: in words")
        except exceptions.StreambirdException as refusal:
            self.check.that(False, f"{description}: {refusal.code}")
        else:
            self.check.that(False, f"{description}: it was taken")

    def issued(self, answer, user_id, description):
        """The response of a verify call with a session."""
        check = self.check
        check.that(answer["user_id"] == user_id, f"{description}: the user")
        check.that(bool(ISSUED.fullmatch(answer["session_token"])), f"{description}: a token")
        check.that(answer["session_jwt"].count(".") == 2, f"{description}: a JWT")
        check.that(answer["session"]["user_id"] == user_id, f"{description}: the session's user")
        return answer["session"]


def users(flow):
    check, client = flow.check, flow.client
    address, number = f"{flow.name('user')}@example.com", flow.number()
    made = client.users.create(email=address, first_name="Ada", last_name="Lovelace")
    check.that(made["status"] == "active" and made["email_id"].startswith("email_"), "create: an active user")
    user_id = made["user_id"]
    user = client.users.get(user_id)
    check.that(USER_KEYS <= user.keys(), "get: every field")
    check.that((user["first_name"], user["middle_name"]) == ("Ada", ""), "get: the names")
    second = f"{flow.name('second')}@example.com"
    updated = client.users.update(user_id, emails=[second], phone_numbers=[number], middle_name="King")
    check.that({one["email"] for one in updated["emails"]} == {address, second}, "update: both addresses")
    check.that([one["phone_number"] for one in updated["phone_numbers"]] == [number], "update: the number")
    check.that(client.users.get(user_id)["middle_name"] == "King", "update: the name")
    flow.refuses(
        exceptions.StreambirdDuplicateResource, lambda: client.users.create(email=address.upper()), "create twice"
    )
    flow.refuses(exceptions.StreambirdInvalidRequest, lambda: client.users.create(), "create without identifier")
    removed = client.users.delete_email(updated["emails"][1]["id"])
    check.that(removed["user_id"] == user_id, "delete_email: whose it was")
    client.users.delete_phone_number(updated["phone_numbers"][0]["id"])
    left = client.users.get(user_id)
    check.that((len(left["emails"]), left["phone_numbers"]) == (1, []), "the deleted ones are gone")
    gone = client.users.delete(user_id)
    check.that(gone["user_id"] == user_id, "delete: whom")
    flow.refuses(exceptions.StreambirdResourceNotFound, lambda: client.users.get(user_id), "get of a deleted user")


def email_passcodes(flow):
    check, client = flow.check, flow.client
    address = f"{flow.name('otp')}@example.com"
    begun = client.otps.email.login_or_create(address, expires_in=5)
    check.that(begun["user_created"] is True and begun["status"] == "active", "login_or_create: a new user")
    flow.refuses(
        exceptions.StreambirdInvalidRequest,
        lambda: client.otps.verify("000000x", begun["email_id"]),
        "a wrong passcode",
    )
    first = flow.message(address, "otp")
    sent = client.otps.email.send(address, expires_in=5)
    check.that((sent["user_id"], sent["email_id"]) == (begun["user_id"], begun["email_id"]), "send: the same user")
    code = flow.message(address, "otp", after=first)["code"]
    verified = client.otps.verify(code, sent["email_id"], session_expires_in=SESSION_MINUTES)
    session = flow.issued(verified, begun["user_id"], "otps.verify")
    check.that(session["factors"][0]["delivery_channel"] == "email", "the factor is the address")
    flow.refuses(
        exceptions.StreambirdInvalidRequest, lambda: client.otps.verify(code, sent["email_id"]), "a passcode twice"
    )
    return verified


def sms_passcodes(flow):
    check, client = flow.check, flow.client
    number = flow.number()
    begun = client.otps.sms.login_or_create(number, expires_in=5)
    check.that(begun["phone_number_id"].startswith("pn_") and begun["user_created"] is True, "sms: a new user")
    first = flow.message(number, "otp")
    sent = client.otps.sms.send(number, expires_in=5)
    check.that(sent["phone_number_id"] == begun["phone_number_id"], "sms: the same number")
    code = flow.message(number, "otp", after=first)["code"]
    verified = client.otps.verify(code, sent["phone_number_id"], session_expires_in=SESSION_MINUTES)
    session = flow.issued(verified, begun["user_id"], "otps.verify by sms")
    check.that(session["factors"][0]["delivery_channel"] == "sms", "the factor is the number")


def magic_links(flow):
    check, client = flow.check, flow.client
    address = f"{flow.name('link')}@example.com"
    begun = client.magic_links.email.login_or_create(address, login_expires_in=30, registration_expires_in=30)
    check.that(begun["user_created"] is True, "magic_links: a new user")
    mail = flow.message(address, "magic_link")
    check.that(mail["token"] in mail["link"], "magic_links: the link carries the token")
    verified = client.magic_links.verify(mail["token"], session_expires_in=SESSION_MINUTES)
    session = flow.issued(verified, begun["user_id"], "magic_links.verify")
    check.that(session["factors"][0]["type"] == "magic_link", "the factor is a link")
    flow.refuses(
        exceptions.StreambirdInvalidRequest, lambda: client.magic_links.verify(mail["token"]), "a link twice"
    )
    made = client.magic_links.create(begun["user_id"])
    again = client.magic_links.verify(made["token"], session_token=verified["session_token"])
    check.that(again["session"]["id"] == session["id"], "a second link continues the session")
    check.that(again["session_token"] != verified["session_token"], "with a fresh token")


def opened(url):
    """The target of a redirect of the service, which is not followed."""

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_):
            return None

    try:
        with urllib.request.build_opener(Stay).open(url, timeout=60):
            return ""
    except urllib.error.HTTPError as moved:
        with moved:
            return moved.headers.get("Location", "")


def oauth(flow):
    """Sign-in through a provider with the calls of the Node client, all of which send the secret key."""
    check, service = flow.check, flow.service
    who = {"identity": "verified", "email": f"{flow.name('oauth')}@example.com"}
    begin = "/v1/auth/oauth/test/begin"
    begun = service.get(begin, public_token=service.public_token, **who)
    check.that(list(begun) == ["redirect_url"], "oauth: with a public token beside the key, the answer of the token")
    landing, _, query = opened(opened(begun["redirect_url"])).partition("?")
    check.that("token=" in query, "oauth: the browser lands with a token")
    body = {"token": urllib.parse.parse_qs(query)["token"][0], "session_expires_in": SESSION_MINUTES}
    verified = service.call("POST", "/v1/auth/oauth/verify", body)
    session = flow.issued(verified, verified["user_id"], "oauth.verify by token")
    check.that(session["factors"][0]["type"] == "oauth", "the factor is the provider")
    other = service.call("GET", f"{begin}?public_token={service.public_token[:-1]}", expect=401)
    check.that(other["error"]["code"] == "invalid_api_key", "oauth: both credentials have to be good")
    # The App's own callback is in its settings, because `begin` of the client has no redirect_uri.
    service.operate("app", "set", service.app_id, f"oauth_test_redirect_uri={landing}")
    with contextlib.ExitStack() as stack:
        stack.callback(service.operate, "app", "set", service.app_id, "oauth_test_redirect_uri=null")
        back = query = ""
        deadline = time.monotonic() + FOLLOW_SECONDS
        while back != landing and time.monotonic() < deadline:
            begun = service.get(begin, **who)
            back, _, query = opened(begun["url"]).partition("?")
        brought = {name: values[0] for name, values in urllib.parse.parse_qs(query).items()}
        check.that((back, brought["state"]) == (landing, begun["state"]), "oauth: code and state come to the App")
        body = {"code": brought["code"], "state": brought["state"], "session_expires_in": SESSION_MINUTES}
        own = service.call("POST", "/v1/auth/oauth/verify", body)
    check.that(own["user"]["id"] == verified["user_id"], "oauth.verify by code: the same user")
    check.that(own["user"]["test"]["email"] == who["email"], "oauth.verify by code: what the provider said")
    check.that(bool(ISSUED.fullmatch(own["session_token"])), "oauth.verify by code: a token")


def sessions(flow, verified):
    check, client = flow.check, flow.client
    token, session = verified["session_token"], verified["session"]
    by_token = client.sessions.verify(session_token=token)
    check.that(by_token["session"]["id"] == session["id"], "sessions.verify by token")
    by_jwt = client.sessions.verify(session_jwt=verified["session_jwt"], session_expires_in=120)
    check.that(by_jwt["session"]["expires_at"] > session["expires_at"], "sessions.verify extends")
    listed = client.sessions.list(session["user_id"])["sessions"]
    check.that([one["id"] for one in listed] == [session["id"]], "sessions.list")
    client.sessions.delete(session_id=session["id"])
    flow.refuses(
        exceptions.StreambirdUnauthorized, lambda: client.sessions.verify(session_token=token), "a deleted session"
    )


def authenticator_apps(flow):
    check, client, service = flow.check, flow.client, flow.service
    user_id = client.users.create(email=f"{flow.name('totp')}@example.com")["user_id"]
    made = client.totps.create(user_id)
    check.that(len(made["recovery_codes"]) == 16, "totps: sixteen recovery codes")
    app = pyotp.TOTP(made["secret"])
    now = service.call("POST", "/v1/test/clock", {"advance_seconds": 0, "frozen": True})["now"]
    with contextlib.ExitStack() as stack:
        stack.callback(service.call, "DELETE", "/v1/test/clock")
        verified = client.totps.verify(app.at(now), user_id, session_expires_in=SESSION_MINUTES)
        session = flow.issued(verified, user_id, "totps.verify")
        check.that(session["factors"][0]["delivery_channel"] == "totp_authenticator", "the factor is the app")
        flow.refuses(
            exceptions.StreambirdException, lambda: client.totps.verify(app.at(now), user_id), "a step twice"
        )
        now = service.call("POST", "/v1/test/clock", {"advance_seconds": TOTP_STEP})["now"]
        again = client.totps.verify(app.at(now), user_id, session_token=verified["session_token"])
        check.that(again["session"]["id"] == session["id"], "the next step continues the session")
    code = made["recovery_codes"][0]
    recovered = client.totps.recovery(code, user_id, session_expires_in=SESSION_MINUTES)
    factor = flow.issued(recovered, user_id, "totps.recovery")["factors"][0]
    check.that(factor["delivery_channel"] == "totp_recovery_code", "the factor is a recovery code")
    flow.refuses(exceptions.StreambirdException, lambda: client.totps.recovery(code, user_id), "a recovery code twice")
    [totp] = client.totps.recovery_codes(user_id)["totps"]
    check.that(sorted(totp["recovery_codes"]) == sorted(made["recovery_codes"][1:]), "fifteen codes are left")


class TrustingApp(Service):
    """An App whose assertions are trusted, as clients expect that cannot send a session."""

    def __init__(self):
        super().__init__()
        self.app_id = json.loads(self.operate("app", "create", "Trusting", "--json"))["id"]
        self.operate("app", "set", self.app_id, "attached_identifiers=trusted")
        self.secret_key = json.loads(self.operate("key", "create", self.app_id, "test", "--json"))["key"]


def attached_number(flow):
    """A number that the App attaches is verified by `send` and `verify`, without a session."""
    check, client = flow.check, flow.client
    address, number = f"{flow.name('trusting')}@example.com", flow.number()
    begun = client.otps.email.login_or_create(address, expires_in=5)
    client.otps.verify(flow.message(address, "otp")["code"], begun["email_id"])
    client.users.update(begun["user_id"], phone_numbers=[number])
    sent = client.otps.sms.send(number, expires_in=5)
    check.that(sent["user_id"] == begun["user_id"], "trusted: send names the user whom the App means")
    code = flow.message(number, "otp")["code"]
    verified = client.otps.verify(code, sent["phone_number_id"])
    check.that(verified["user_id"] == begun["user_id"], "trusted: verify names the same user")
    check.that(verified["session"] is None and verified["session_token"] == "", "trusted: no session was asked for")
    [attached] = client.users.get(begun["user_id"])["phone_numbers"]
    check.that(attached["verified"] is True, "trusted: the number is proved")


def main():
    check = Check("streambird", "streambird", "pyotp")
    flow = Flow(Service(), check)
    users(flow)
    verified = email_passcodes(flow)
    sms_passcodes(flow)
    magic_links(flow)
    oauth(flow)
    sessions(flow, verified)
    authenticator_apps(flow)
    attached_number(Flow(TrustingApp(), check))
    check.end()


main()

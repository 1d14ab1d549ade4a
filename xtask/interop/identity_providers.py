"""Sign-in through third-party identity providers: oidc-provider with its pages and cookies, and Apple's endpoints with jose."""

import html.parser
import http.cookiejar
import json
import os
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from service import Check, Service

# Names of connections, the algorithm of their id tokens, and their other settings.
CONNECTIONS = [
    ("google", "RS256", []),
    ("acme-rs", "RS256", ["--trust-email-verified"]),
    ("acme-ps", "PS256", ["--trust-email-verified", "--store-tokens"]),
    ("acme-es", "ES256", ["--trust-email-verified"]),
    ("acme-ed", "EdDSA", ["--trust-email-verified"]),
    ("acme-untrusted", "ES256", []),
]
CLIENT_SECRET = "interop-client-secret-0123456789"
SITE = "http://localhost:3000"
LOGIN, REGISTRATION, OWN_CALLBACK = f"{SITE}/signed-in", f"{SITE}/welcome", f"{SITE}/own-callback"


class Node:
    """The providers, in a separate process."""

    def __init__(self):
        home = os.environ["VESTRY_INTEROP_NODE"]
        command = ["node", f"{home}/identity_provider.mjs"]
        pipe = subprocess.PIPE
        # Suppresses its warning that it is meant for development.
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, cwd=home
        )
        made = self.call("version")
        self.issuer, self.apple = made.pop("issuer"), made.pop("apple")
        self.versions = made

    def call(self, call, **request):
        print(json.dumps({"call": call, **request}), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def end(self):
        self._process.stdin.close()
        self._process.wait()


class Form(html.parser.HTMLParser):
    """The first form of a page, and its links."""

    def __init__(self, page):
        super().__init__()
        self.action, self.fields, self.links = None, {}, []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "form" and self.action is None:
            self.action = attributes["action"]
        elif tag == "input" and "name" in attributes:
            self.fields[attributes["name"]] = attributes.get("value", "")
        elif tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Browser:
    """A browser of one person: follows redirects, keeps cookies, and fills in the forms of providers."""

    def __init__(self, login, says_no=False):
        self._login, self._says_no = login, says_no
        jar = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar), NoRedirect())
        self.steps = []

    def _open(self, url, form=None):
        data = None if form is None else urllib.parse.urlencode(form).encode()
        try:
            with self._opener.open(urllib.request.Request(url, data=data), timeout=30) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as other:
            with other:
                return other.code, other.headers, other.read().decode()

    def walk(self, url):
        """Follows a link until the browser is back at the site. Returns the address and its query."""
        form = None
        for _ in range(20):
            status, headers, page = self._open(url, form)
            self.steps.append((status, url.split("?")[0]))
            if status in (301, 302, 303):
                url, form = urllib.parse.urljoin(url, headers["Location"]), None
                if url.startswith(SITE):
                    parts = urllib.parse.urlsplit(url)
                    return f"{SITE}{parts.path}", dict(urllib.parse.parse_qsl(parts.query))
                continue
            found = Form(page)
            if status != 200 or found.action is None:
                raise AssertionError(f"lost at {status} {url.split('?')[0]}: {page[:200]}")
            if self._says_no:
                url, form = urllib.parse.urljoin(url, next(link for link in found.links if "abort" in link)), None
                continue
            url, form = urllib.parse.urljoin(url, found.action), found.fields
            if "login" in form:
                form |= {"login": self._login, "password": "anything"}
        raise AssertionError("no end of it")


class Signing:
    """An App that signs people in."""

    def __init__(self, service, check, node):
        self.service, self.check, self.node = service, check, node
        self.people = 0
        for url, kind in ((LOGIN, "login"), (REGISTRATION, "registration"), (OWN_CALLBACK, "login")):
            service.operate("redirect-url", "add", service.app_id, "test", url, "--kind", kind)

    def connect(self, name, client_id, secret, *options):
        """Configures a connection and returns the URL of its provider."""
        with tempfile.NamedTemporaryFile("w", suffix=".secret") as file:
            file.write(secret)
            file.flush()
            answer = self.service.operate(
                *("provider", "set", self.service.app_id, "test", name),
                *("--client-id", client_id, "--client-secret-file", file.name, "--json", *options),
            )
        return json.loads(answer)["providers"][0]["callback_url"]

    def person(self, email=None, verified=True):
        """A new user at the issuer."""
        self.people += 1
        login = f"person-{self.check.seed}-{self.people}"
        email = email or f"{login}@example.com"
        claims = {"email": email, "email_verified": verified, "name": "Ada Lovelace", "given_name": "Ada"}
        self.node.call("person", id=login, claims=claims | {"family_name": "Lovelace"})
        return login, email

    def link(self, name, **query):
        landing = {"login_redirect_url": LOGIN, "registration_redirect_url": REGISTRATION}
        path = f"/v1/auth/oauth/{name}/begin"
        return f"{path}?{urllib.parse.urlencode({'public_token': self.service.public_token, **landing, **query})}"

    def verify(self, expect=200, **body):
        return self.service.call("POST", "/v1/auth/oauth/verify", body, expect=expect)

    def by_link(self, name, browser):
        """A login button that is a plain link."""
        return browser.walk(self.service.base_url + self.link(name, redirect="true"))

    def by_page(self, name, browser):
        """A page that requests the URL."""
        return browser.walk(self.asked_by_page(name))

    def asked_by_page(self, name):
        """The URL that a page with only the public token gets."""
        with urllib.request.urlopen(self.service.base_url + self.link(name), timeout=30) as answer:
            return json.load(answer)["redirect_url"]


def check_flows(app, name, options):
    """The first sign-in creates a user, the second one finds it: by link, by page and by the App's own callback."""
    check, (login, email) = app.check, app.person()
    place, query = app.by_link(name, Browser(login))
    check.that(place == REGISTRATION, f"{name}: a new user lands on the registration URL, not {place} {query}")
    token = query.get("token", "")
    check.that(len(token) == 64 and "error" not in query, f"{name}: with a token of 64 characters")
    first = app.verify(token=token, session_expires_in=60)
    check.that(first["provider"] == name and first["provider_subject"] == login, f"{name}: who it is")
    check.that(first["session"]["user_id"] == first["user_id"] and first["session_jwt"], f"{name}: a session")
    tokens = first["idp_session"]["idp"]
    wanted = "--store-tokens" in options
    check.that(bool(tokens["access_token"]) == wanted, f"{name}: the issuer's tokens, only when they are wanted")
    again = app.verify(400, token=token)
    check.that(again["error"]["code"] == "invalid_oauth_token", f"{name}: a token is good once: {again}")
    user = app.service.get(f"/v1/auth/users/{first['user_id']}")
    trusted = name == "google" or "--trust-email-verified" in options
    known = [(item["email"], item["verified"]) for item in user["emails"]]
    check.that((email, True) in known or not trusted, f"{name}: the proved address is the user's: {known}")
    check.that(trusted or (email, True) not in known, f"{name}: an unproved address is not verified: {known}")
    links = [(link["provider"], link["provider_subject"]) for link in user["idp_providers"]]
    check.that(links == [(name, login)], f"{name}: the user has one link: {links}")

    place, query = app.by_page(name, Browser(login))
    check.that(place == LOGIN, f"{name}: an existing user lands on the login URL, not {place} {query}")
    second = app.verify(token=query["token"])
    check.that(second["user_id"] == first["user_id"], f"{name}: the same user")
    check.that(second["session"] is None and second["session_token"] == "", f"{name}: no session without a request for one")

    begun = app.service.get(f"/v1/auth/oauth/{name}/begin", redirect_uri=OWN_CALLBACK)
    place, query = Browser(login).walk(begun["url"])
    check.that(place == OWN_CALLBACK and query["state"] == begun["state"], f"{name}: at the App's own callback: {place}")
    proof = {"code": query["code"], "state": query["state"], "iss": query["iss"]}
    third = app.verify(session_expires_in=60, **proof)
    check.that(third["user"]["id"] == first["user_id"] and third["session_token"], f"{name}: a session for a code")
    check.that(third["user"][name]["subject"] == login, f"{name}: what the provider said is under its name")
    again = app.verify(400, **proof)
    check.that(again["error"]["code"] == "invalid_state", f"{name}: a state is good once: {again}")

    place, query = app.by_link(name, Browser(login, says_no=True))
    check.that((place, query) == (LOGIN, {"error": "access_denied"}), f"{name}: who says no: {place} {query}")


def check_taken_addresses(app):
    """The address of another user: a verified one joins that user, an unverified one is refused."""
    check = app.check
    login, email = app.person()
    _, query = app.by_link("google", Browser(login))
    owner = app.verify(token=query["token"])["user_id"]
    for name, verified in (("acme-untrusted", True), ("acme-rs", False)):
        other, _ = app.person(email, verified)
        _, query = app.by_link(name, Browser(other))
        refused = app.verify(409, token=query["token"])
        check.that(refused["error"]["code"] == "duplicate", f"{name}: another user's address: {refused}")
    other, _ = app.person(email, True)
    place, query = app.by_link("acme-rs", Browser(other))
    joined = app.verify(token=query["token"])
    check.that(joined["user_id"] == owner, "acme-rs: a proved address joins the user who proved it too")


def check_forgeries(app):
    """Codes and states of other sign-ins."""
    check, (login, _) = app.check, app.person()
    mine = app.service.get("/v1/auth/oauth/acme-es/begin", redirect_uri=OWN_CALLBACK)
    theirs = app.service.get("/v1/auth/oauth/acme-es/begin", redirect_uri=OWN_CALLBACK)
    _, query = Browser(login).walk(theirs["url"])
    stolen = app.verify(400, code=query["code"], state=mine["state"], iss=query["iss"])
    check.that(stolen["error"]["code"] in ("invalid_oauth_token", "invalid_state"), f"another flow's code: {stolen}")
    mine = app.service.get("/v1/auth/oauth/acme-es/begin", redirect_uri=OWN_CALLBACK)
    _, query = Browser(login).walk(mine["url"])
    for iss in (None, "https://evil.example.com"):
        named = {} if iss is None else {"iss": iss}
        begun = app.service.get("/v1/auth/oauth/acme-es/begin", redirect_uri=OWN_CALLBACK)
        _, query = Browser(login).walk(begun["url"])
        refused = app.verify(400, code=query["code"], state=query["state"], **named)
        check.that("error" in refused, f"an issuer that is not named, or another one: {refused}")


def check_apple(app):
    """Apple's form post, its client secret, and the name that is sent only once."""
    check, key = app.check, ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    client_id, team, name = "com.example.web", "TEAM123456", "KEY1234567"
    options = ("--issuer", app.node.apple, "--apple-team-id", team, "--apple-key-id", name)
    callback = app.connect("apple", client_id, pem, *options)
    person = {
        "sub": f"001234.{app.check.seed}.0638",
        "email": f"x{app.check.seed}@privaterelay.appleid.com",
        "name": {"firstName": "Ada", "lastName": "Lovelace"},
    }
    settings = {"client_id": client_id, "team_id": team, "key_id": name, "redirect_uris": [callback]}
    app.node.call("apple", private_key=pem, person=person, **settings)
    begun = app.service.get(
        "/v1/auth/oauth/apple/begin", login_redirect_url=LOGIN, registration_redirect_url=REGISTRATION
    )
    browser = Browser("stranger")
    place, query = browser.walk(begun["url"])
    check.that(place == REGISTRATION, f"apple: a new user, by a form post: {place} {query}")
    check.that(browser.steps[-1] == (303, callback), f"apple: a POST is answered by 303: {browser.steps}")
    first = app.verify(token=query["token"], session_expires_in=60)
    check.that(first["provider_subject"] == person["sub"], "apple: who it is")
    user = app.service.get(f"/v1/auth/users/{first['user_id']}")
    check.that((user["first_name"], user["last_name"]) == ("Ada", "Lovelace"), "apple: the name of the form")
    check.that(any(item["verified"] for item in user["emails"]), "apple: its word about the address counts")
    place, query = app.by_page("apple", Browser("stranger"))
    check.that(place == LOGIN, f"apple: an existing user: {place} {query}")
    check.that(app.verify(token=query["token"])["user_id"] == first["user_id"], "apple: the same user")


def main():
    service, node = Service(), Node()
    check = Check("identity_providers", "cryptography")
    for library, version in node.versions.items():
        check.also(f"{library}={version}")
    app = Signing(service, check, node)
    clients = []
    for name, algorithm, options in CONNECTIONS:
        callback = app.connect(name, f"client-{name}", CLIENT_SECRET, "--issuer", node.issuer, *options)
        clients.append(
            {
                "client_id": f"client-{name}",
                "client_secret": CLIENT_SECRET,
                "redirect_uris": [callback, OWN_CALLBACK],
                "id_token_signed_response_alg": algorithm,
            }
        )
    algorithms = sorted({algorithm for _, algorithm, _ in CONNECTIONS})
    # Once with the address in the id token, and once from the userinfo endpoint.
    for claims_in_id_token in (True, False):
        node.call("issuer", clients=clients, algorithms=algorithms, claims_in_id_token=claims_in_id_token)
        for name, _, options in CONNECTIONS:
            check_flows(app, name, options)
    check_taken_addresses(app)
    check_forgeries(app)
    check_apple(app)
    node.end()
    check.end()


if __name__ == "__main__":
    main()

"""The packages of Standard Webhooks on PyPI and npm verify our requests, and the code in docs/webhooks.md those that they sign (WH-2,
EV-C1)."""

import datetime
import json
import re
import time

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from javascript import JavaScript
from receiver import Receiver
from service import Check, Service

USERS = 40
BODIES = 10_000
SIGNED = ("webhook-id", "webhook-timestamp", "webhook-signature")


def passage(language):
    """The code of the page in one language."""
    with open("docs/webhooks.md", encoding="utf-8") as page:
        return re.search(rf"```{language}\n(.*?)```", page.read(), re.DOTALL).group(1)


def ours():
    """The function of the page in Python."""
    scope = {}
    exec(passage("python"), scope)
    return scope["verify"]


def without_types(code):
    """The page's TypeScript without its types."""
    return re.sub(r": (string|boolean|Buffer|Record<string, string>)", "", code)


def taken_by_pypi(secret, headers, body):
    try:
        Webhook(secret).verify(body, headers, json_parse=False)
    # It decodes the body as text before it checks the signature.
    except (WebhookVerificationError, UnicodeDecodeError):
        return False
    return True


def verifiers(javascript):
    """The verifiers by name."""
    page = ours()
    in_javascript = lambda which: lambda secret, headers, body: javascript.call(
        which, secret=secret, headers=headers, body=body
    )
    return {
        "standardwebhooks of PyPI": taken_by_pypi,
        "standardwebhooks of npm": in_javascript("verifyByPackage"),
        "the page's Python": page,
        "the page's TypeScript": in_javascript("verifyByPage"),
    }


def altered(random, headers, body):
    """The same request with one bit changed: in the body, the id or the time."""
    where = random.choice(["body", "webhook-id", "webhook-timestamp"])
    if where == "body":
        place = random.randrange(len(body))
        # Not the highest bit, so that text stays valid.
        changed = body[place] ^ (1 << random.randrange(7))
        return headers, body[:place] + bytes([changed]) + body[place + 1 :]
    value = headers[where]
    if where == "webhook-timestamp":
        return headers | {where: str(int(value) ^ (1 << random.randrange(5)))}, body
    place = random.randrange(len(value))
    letter = chr(ord(value[place]) ^ (1 << random.randrange(5)))
    return headers | {where: value[:place] + letter + value[place + 1 :]}, body


def check_all(check, verify, secret, headers, body, what):
    headers = {name: headers[name] for name in SIGNED}
    changed = altered(check.random, headers, body)
    for name, takes in verify.items():
        check.that(takes(secret, headers, body), f"{name} takes {what}")
        check.that(not takes(secret, *changed), f"{name} refuses {what} with one bit changed")


def sent_by_us(service, check, verify):
    receiver = Receiver()
    of_endpoint = ["webhook", "create", service.app_id, "test", receiver.url, "--json"]
    endpoint = json.loads(service.operate(*of_endpoint))
    users = set()
    for number in range(USERS):
        email = f"hooks-{check.seed}-{number}@example.com"
        users.add(service.call("POST", "/v1/auth/users/create", {"email": email})["user_id"])

    def are_there(arrived):
        told = [json.loads(body) for _, body in arrived]
        return users <= {event["data"].get("user_id") for event in told if event["type"] == "user.created"}

    for headers, body in receiver.wait_for(are_there):
        check.that(json.loads(body)["id"] == headers["webhook-id"], "the id is that of the event")
        check_all(check, verify, endpoint["secret"], headers, body, "an event")

    rotated = ["webhook", "rotate-secret", service.app_id, endpoint["id"], "--overlap", "60", "--json"]
    fresh = json.loads(service.operate(*rotated))["secret"]
    # The sender reads secrets with each batch; from here on it reads both.
    email = f"hooks-{check.seed}-last@example.com"
    last = service.call("POST", "/v1/auth/users/create", {"email": email})["user_id"]
    is_last = lambda body: json.loads(body)["data"].get("user_id") == last
    arrived = receiver.wait_for(lambda arrived: any(is_last(body) for _, body in arrived))
    headers, body = next(request for request in arrived if is_last(request[1]))
    for secret in (endpoint["secret"], fresh):
        check_all(check, verify, secret, headers, body, "an event during an overlap")
    service.operate("webhook", "delete", service.app_id, endpoint["id"])


def signed_by_them(check, verify, javascript):
    for number in range(BODIES):
        secret = javascript.call("secret") if number % 1_000 == 0 else secret
        letters = [chr(check.random.choice([check.random.randrange(32, 127), check.random.randrange(160, 0xD7FF)])) for _ in range(60)]
        body = json.dumps({"text": "".join(letters), "number": check.random.random()}, ensure_ascii=False).encode()
        event, at = f"event_{number:027d}", int(time.time())
        if number % 2:
            moment = datetime.datetime.fromtimestamp(at, datetime.timezone.utc)
            signature = Webhook(secret).sign(msg_id=event, timestamp=moment, data=body.decode())
        else:
            signature = javascript.call("sign", secret=secret, id=event, at=at, body=body)
        headers = {"webhook-id": event, "webhook-timestamp": str(at), "webhook-signature": signature}
        check_all(check, verify, secret, headers, body, "what they sign")


def main():
    check = Check("webhooks", "standardwebhooks")
    check.also(JavaScript.version("standardwebhooks"))
    javascript = JavaScript("webhooks.mjs")
    javascript.call("usePage", code=without_types(passage("typescript")))
    verify = verifiers(javascript)
    sent_by_us(Service(), check, verify)
    signed_by_them(check, verify, javascript)
    javascript.end()
    check.end()


main()

"""SDK-3: webhook signatures, with the library of Standard Webhooks as the sender."""

import base64
import json
import random
from datetime import datetime, timezone

from clients import NAMES
from standardwebhooks import Webhook

NOW = 1_800_000_000
#: The example of the specification.
VECTOR = {
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "timestamp": 1614265330,
    "body": b'{"test": 2432232314}',
    "signature": "v1,g0hM9SsE+OTPJTt/tmKtSyEyNJR8vL7oGIC8cRs30YU=",
}


def event(source):
    """An event of a type that no library knows, with random text."""
    letters = "".join(chr(source.choice((0x41, 0xE4, 0x4E2D, 0x1F600, 0x22, 0x5C, 0x0A))) for _ in range(source.randrange(40)))
    return {
        "id": f"event_{source.randrange(10**26):027d}",
        "type": "thing.happened",
        "log": 1,
        "position": source.randrange(1, 10**6),
        "app_id": f"app_{0:027d}",
        "environment": "test",
        "created_at": NOW,
        "timestamp": "2027-01-15T08:00:00Z",
        "request_id": None,
        "actor": {"type": "system", "id": None},
        "data": {"text": letters, "number": source.random()},
    }


def signed(secret, name, timestamp, body):
    at = datetime.fromtimestamp(timestamp, timezone.utc)
    return Webhook(secret).sign(name, at, body.decode())


def step(body, name, timestamp, signature, secrets, **more):
    headers = {"Webhook-Id": name, "webhook-timestamp": str(timestamp), "webhook-signature": signature}
    body = base64.b64encode(body).decode()
    return {"call": "verify", "body": body, "headers": headers, "secrets": secrets, "options": {"clock": NOW, **more}}


def flipped(data):
    for bit in range(len(data) * 8):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)


def steps():
    """Steps, each with its expected outcome."""
    source = random.Random(52)
    secrets = [f"whsec_{base64.b64encode(source.randbytes(32)).decode()}" for _ in range(2)]
    rows = []
    for number in range(1000):
        body = json.dumps(event(source), ensure_ascii=number % 2 == 0).encode()
        name, secret = f"msg_{number}", secrets[number % 2]
        signature = signed(secret, name, NOW, body)
        if number % 3 == 0:
            signature = f"v1a,{'A' * 8} v1,{'A' * 43}= {signature}"
        rows.append((step(body, name, NOW, signature, secrets), "ok"))
    body = json.dumps(event(source)).encode()
    name, secret = "msg_flip", secrets[0]
    signature = signed(secret, name, NOW, body)
    for changed in flipped(body):
        rows.append((step(changed, name, NOW, signature, secret), "refused"))
    for part, (text, build) in {
        "id": (name, lambda text: step(body, text, NOW, signature, secret)),
        "timestamp": (str(NOW), lambda text: step(body, name, text, signature, secret, tolerance=10**12)),
        "signature": (signature, lambda text: step(body, name, NOW, text, secret)),
    }.items():
        for changed in flipped(text.encode()):
            rows.append((build(changed.decode("latin-1")), "refused"))
    good = step(body, name, NOW, signature, secret)
    without = {key: value for key, value in good["headers"].items() if key != "webhook-signature"}
    rows += [
        (good | {"headers": without}, "missing_header"),
        (good | {"text": {"type": "parsed"}}, "malformed"),
        (step(body, name, "soon", signature, secret), "malformed"),
        (step(body, name, NOW, signature.removeprefix("v1,"), secret), "malformed"),
        (step(body, name, NOW - 301, signed(secret, name, NOW - 301, body), secret), "timestamp"),
        (step(body, name, NOW + 301, signed(secret, name, NOW + 301, body), secret), "timestamp"),
        (step(body, name, NOW - 299, signed(secret, name, NOW - 299, body), secret), "ok"),
        (step(body, name, NOW, signature, secrets[1]), "signature"),
        (good | {"secrets": "whsec_?"}, "invalid_field"),
        (good | {"secrets": []}, "invalid_field"),
    ]
    vector = step(VECTOR["body"], VECTOR["id"], VECTOR["timestamp"], VECTOR["signature"], VECTOR["secret"])
    vector["options"]["clock"] = VECTOR["timestamp"]
    # Its signature is right, but its body is no event of ours.
    rows.append((vector, "malformed"))
    return rows


def check(clients):
    library = signed(VECTOR["secret"], VECTOR["id"], VECTOR["timestamp"], VECTOR["body"])
    rows = steps()
    # The vector as the library signs it.
    rows[-1][0]["headers"]["webhook-signature"] = library
    reasons = ("missing_header", "malformed", "timestamp", "signature")
    # Both clients for Python have the same function.
    for number in (0, 1):
        results = clients.run(number, [row for row, _ in rows])
        for (row, expected), result in zip(rows, results, strict=True):
            code = result["error"]["code"] if "error" in result else "ok"
            is_right = code == expected or (expected == "refused" and code in reasons)
            assert is_right, f"{NAMES[number]}: {code} instead of {expected}: {row}"
            if code in reasons:
                assert result["error"]["class"] == "WebhookVerificationError", result
        ok = [result["ok"] for result in results if "ok" in result]
        assert all(one["type"] == "thing.happened" and "text" in one["data"] for one in ok)
    print(f"SDK-3: {len(rows)} requests, {sum(expected == 'ok' for _, expected in rows)} of them right")

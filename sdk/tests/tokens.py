"""SDK-17 to SDK-19: session JWTs that are verified without a call."""

import base64
import json

import jwt
from clients import NAMES
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from proxy import Proxy

APP, OTHER = f"app_{'1' * 27}", f"app_{'2' * 27}"
NOW = 1_800_000_000
KIDS = {"ES256": f"jwk_{'1' * 27}", "RS256": f"jwk_{'2' * 27}", "EdDSA": f"jwk_{'3' * 27}"}


def keys():
    private = {
        "ES256": ec.generate_private_key(ec.SECP256R1()),
        "RS256": rsa.generate_private_key(65537, 2048),
        "EdDSA": ed25519.Ed25519PrivateKey.generate(),
    }
    kinds = {"ES256": ECAlgorithm, "RS256": RSAAlgorithm, "EdDSA": OKPAlgorithm}
    public = [
        json.loads(kinds[name].to_jwk(key.public_key())) | {"kid": KIDS[name], "alg": name, "use": "sig"}
        for name, key in private.items()
    ]
    return private, {"keys": public}


def rows(private, issuer, session):
    """Tokens, each with whether it is accepted."""
    claims = {
        "iss": issuer, "aud": f"{APP}/test", "sub": "user", "jti": "sess",
        "iat": NOW, "nbf": NOW - 60, "exp": NOW + 300, "session": session,
    }

    def token(name="ES256", key=None, header=None, **changed):
        content = {claim: value for claim, value in (claims | changed).items() if value is not None}
        headers = {"kid": KIDS[name]} | (header or {})
        headers = {field: value for field, value in headers.items() if value is not None}
        return jwt.encode(content, key or private[name], name, headers)

    stolen = ec.generate_private_key(ec.SECP256R1())
    secret = token().encode()
    parts = token().split(".")
    none = base64.urlsafe_b64encode(json.dumps({"alg": "none", "typ": "JWT", "kid": KIDS["ES256"]}).encode())
    return [
        *((token(name), True) for name in KIDS),
        (token(exp=NOW - 59), True),
        (token(exp=NOW - 61), False),
        (token(exp=None), False),
        (token(nbf=NOW + 1), False),
        (token(nbf=None), False),
        (token(iss=f"{issuer}x"), False),
        (token(iss=None), False),
        # SDK-17: a token of the live environment, and one of another App.
        (token(aud=f"{APP}/live"), False),
        (token(aud=f"{OTHER}/test"), False),
        (token(aud=None), False),
        (token(session=None), False),
        (token(header={"typ": "JOSE"}), False),
        (token(header={"kid": None}), False),
        (token(header={"kid": KIDS["RS256"]}), False),
        (token(key=stolen), False),
        (jwt.encode(claims, secret, "HS256", {"kid": KIDS["ES256"]}), False),
        (f"{none.decode().rstrip('=')}.{parts[1]}.", False),
        (f"{parts[0]}.{parts[1]}.{'A' * len(parts[2])}", False),
        (f"{parts[0]}.{parts[1]}", False),
        ("", False),
    ], [token(header={"kid": f"jwk_{number:027d}"}) for number in range(1000)]


def content(token):
    """What a token claims, for a message."""
    try:
        return jwt.decode(token, options={"verify_signature": False})
    except jwt.PyJWTError:
        return token


def check(clients):
    private, key_set = keys()
    sent = {"call": "otps.email.login_or_create", "params": {"email": "ok+jwt@vestry.test"}, "save": "sent"}
    verified = {"call": "otps.verify", "params": {"method_id": "$sent.email_id", "otp": "000000", "session_expires_in": 60}}
    session = clients.run(0, [sent, verified])[-1]["ok"]["session"]
    path = f"/v1/auth/jwks/{APP}"
    for number in range(3):
        proxy = Proxy(clients.servers[0]["base_url"], {path: key_set})
        tokens, forged = rows(private, f"{proxy.url}/{APP}", session)
        step = {"call": "sessions.verify_locally", "base": "proxy", "app": APP, "key": "sk_test_a", "clock": NOW}
        results = clients.run(number, [step | {"ids": [token]} for token, _ in tokens], {"proxy": proxy.url})
        for (token, is_right), result in zip(tokens, results, strict=True):
            assert ("ok" in result) == is_right, f"{NAMES[number]} {'accepted' if 'ok' in result else 'refused'} {content(token)}"
            if is_right:
                assert result["ok"] == session
            else:
                assert result["error"]["class"] == "TokenVerificationError", result
        # SDK-18: the key set is fetched once, and once more at most for all of these.
        proxy.paths.clear()
        many = [step | {"ids": [token]} for token, _ in tokens[:3]] + [step | {"ids": [token]} for token in forged]
        results = clients.run(number, many, {"proxy": proxy.url})
        assert all("ok" in result for result in results[:3])
        assert {result["error"]["class"] for result in results[3:]} == {"TokenVerificationError"}
        assert 1 <= proxy.paths[path] <= 2 + 1, proxy.paths
    print(f"SDK-17, SDK-18, SDK-19: {len(tokens)} kinds of tokens, a thousand unknown keys")

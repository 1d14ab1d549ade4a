"""PyJWT verifies the session of a passcode sign-in until its end."""

import jwt

from service import Check, Refused, Service

SESSION_MINUTES = 60

# API-6: at most five minutes, and never after the end of the session.
LIFETIME = 300


def sign_in(service, check, email):
    """Signs in with a passcode and returns the response of `otps/verify`."""
    begun = service.call("POST", "/v1/auth/otps/email/login_or_create", {"email": email, "expires_in": 5})
    check.that(begun["user_created"] is True, "the first sign-in makes the user")
    mails = service.get("/v1/test/messages", to=email, wait=10)["messages"]
    check.that(len(mails) == 1 and mails[0]["kind"] == "otp", "one mail with a passcode")
    verified = service.call(
        "POST",
        "/v1/auth/otps/verify",
        {"method_id": begun["email_id"], "otp": mails[0]["code"], "session_expires_in": SESSION_MINUTES},
    )
    check.that(verified["user_id"] == begun["user_id"], "the session is that user's")
    return verified


def verify_token(service, check, verified):
    """Verifies the token like a backend, with only the App's public keys."""
    keys = jwt.PyJWKClient(f"{service.base_url}/v1/auth/jwks/{service.app_id}")
    token = verified["session_jwt"]
    header = jwt.get_unverified_header(token)
    check.that(header["alg"] == "ES256", "the algorithm is ES256")
    check.that(header["typ"] == "JWT" and header["kid"].startswith("jwk_"), "typ and kid are as written")
    try:
        claims = jwt.decode(
            token,
            keys.get_signing_key_from_jwt(token),
            algorithms=["ES256"],
            audience=f"{service.app_id}/test",
            issuer=f"{service.base_url}/{service.app_id}",
            options={"require": ["sub", "iss", "aud", "iat", "nbf", "exp", "jti"]},
        )
    except jwt.PyJWTError as refusal:
        check.that(False, f"PyJWT takes the token: {refusal}")
        return
    check.that(True, "PyJWT takes the token")
    session = verified["session"]
    check.that(claims["sub"] == verified["user_id"], "sub is the user")
    check.that(claims["jti"] == session["id"], "jti is the session")
    check.that(claims["nbf"] == claims["iat"] - 60, "nbf is a minute before iat")
    check.that(0 < claims["exp"] - claims["iat"] <= LIFETIME, "exp is five minutes after iat at most")
    check.that(claims["exp"] <= session["expires_at"], "the token does not outlive the session")
    for name in ("session", "https://streambird.io/jwt/session"):
        check.that(claims[name]["id"] == session["id"], f"the session is in {name}")
    check.that(verified["session_token"] not in str(claims), "the token does not carry the session token")
    tampered = token[:-8] + ("A" if token[-8] != "A" else "B") + token[-7:]
    for wrong in (
        lambda: jwt.decode(tampered, keys.get_signing_key_from_jwt(token), ["ES256"], audience=claims["aud"]),
        lambda: jwt.decode(token, keys.get_signing_key_from_jwt(token), ["ES256"], audience="another App"),
    ):
        try:
            wrong()
        except jwt.InvalidTokenError:
            refused = True
        else:
            refused = False
        check.that(refused, "PyJWT refuses a changed signature and another audience")


def end_session(service, check, verified):
    """A session is valid until its deletion, by token and by JWT."""
    by_token = {"session_token": verified["session_token"]}
    by_jwt = {"session_jwt": verified["session_jwt"]}
    for credential in (by_token, by_jwt):
        answer = service.call("POST", "/v1/auth/sessions/verify", credential)
        check.that(answer["session"]["id"] == verified["session"]["id"], "sessions/verify shows the session")
    service.call("DELETE", "/v1/auth/sessions/delete", by_token)
    for credential in (by_token, by_jwt):
        try:
            service.call("POST", "/v1/auth/sessions/verify", credential, expect=401)
        except Refused as refusal:
            check.that(False, f"a deleted session is refused at once: {refusal}")
        else:
            check.that(True, "a deleted session is refused at once")


def main():
    check = Check("session_jwt", "PyJWT", "cryptography")
    service = Service()
    verified = sign_in(service, check, f"interop-jwt-{check.seed}@example.com")
    verify_token(service, check, verified)
    end_session(service, check, verified)
    check.end()


main()

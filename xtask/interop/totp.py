"""PyOTP as the authenticator app: it reads our key, and each of its codes signs in once."""

import base64
import time

import pyotp

from service import Check, Service

USERS = 10


def enroll(service, check, number):
    """A user with PyOTP as authenticator app, whose first code was verified."""
    email = f"interop-{check.seed}-{number}@example.com"
    user = service.call("POST", "/v1/auth/users/create", {"email": email})["user_id"]
    created = service.call("POST", "/v1/auth/totps/create", {"user_id": user})
    check.that(len(base64.b32decode(created["secret"])) == 20, "the seed has 160 bits")
    check.that(base64.b64decode(created["qr_base64"]).startswith(b"\x89PNG"), "the QR code is a PNG")
    totp = pyotp.TOTP(created["secret"])
    now = time.time()
    verify(service, user, totp.at(now))
    return user, totp, now, created


def verify(service, user, code, expect=200):
    request = {"user_id": user, "totp": code, "session_expires_in": 5}
    return service.call("POST", "/v1/auth/totps/verify", request, expect=expect)


def main():
    check = Check("totp", "pyotp")
    service = Service()
    for number in range(USERS):
        user, totp, now, created = enroll(service, check, number)
        again = verify(service, user, totp.at(now), expect=400)
        check.that(again["error"]["code"] == "invalid_otp", "a code counts once")
        # The next code is accepted, for clocks that are slightly ahead.
        signed_in = verify(service, user, totp.at(now + 30))
        check.that(signed_in["totp_id"] == created["totp_id"], "the authenticator app has signed in")
        factor = signed_in["session"]["factors"][0]
        check.that(factor["delivery_channel"] == "totp_authenticator", "the session rests on it")
        verify(service, user, totp.at(now + 120), expect=400)
    check.end()


main()

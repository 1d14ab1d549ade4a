"""Verifies session JWTs without a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jwt

from ._call import Settings
from ._errors import ApiConnectionError, TokenVerificationError, invalid
from .generated.models import Session

_ALGORITHMS = ("ES256", "RS256", "EdDSA")
#: Seconds for which the key set is cached, and between fetches for unknown keys.
_LIFESPAN, _COOLDOWN = 60, 10
#: Seconds by which clocks may differ at the expiry. `nbf` is set earlier for this reason.
_LEEWAY = 60


class Verifier:
    """The key set of an App and environment, and the checks of their tokens."""

    def __init__(self, settings: Settings, clock: Callable[[], float]) -> None:
        app_id = settings.app_id
        if app_id is None:
            raise invalid("app_id", "verify_locally needs the client's app_id")
        self._clock = clock
        self._issuer = f"{settings.base_url}/{app_id}"
        self._audience = f"{app_id}/{settings.environment}"
        self._keys = jwt.PyJWKClient(
            f"{settings.base_url}/v1/auth/jwks/{app_id}?environment={settings.environment}",
            lifespan=_LIFESPAN,
            cooldown_duration=_COOLDOWN,
            timeout=settings.timeout,
        )

    def verify(self, token: str) -> Session:
        """The session of a token."""
        claims = self._claims(token)
        now = self._clock()
        if claims["exp"] + _LEEWAY <= now:
            raise TokenVerificationError("the token has expired")
        if claims["nbf"] > now:
            raise TokenVerificationError("the token is not valid yet")
        try:
            return Session.model_validate(claims.get("session"))
        except ValueError:
            pass
        raise TokenVerificationError("the token has no session")

    def _claims(self, token: str) -> dict[str, Any]:
        failure: Exception
        try:
            header = jwt.get_unverified_header(token)
            kid = header.get("kid")
            if header.get("typ") != "JWT" or not isinstance(kid, str):
                raise TokenVerificationError("typ or kid is wrong")
            key = self._keys.get_signing_key(kid)
            if key.algorithm_name not in _ALGORITHMS:
                raise TokenVerificationError("the algorithm is not accepted")
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=self._audience,
                issuer=self._issuer,
                options={
                    "require": ["exp", "nbf", "iss", "aud"],
                    # Compared with the client's clock.
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
            times = claims["exp"], claims["nbf"]
            if not all(type(time) in (int, float) for time in times):
                raise TokenVerificationError("exp or nbf is no number")
            return claims
        except jwt.PyJWKClientConnectionError:
            failure = ApiConnectionError("cannot fetch the key set", sent=False)
        except (jwt.PyJWTError, ValueError, TypeError):
            failure = TokenVerificationError("the token is not valid for this App and environment")
        raise failure

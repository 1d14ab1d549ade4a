"""Verifies webhook requests (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ._errors import InvalidRequestError, WebhookVerificationError, invalid
from ._event import Event

__all__ = ["verify"]

_events: TypeAdapter[Any] = TypeAdapter(Event)


def verify(
    body: bytes | str,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    tolerance: float = 300,
    clock: Callable[[], float] = time.time,
) -> Event:
    """Verify a webhook request and return its event.

    Args:
        body: the body as it arrived, not parsed.
        headers: the headers; the case of their names does not matter.
        secrets: the endpoint's secret (`whsec_…`), or several while one replaces another.
        tolerance: seconds by which `webhook-timestamp` may differ from the clock.
        clock: Unix seconds.

    Raises:
        WebhookVerificationError: the request was not signed with one of the secrets, or not recently.
    """
    keys = [_key(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise invalid("secrets", "secrets must contain a secret")
    if isinstance(body, str):
        body = body.encode()
    if not isinstance(body, (bytes, bytearray)):
        raise WebhookVerificationError("malformed", "body must be the bytes that arrived")
    found = {str(name).lower(): value for name, value in headers.items()}
    try:
        message, sent_at, signatures = (
            found[f"webhook-{name}"] for name in ("id", "timestamp", "signature")
        )
    except KeyError as missing:
        name = missing.args[0]
        raise WebhookVerificationError("missing_header", f"{name} is missing") from None
    if not re.fullmatch(r"[0-9]{1,12}", sent_at):
        raise WebhookVerificationError("malformed", "webhook-timestamp is no number")
    tags = [tag for one in signatures.split(" ") if (tag := _tag(one)) is not None]
    if not tags:
        raise WebhookVerificationError("malformed", "webhook-signature has no v1 signature")
    if abs(clock() - int(sent_at)) > tolerance:
        raise WebhookVerificationError("timestamp", "webhook-timestamp is too far from the clock")
    signed = f"{message}.{sent_at}.".encode() + bytes(body)
    expected = [hmac.digest(key, signed, hashlib.sha256) for key in keys]
    # Compares all pairs in constant time.
    if not any([hmac.compare_digest(one, tag) for one in expected for tag in tags]):
        raise WebhookVerificationError("signature", "no signature matches a secret")
    try:
        event: Event = _events.validate_python(json.loads(body))
        return event
    except (ValidationError, ValueError):
        pass
    raise WebhookVerificationError("malformed", "the body is not an event")


def _key(secret: object) -> bytes:
    if isinstance(secret, str):
        try:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if key:
            return key
    raise InvalidRequestError("a secret is whsec_ and base64", code="invalid_field", param="secrets")


def _tag(signature: str) -> bytes | None:
    """The bytes of a signature of version 1. Only their canonical base64 is accepted."""
    version, _, text = signature.partition(",")
    try:
        tag = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return tag if version == "v1" and base64.b64encode(tag).decode() == text else None

"""One call: its request, and whether an attempt is repeated. Both clients decide here, and only the sending differs."""

from __future__ import annotations

import json
import random
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import urlencode, urlsplit

from ._errors import ApiConnectionError, VestryError, invalid
from ._model import Model
from ._version import VERSION

#: Longest pause before a retry, and longest `Retry-After` that is waited for, in seconds.
MAX_PAUSE, MAX_RETRY_AFTER = 8.0, 60


class CallOptions(TypedDict, total=False):
    """Options of every call."""

    timeout: float
    retries: int
    headers: Mapping[str, str]


class KeyOptions(CallOptions, total=False):
    """Options of a call that changes something."""

    idempotency_key: str


@dataclass(frozen=True)
class Operation:
    """A call of the API, as described in its document."""

    name: str
    method: str
    path: str
    #: Ids in the path, each with its pattern.
    ids: tuple[tuple[str, str], ...]
    #: `key`, `safe` or `never`.
    idempotency: str
    #: Where parameters are sent: `body`, `query` or `nothing`.
    sends: str


@dataclass(frozen=True)
class Request:
    """The bytes that every attempt of a call sends."""

    operation: Operation
    url: str
    headers: dict[str, str]
    body: bytes | None
    timeout: float
    retries: int


class Settings:
    """The checked arguments of a client. The key is in no text of it."""

    __slots__ = ("_key", "app_id", "base_url", "environment", "retries", "timeout")

    def __init__(
        self, key: str, base_url: str, app_id: str | None, timeout: float, retries: int
    ) -> None:
        if not isinstance(key, str) or not re.fullmatch(r"sk_(test|live)_[!-~]+", key):
            raise invalid("key", "key must be a secret key (sk_test_… or sk_live_…)")
        self._key = key
        self.environment = "test" if key.startswith("sk_test_") else "live"
        self.base_url = _checked(base_url)
        if app_id is not None and not re.fullmatch(r"app_[0-9A-Za-z]{27}", app_id):
            raise invalid("app_id", "app_id must be the id of an App (app_…)")
        self.app_id = app_id
        self.timeout = _positive(timeout)
        self.retries = _count(retries)

    def __repr__(self) -> str:
        return f"Settings(base_url={self.base_url!r}, environment={self.environment!r})"

    def request(
        self,
        operation: Operation,
        ids: Sequence[str],
        params: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> Request:
        """The request of a call. Nothing is sent if it is not well-formed."""
        url = self.base_url + _path(operation, ids)
        sent = {name: value for name, value in params.items() if value is not None}
        headers = {str(name): str(value) for name, value in (options.get("headers") or {}).items()}
        ours = {
            "Accept": "application/json",
            "Authorization": f"Bearer {self._key}",
            "User-Agent": f"vestry-python/{VERSION}",
        }
        body = None
        if operation.sends == "body":
            body = json.dumps(sent, default=_plain, ensure_ascii=False).encode()
            ours["Content-Type"] = "application/json"
        elif sent:
            url += "?" + urlencode({name: _query(value) for name, value in sent.items()})
        key = options.get("idempotency_key")
        if operation.idempotency == "key":
            ours["Idempotency-Key"] = _key(key) if key is not None else str(uuid.uuid4())
        elif key is not None:
            raise invalid("idempotency_key", f"{operation.name} accepts no idempotency key")
        for name in list(headers):
            if name.lower() in {own.lower() for own in ours if own != "User-Agent"}:
                raise invalid("headers", f"the header {name} is set by the client")
        timeout = _positive(options.get("timeout", self.timeout))
        # A long poll may take as long as it was asked to wait.
        wait = sent.get("wait")
        if isinstance(wait, int):
            timeout += wait
        retries = _count(options.get("retries", self.retries))
        return Request(operation, url, ours | headers, body, timeout, retries)


def pause(request: Request, error: VestryError, attempt: int) -> float | None:
    """Seconds before the next attempt; `None` if the error is final. The first attempt is 0."""
    if attempt >= request.retries or not _is_repeated(request.operation, error):
        return None
    least = error.retry_after or 0
    if least > MAX_RETRY_AFTER:
        return None
    return max(random.uniform(0, min(MAX_PAUSE, 0.5 * 2**attempt)), least)


def _is_repeated(operation: Operation, error: VestryError) -> bool:
    can_repeat = operation.idempotency in ("key", "safe")
    if isinstance(error, ApiConnectionError):
        return can_repeat or not error.sent
    if error.status == 429:
        return True
    if error.status in (500, 502, 503, 504):
        # A search that timed out would do so again.
        return can_repeat and not (error.status == 503 and error.param == "filters")
    still_running = error.code == "idempotency_key_reused" and error.retry_after is not None
    return error.status == 409 and still_running and operation.idempotency == "key"


def _path(operation: Operation, ids: Sequence[str]) -> str:
    path = operation.path
    for (name, pattern), value in zip(operation.ids, ids, strict=True):
        if not isinstance(value, str) or not re.fullmatch(pattern.strip("^$"), value):
            raise invalid(name, f"{name} is not a well-formed id")
        path = path.replace(f"{{{name}}}", value)
    return path


def _plain(value: object) -> object:
    if isinstance(value, Model):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise invalid("params", f"a value of type {type(value).__name__} cannot be sent as JSON")


def _query(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _key(key: object) -> str:
    if not isinstance(key, str) or not re.fullmatch(r"[!-~]{1,255}", key):
        raise invalid("idempotency_key", "idempotency_key must have 1 to 255 visible characters")
    return key


def _positive(timeout: object) -> float:
    if isinstance(timeout, (int, float)) and 0 < timeout <= 86_400:
        return float(timeout)
    raise invalid("timeout", "timeout must be a number of seconds")


def _count(retries: object) -> int:
    if isinstance(retries, int) and retries >= 0:
        return retries
    raise invalid("retries", "retries must be a whole number")


def _checked(base_url: object) -> str:
    """The base URL without a slash at its end. Error messages do not repeat it: it may contain a password."""
    if not isinstance(base_url, str):
        raise invalid("base_url", "base_url must be a URL")
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        raise invalid("base_url", "base_url must be a URL") from None
    host = parts.hostname
    if parts.scheme not in ("http", "https") or not host:
        raise invalid("base_url", "base_url must be an http or https URL")
    if parts.path not in ("", "/") or "?" in base_url or "#" in base_url or "@" in parts.netloc:
        raise invalid("base_url", "base_url must have no path, query, fragment or credentials")
    is_loopback = host in ("localhost", "::1") or re.fullmatch(r"127(\.\d{1,3}){3}", host)
    if parts.scheme == "http" and not is_loopback:
        raise invalid("base_url", "use https; http is for loopback addresses only")
    named = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{named}" + (f":{port}" if port is not None else "")

"""Errors of this library."""

from __future__ import annotations


class VestryError(Exception):
    """Base class of all errors.

    Attributes:
        status: HTTP status; `None` if there was no response.
        code: the service's error code, or one of this library; branch on it.
        message: text for people, which may change.
        param: the rejected field, or the kind of the object that was not found.
        request_id: include it in support requests.
        retry_after: seconds to wait before a retry.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int | None = None,
        param: str | None = None,
        request_id: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status
        self.param = param
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        parts = [self.code]
        if self.param is not None:
            parts.append(f"param {self.param}")
        if self.request_id is not None:
            parts.append(f"request {self.request_id}")
        return f"{self.message} ({', '.join(parts)})"


class InvalidRequestError(VestryError):
    """The request is wrong (400, 405, 413, 415), or was not sent because it would be."""


class AuthenticationError(VestryError):
    """The key or the session is missing, wrong or expired (401)."""


class NotAllowedError(VestryError):
    """The key or the App does not permit the call (403)."""


class NotFoundError(VestryError):
    """The object does not exist (404)."""


class ConflictError(VestryError):
    """The call conflicts with the state of the object or with another call (409)."""


class RateLimitError(VestryError):
    """Too many requests or attempts (429)."""


class UnavailableError(VestryError):
    """The service failed or is not available (5xx)."""


class ApiConnectionError(VestryError):
    """There was no complete response."""

    def __init__(self, message: str, *, sent: bool, code: str = "connection_failed") -> None:
        super().__init__(message, code=code)
        #: Whether the service may have received the request.
        self.sent = sent


class ApiTimeoutError(ApiConnectionError):
    """An attempt took longer than `timeout`."""

    def __init__(self, message: str, *, sent: bool = True) -> None:
        super().__init__(message, sent=sent, code="timeout")


class TokenVerificationError(VestryError):
    """A session JWT is not valid for this App and environment now."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="invalid_token")


class WebhookVerificationError(VestryError):
    """A webhook request was not signed with one of the secrets, or not recently.

    `reason` is `missing_header`, `malformed`, `timestamp` or `signature`.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message, code=reason)
        self.reason = reason


def _class_of(status: int) -> type[VestryError]:
    classes: dict[int, type[VestryError]] = {
        400: InvalidRequestError,
        401: AuthenticationError,
        403: NotAllowedError,
        404: NotFoundError,
        405: InvalidRequestError,
        409: ConflictError,
        413: InvalidRequestError,
        415: InvalidRequestError,
        429: RateLimitError,
    }
    if status >= 500:
        return UnavailableError
    return classes.get(status, VestryError)


def of_response(
    status: int, body: object, request_id: str | None, retry_after: int | None
) -> VestryError:
    """The error of a response. `body` is parsed JSON, or `None` if it is none."""
    code, message, param = "unexpected_response", f"unexpected response with status {status}", None
    detail = body.get("error") if isinstance(body, dict) else None
    if isinstance(detail, dict):
        ours = detail.get("code"), detail.get("message"), detail.get("param")
        if isinstance(ours[0], str) and isinstance(ours[1], str):
            code, message = ours[0], ours[1]
            param = ours[2] if isinstance(ours[2], str) else None
    return _class_of(status)(
        message,
        code=code,
        status=status,
        param=param,
        request_id=request_id,
        retry_after=retry_after,
    )


def invalid(param: str, message: str) -> InvalidRequestError:
    """The error of a request that is not sent."""
    return InvalidRequestError(message, code="invalid_field", param=param)

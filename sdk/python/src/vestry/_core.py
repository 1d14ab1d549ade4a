"""Sends the calls of both clients."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import anyio
import httpx
from pydantic import TypeAdapter, ValidationError

from . import _errors
from ._call import Operation, Request, Settings, pause
from ._errors import ApiConnectionError, ApiTimeoutError, VestryError

if TYPE_CHECKING:
    from ._tokens import Verifier
    from .generated.models import Session

_log = logging.getLogger("vestry")


@lru_cache(maxsize=512)
def _adapter(result: Any) -> TypeAdapter[Any]:
    return TypeAdapter(result)


def _result(response: httpx.Response, body: bytes, result: Any) -> Any:
    """The object of a successful response, or the error that it describes."""
    request_id = response.headers.get("X-Request-Id")
    retry_after = _seconds(response.headers.get("Retry-After"))
    status = response.status_code
    if status == 200:
        try:
            return _adapter(result).validate_json(body)
        except ValidationError:
            # The cause would show the body, which may contain tokens.
            pass
        raise _errors.of_response(status, None, request_id, retry_after)
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    raise _errors.of_response(status, parsed, request_id, retry_after)


def _seconds(text: str | None) -> int | None:
    if text is not None and text.isascii() and text.isdigit():
        return int(text)
    return None


def _failure(error: httpx.HTTPError) -> ApiConnectionError:
    """The error of an attempt without a response. `sent` is false if the connection was never made."""
    if isinstance(error, httpx.TimeoutException):
        was_sent = not isinstance(error, (httpx.ConnectTimeout, httpx.PoolTimeout))
        return ApiTimeoutError("the service did not respond in time", sent=was_sent)
    if isinstance(error, httpx.ConnectError):
        return ApiConnectionError("cannot connect to the service", sent=False)
    return ApiConnectionError("the connection to the service was lost", sent=True)


def _next(request: Request, error: VestryError, attempt: int) -> float:
    """Seconds before the next attempt. A final error is raised."""
    seconds = pause(request, error, attempt)
    if seconds is None:
        raise error
    _log.debug(
        "%s failed with %s; attempt %d follows in %.2f s",
        request.operation.name,
        error.code,
        attempt + 2,
        seconds,
    )
    return seconds


class _Base:
    """What both clients share."""

    def __init__(self, settings: Settings, clock: Callable[[], float] | None) -> None:
        self.settings = settings
        self._clock = clock or time.time
        self._verifier: Verifier | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.settings!r})"

    def _tokens(self) -> Verifier:
        if self._verifier is None:
            from ._tokens import Verifier

            self._verifier = Verifier(self.settings, self._clock)
        return self._verifier


class Core(_Base):
    """Sends calls and waits for them."""

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] | None,
        http_client: httpx.Client | None,
    ) -> None:
        super().__init__(settings, clock)
        self._is_own = http_client is None
        self._http = http_client or httpx.Client()

    def close(self) -> None:
        if self._is_own:
            self._http.close()

    def call(
        self,
        operation: Operation,
        ids: Sequence[str],
        params: Mapping[str, Any],
        result: Any,
        options: Mapping[str, Any],
    ) -> Any:
        request = self.settings.request(operation, ids, params, options)
        attempt = 0
        while True:
            try:
                return _result(*self._attempt(request), result)
            except VestryError as error:
                seconds = _next(request, error, attempt)
            time.sleep(seconds)
            attempt += 1

    def _attempt(self, request: Request) -> tuple[httpx.Response, bytes]:
        deadline = time.monotonic() + request.timeout
        failure: ApiConnectionError
        try:
            with self._http.stream(
                request.operation.method,
                request.url,
                content=request.body,
                headers=request.headers,
                timeout=request.timeout,
                follow_redirects=False,
            ) as response:
                chunks = []
                for chunk in response.iter_bytes():
                    chunks.append(chunk)
                    if time.monotonic() > deadline:
                        raise ApiTimeoutError("the service did not respond in time")
                return response, b"".join(chunks)
        except httpx.HTTPError as error:
            failure = _failure(error)
        # Without a cause: it refers to the request, which contains the key.
        raise failure

    def verify_locally(self, token: str) -> Session:
        return self._tokens().verify(token)


class AsyncCore(_Base):
    """Sends calls in an event loop."""

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], float] | None,
        http_client: httpx.AsyncClient | None,
    ) -> None:
        super().__init__(settings, clock)
        self._is_own = http_client is None
        self._http = http_client or httpx.AsyncClient()

    async def close(self) -> None:
        if self._is_own:
            await self._http.aclose()

    async def call(
        self,
        operation: Operation,
        ids: Sequence[str],
        params: Mapping[str, Any],
        result: Any,
        options: Mapping[str, Any],
    ) -> Any:
        request = self.settings.request(operation, ids, params, options)
        attempt = 0
        while True:
            try:
                return _result(*await self._attempt(request), result)
            except VestryError as error:
                seconds = _next(request, error, attempt)
            await anyio.sleep(seconds)
            attempt += 1

    async def _attempt(self, request: Request) -> tuple[httpx.Response, bytes]:
        failure: ApiConnectionError
        try:
            with anyio.fail_after(request.timeout):
                response = await self._http.send(
                    self._http.build_request(
                        request.operation.method,
                        request.url,
                        content=request.body,
                        headers=request.headers,
                        timeout=request.timeout,
                    ),
                    follow_redirects=False,
                )
                return response, response.content
        except TimeoutError:
            failure = ApiTimeoutError("the service did not respond in time")
        except httpx.HTTPError as error:
            failure = _failure(error)
        # Without a cause: it refers to the request, which contains the key.
        raise failure

    async def verify_locally(self, token: str) -> Session:
        # The key set is fetched with `urllib`, which blocks.
        return await anyio.to_thread.run_sync(self._tokens().verify, token)

"""The two clients."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

import httpx

from ._call import Settings
from ._core import AsyncCore, Core
from .generated import async_operations, operations


class Vestry(operations.Resources):
    """A client of one App and environment.

    Args:
        key: secret key (`sk_test_…` or `sk_live_…`); it selects the App and the environment.
        base_url: address of the service, without a path.
        app_id: id of the App, for `sessions.verify_locally`.
        timeout: seconds for one attempt of a call.
        retries: how often a failed call is repeated.
        http_client: your own client, which you close yourself.
        clock: Unix seconds, for environments with a test clock.
    """

    def __init__(
        self,
        *,
        key: str,
        base_url: str,
        app_id: str | None = None,
        timeout: float = 30,
        retries: int = 2,
        http_client: httpx.Client | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        settings = Settings(key, base_url, app_id, timeout, retries)
        self._core = Core(settings, clock, http_client)
        super().__init__(self._core)

    def __repr__(self) -> str:
        return f"Vestry({self._core.settings!r})"

    def close(self) -> None:
        """Close idle connections."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncVestry(async_operations.Resources):
    """A client of one App and environment, for programs with an event loop. Its arguments are those of `Vestry`."""

    def __init__(
        self,
        *,
        key: str,
        base_url: str,
        app_id: str | None = None,
        timeout: float = 30,
        retries: int = 2,
        http_client: httpx.AsyncClient | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        settings = Settings(key, base_url, app_id, timeout, retries)
        self._core = AsyncCore(settings, clock, http_client)
        super().__init__(self._core)

    def __repr__(self) -> str:
        return f"AsyncVestry({self._core.settings!r})"

    async def close(self) -> None:
        """Close idle connections."""
        await self._core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

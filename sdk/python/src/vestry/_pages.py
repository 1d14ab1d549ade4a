"""Iterators over lists that have pages."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a list."""

    items: Sequence[T]
    has_more: bool
    #: The cursor of the next page, if the response has it.
    next: str | None


class _Position(Generic[T]):
    """The place in a list that was reached."""

    def __init__(self, cursor: str | None, id_field: str) -> None:
        #: Resumes the list after the last item that was returned.
        self.cursor = cursor
        self._id_field = id_field
        self._waiting: deque[T] = deque()
        self._next: str | None = None
        self._is_last = False

    def _take(self, page: Page[T]) -> None:
        self._waiting.extend(page.items)
        self._next = page.next
        stands_still = not page.items and page.next in (None, self.cursor)
        self._is_last = not page.has_more or stands_still
        if not page.items and page.next is not None:
            self.cursor = page.next

    def _pop(self) -> T:
        item = self._waiting.popleft()
        self.cursor = str(getattr(item, self._id_field))
        if not self._waiting and self._next is not None:
            self.cursor = self._next
        return item


class Items(_Position[T], Iterator[T]):
    """Every item of a list, once. `cursor` resumes the list after the last item that was returned."""

    def __init__(
        self, fetch: Callable[[str | None], Page[T]], cursor: str | None, id_field: str
    ) -> None:
        super().__init__(cursor, id_field)
        self._fetch = fetch

    def __next__(self) -> T:
        while not self._waiting:
            if self._is_last:
                raise StopIteration
            self._take(self._fetch(self.cursor))
        return self._pop()


class AsyncItems(_Position[T], AsyncIterator[T]):
    """Every item of a list, once. `cursor` resumes the list after the last item that was returned."""

    def __init__(
        self, fetch: Callable[[str | None], Awaitable[Page[T]]], cursor: str | None, id_field: str
    ) -> None:
        super().__init__(cursor, id_field)
        self._fetch = fetch

    async def __anext__(self) -> T:
        while not self._waiting:
            if self._is_last:
                raise StopAsyncIteration
            self._take(await self._fetch(self.cursor))
        return self._pop()

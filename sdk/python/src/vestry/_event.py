"""Events of every type, including those that this version does not know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import PlainValidator

if TYPE_CHECKING:
    from .generated.events import AnyEvent as Event
else:

    def _validated(value: Any) -> Any:
        # The models of events are many, and load on first use.
        from .generated.events import EVENTS, UnknownEvent

        if not isinstance(value, dict):
            raise ValueError("an event is an object")
        return EVENTS.get(value.get("type"), UnknownEvent).model_validate(value)

    Event = Annotated[Any, PlainValidator(_validated)]

__all__ = ["Event"]

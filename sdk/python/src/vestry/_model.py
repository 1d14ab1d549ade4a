"""The base class of all models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict

#: Fields whose values are not shown.
_SECRET = frozenset(
    (
        "access_token",
        "current_password",
        "password",
        "recovery_code",
        "recovery_codes",
        "refresh_token",
        "request_origin_token",
        "secret",
        "session_jwt",
        "session_token",
        "token",
    )
)


class Model(BaseModel):
    """An object of the API. Fields that this version does not know are kept as attributes."""

    model_config = ConfigDict(
        extra="allow",
        # Most programs use few of the models.
        defer_build=True,
        populate_by_name=True,
        protected_namespaces=(),
    )

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, "…" if name in _SECRET and value else value

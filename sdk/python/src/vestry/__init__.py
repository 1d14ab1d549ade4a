"""Client of Vestry, a self-hosted service for sign-in, users and wallets."""

from . import webhooks
from ._client import AsyncVestry, Vestry
from ._errors import (
    ApiConnectionError,
    ApiTimeoutError,
    AuthenticationError,
    ConflictError,
    InvalidRequestError,
    NotAllowedError,
    NotFoundError,
    RateLimitError,
    TokenVerificationError,
    UnavailableError,
    VestryError,
    WebhookVerificationError,
)
from ._event import Event
from ._pages import AsyncItems, Items
from ._version import VERSION as __version__
from .generated import models

__all__ = [
    "ApiConnectionError",
    "ApiTimeoutError",
    "AsyncItems",
    "AsyncVestry",
    "AuthenticationError",
    "ConflictError",
    "Event",
    "InvalidRequestError",
    "Items",
    "NotAllowedError",
    "NotFoundError",
    "RateLimitError",
    "TokenVerificationError",
    "UnavailableError",
    "Vestry",
    "VestryError",
    "WebhookVerificationError",
    "__version__",
    "models",
    "webhooks",
]

"""Models of events, each with its own class. They load on first use."""

from .generated.events import *  # noqa: F403

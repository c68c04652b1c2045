"""The progress of a request: reported by the worker, sent to the client."""

from collections.abc import Callable
from contextvars import ContextVar

reported: ContextVar[Callable[[float], None] | None] = ContextVar("reported", default=None)
"""Takes the fraction that is done of what the current request asks for; None where nobody wants to know."""

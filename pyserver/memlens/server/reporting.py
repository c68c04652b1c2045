"""How far the answer to a request is: for whoever works on it to say, and for the client to hear."""

from collections.abc import Callable
from contextvars import ContextVar

reported: ContextVar[Callable[[float], None] | None] = ContextVar("reported", default=None)
"""Takes the fraction that is done of what the current request asks for; None where nobody wants to know."""

"""Questions that were stopped before they had an answer."""

from typing import TypeVar

from memlens.errors import CancelledError
from memlens.texts import phrase

T = TypeVar("T")


def finished(found: T | None) -> T:
    """What a kernel found. Raises :class:`CancelledError` where it was stopped, and has nothing."""
    if found is None:
        raise CancelledError(phrase("The question was cancelled"))
    return found

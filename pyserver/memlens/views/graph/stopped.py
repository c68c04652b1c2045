"""Questions that were stopped before they had an answer."""

from typing import TypeVar

from memlens.errors import CancelledError
from memlens.texts import phrase

T = TypeVar("T")


def stopped() -> CancelledError:
    """The error of such a question."""
    return CancelledError(phrase("The request was cancelled"))


def finished(found: T | None) -> T:
    """What a kernel found. Raises :class:`CancelledError` where it was stopped, and has nothing."""
    if found is None:
        raise stopped()
    return found

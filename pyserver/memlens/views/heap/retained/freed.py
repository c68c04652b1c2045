"""Bytes that would be freed, in the heap and outside of it."""

from typing import NamedTuple

from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.native_memory import native_or_none


class Freed(NamedTuple):
    """Bytes that would be freed."""

    bytes: int
    native: int


NOTHING = Freed(0, 0)


def amounts(snapshot: Snapshot, freed: Freed | None) -> tuple[int | None, int | None]:
    """Return both amounts for an answer; None if not computed, or if the dump records no memory outside of the heap."""
    return (None, None) if freed is None else (freed.bytes, native_or_none(snapshot, freed.native))

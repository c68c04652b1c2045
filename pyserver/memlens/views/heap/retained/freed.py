"""What would be freed: bytes of the heap, and of memory outside of it."""

from typing import NamedTuple

from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.native_memory import native_or_none


class Freed(NamedTuple):
    """Bytes that would be freed."""

    bytes: int
    native: int


NOTHING = Freed(0, 0)


def amounts(snapshot: Snapshot, freed: Freed | None) -> tuple[int | None, int | None]:
    """Both amounts for an answer: None if they aren't computed, or the dump knows of no memory outside the heap."""
    return (None, None) if freed is None else (freed.bytes, native_or_none(snapshot, freed.native))

"""Heap dumps: types, objects, what they hold and what holds them."""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.views.heap.images.pixels import Thumbnail
from memlens.views.heap.objects.rows import ObjectRow, ReferenceRow
from memlens.views.heap.retained.left_out import LeavesOut

Without = Annotated[list[LeavesOut], Meta(max_length=100)]
"""References that are left out, to see what else keeps something alive."""


class HeapThumbnailsResult(Struct, frozen=True):
    """Those of one at least of the objects: where they are large, the others are to be asked for again."""

    rows: list[Thumbnail]


class HeapReferencesResult(Struct, frozen=True):
    """References ``offset`` and on of ``total``."""

    rows: list[ReferenceRow]
    offset: int
    total: int


class HeapDominatedResult(Struct, frozen=True):
    """Objects ``offset`` and on of ``total``; ``contained`` says which fit the filter, None without one.

    ``total_bytes`` are those of each and of everything below it; None for dominators, where that is what it retains.
    """

    rows: list[ObjectRow]
    offset: int
    total: int
    contained: list[bool] | None
    total_bytes: list[int] | None

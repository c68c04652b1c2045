"""All images of a heap dump side by side: those with the same pixels as one, the largest first."""

from typing import Literal

import numpy as np
from msgspec import Struct

from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.heap.filters import filters
from memlens.views.heap.images.images import Groups, ImageRow, as_row, groups_of, images_of
from memlens.views.heap.objects.rows import ObjectRow, object_rows, page

GalleryOrder = Literal["bytes", "freed"]


class GalleryRow(Struct, frozen=True):
    """An image, or several that have the same pixels; sizes are of all of them.

    ``object`` is the first in the dump of those that are largest.
    """

    object: ObjectRow
    image: ImageRow
    count: int
    heap_bytes: int
    """Of the arrays of their pixels, each counted once."""
    native_bytes: int
    """Memory outside of the heap that they own."""
    freed_bytes: int
    """What would be free with the largest in place of all of them: 0 where they share their pixels, or of one alone."""


class GalleryAnswer(Struct, frozen=True):
    """Images ``offset`` and on of ``total``, equal ones as one; the sums are of all ``images``."""

    rows: list[GalleryRow]
    offset: int
    total: int
    images: int
    heap_bytes: int
    native_bytes: int
    freed_bytes: int


def gallery(
    snapshot: Snapshot, filter_text: str, order: GalleryOrder, offset: int, limit: int
) -> GalleryAnswer:
    """The images that fit a filter, by their bytes or by what equal ones would free. Raises BadRequestError."""
    rows, images, groups = page(offset, limit), images_of(snapshot), _groups(snapshot, filter_text)
    sizes = groups.heap + groups.native
    by = (groups.shown, -sizes) if order == "bytes" else (groups.shown, -sizes, -groups.freed)
    ordered = np.lexsort(by)[rows]
    shown = images.rows[groups.shown[ordered]]
    objects = object_rows(snapshot, shown["object"].astype(np.int64))
    found = [
        GalleryRow(
            own, as_row(row),
            *(int(column[at]) for column in (groups.count, groups.heap, groups.native, groups.freed)),
        )
        for own, row, at in zip(objects, shown, ordered.tolist(), strict=True)
    ]  # fmt: skip
    return GalleryAnswer(
        found, offset, len(groups.shown),
        *(int(column.sum()) for column in (groups.count, groups.heap, groups.native, groups.freed)),
    )  # fmt: skip


@kept
def _groups(snapshot: Snapshot, filter_text: str) -> Groups:
    images, fitting = images_of(snapshot), filters.chosen(snapshot, filter_text)
    if fitting is None:
        return groups_of(images, np.arange(len(images.rows)))
    return groups_of(images, np.flatnonzero(fitting.among(snapshot, images.rows["object"].astype(np.int64))))

"""All images of a heap dump, the largest first. Images with equal pixels are one row."""

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
    """An image, or several with equal pixels; sizes are sums over them.

    ``object`` is the largest; the first in the dump if several are.
    """

    object: ObjectRow
    image: ImageRow
    count: int
    heap_bytes: int
    """Bytes of their pixel arrays, each counted once."""
    native_bytes: int
    """Memory outside of the heap that they own."""
    freed_bytes: int
    """Bytes freed if the largest replaced all others; 0 for a single image and for images that share one array."""


class GalleryAnswer(Struct, frozen=True):
    """The rows from ``offset`` on, of ``total``. The sums are over all ``images``."""

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
    """Return the images that match a filter, by bytes or by ``freed_bytes``. Raises :class:`BadRequestError`."""
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

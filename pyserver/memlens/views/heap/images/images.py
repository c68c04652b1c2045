"""The images of a heap dump: their sizes, and which of them have equal pixels."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import I64, U32, U64, Mask
from memlens.model.distinct import first_equal
from memlens.model.graph import NONE, PIXEL_LAYOUTS
from memlens.store.kept import kept
from memlens.store.objects.places import first_at_least
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.native_memory import native_bytes
from memlens.views.heap.objects.rows import Numbers, ObjectRow, object_rows

_NAMES = {"rgba_premultiplied": "ARGB_8888", "rgba": "ARGB_8888", "rgb_565": "RGB_565", "alpha": "ALPHA_8"}
_MOST_EQUAL = 50
_ENCODED = PIXEL_LAYOUTS.index("encoded")


class ImageRow(Struct, frozen=True):
    """An object that is an image, and its size in pixels."""

    width: int
    height: int
    layout: str
    """The layout of its pixels, for people: ``ARGB_8888``; empty if the dump doesn't have the pixels."""


class EqualImages(Struct, frozen=True):
    """The first of the other images with the same pixels, and the number of all."""

    rows: list[ObjectRow]
    total: int


class Images(NamedTuple):
    """All images of a dump, an item for each row of its table of images.

    ``alike`` is the first row with the same size and pixels, by a 64-bit hash; images without pixels equal no other.
    ``heap`` has the bytes of an image's pixel array, ``native`` the memory outside of the heap that it owns. Files that
    ``am dumpheap -b`` added to the dump are not counted: the program didn't have them.
    """

    rows: npt.NDArray[Any]
    alike: U32
    heap: I64
    native: I64


class Groups(Struct, frozen=True):
    """Groups of images with equal pixels, one item per group."""

    shown: I64
    """The row of the largest image, the first of several."""
    count: I64
    heap: I64
    """The bytes of their pixel arrays, each counted once."""
    native: I64
    freed: I64
    """The bytes freed if the largest image replaced the others."""


def image_row(snapshot: Snapshot, number: int) -> ImageRow | None:
    """An object as an image; None if it isn't one."""
    row = row_of(snapshot, number)
    return None if row is None else as_row(row)


def row_of(snapshot: Snapshot, number: int) -> Any:
    """An object's row of IMAGE_DTYPE; None if it isn't an image."""
    images = snapshot.objects.images
    at = int(first_at_least(images["object"], np.array([number]))[0])
    return images[at] if at < len(images) and int(images["object"][at]) == number else None


def as_row(row: Any) -> ImageRow:
    """A row of IMAGE_DTYPE in words."""
    layout = PIXEL_LAYOUTS[int(row["layout"])]
    shown = "" if int(row["elements"]) == NONE else _NAMES.get(layout, layout.removesuffix("_int").upper())
    return ImageRow(int(row["width"]), int(row["height"]), shown)


@kept
def images_of(snapshot: Snapshot) -> Images:
    """All images, see :class:`Images`."""
    rows = np.array(snapshot.objects.images)
    elements = rows["elements"].astype(np.int64)
    has_pixels = elements != NONE
    heap = np.zeros(len(rows), np.int64)
    of_heap = has_pixels & (rows["layout"] != _ENCODED)
    heap[of_heap] = snapshot.objects.shallow[elements[of_heap]].astype(np.int64)
    native = native_bytes(snapshot, rows["object"].astype(np.int64))[0].astype(np.int64)
    return Images(rows, first_equal(_keys(snapshot, rows, elements, has_pixels)), heap, native)


def _keys(snapshot: Snapshot, rows: npt.NDArray[Any], elements: I64, has_pixels: Mask) -> U64:
    """Return a key for each image; images with equal pixels have equal keys."""
    arrays = snapshot.objects.arrays
    at = np.minimum(np.searchsorted(arrays["object"], elements), max(len(arrays) - 1, 0))
    keys = np.zeros((len(rows), 6), np.uint64)
    for place, name in enumerate(("width", "height", "layout")):
        keys[:, place] = rows[name]
    # arrays without elements, and arrays that are missing in the file, have no row
    keys[:, 3] = np.where(has_pixels, elements, (1 << 32) + rows["object"].astype(np.int64)) + 1
    if len(arrays):
        known = has_pixels & (arrays["object"][at] == elements)
        keys[known, 3] = 0
        keys[known, 4] = arrays["contents"][at[known]]
        keys[known, 5] = arrays["length"][at[known]]
    return keys


def equal_images(snapshot: Snapshot, number: int) -> EqualImages:
    """Return the other images with an object's pixels; none if it isn't an image."""
    if row_of(snapshot, number) is None:
        return EqualImages([], 0)
    images = images_of(snapshot)
    own = int(np.searchsorted(images.rows["object"], number))
    others = images.rows["object"][images.alike == images.alike[own]].astype(np.int64)
    others = others[others != number]
    return EqualImages(object_rows(snapshot, others[:_MOST_EQUAL]), len(others))


def groups_of(images: Images, chosen: Numbers) -> Groups:
    """Group some rows of the images by their pixels."""
    elements, alike = images.rows["elements"][chosen], images.alike[chosen].astype(np.int64)
    heap, native = images.heap[chosen], images.native[chosen]
    # a shared array counts once
    heap[first_equal(elements) != np.arange(len(elements))] = 0
    sizes = heap + native
    ordered = np.lexsort((chosen, -sizes, alike))
    is_first = np.ones(len(ordered), np.bool_)
    is_first[1:] = alike[ordered[1:]] != alike[ordered[:-1]]
    largest, group = ordered[is_first], np.empty(len(ordered), np.int64)
    group[ordered] = np.cumsum(is_first) - 1
    sums = np.zeros((3, len(largest)), np.int64)
    for column, own in zip(sums, (heap, native, sizes), strict=True):
        np.add.at(column, group, own)
    return Groups(
        chosen[largest],
        np.bincount(group, minlength=len(largest)),
        sums[0],
        sums[1],
        sums[2] - sizes[largest],
    )

"""Images in a Java heap dump: Android's bitmaps and Java's buffered images, and the offsets of their pixels.

- ``android.graphics.Bitmap`` until Android 7: ``mBuffer`` is a byte array in the heap. Its format isn't in the heap, so
  its length for ``mWidth`` and ``mHeight`` decides: 4 bytes a pixel are ARGB_8888 (in memory R, G, B, A), 2 RGB_565, 1
  ALPHA_8. A buffer that is used again may be longer.
- Since Android 14, ``am dumpheap -b`` leaves a ``Bitmap$DumpData`` in the heap: ``natives`` are the bitmaps'
  ``mNativePtr``, and ``buffers`` the same bitmaps as PNG, JPEG or WebP files. Other dumps since Android 8 have no
  pixels.
- ``java.awt.image.BufferedImage`` with all of its pixels in one array of bytes or ints.

Sources: ``graphics/java/android/graphics/Bitmap.java`` of Android, ``java/awt/image/BufferedImage.java`` of OpenJDK.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, U64, Mask
from memlens.model.graph import IMAGE_DTYPE, NONE, PIXEL_LAYOUTS
from memlens.packs.jvm.fields import Fields
from memlens.texts import Text, phrase

_MOST_SIDE = 1 << 20
_MOST_BUFFERS = 1 << 20
_MOST_DUMPS = 64

_BUFFERED_LAYOUTS = {
    1: (4, "rgb_int"), 2: (4, "argb_int"), 3: (4, "argb_premultiplied_int"), 4: (4, "bgr_int"), 5: (3, "bgr"),
    6: (4, "abgr"), 10: (1, "gray"),
}  # fmt: skip
"""Bytes a pixel and layout by ``BufferedImage.imageType``: TYPE_INT_RGB, TYPE_INT_ARGB, TYPE_INT_ARGB_PRE,
TYPE_INT_BGR, TYPE_3BYTE_BGR, TYPE_4BYTE_ABGR, TYPE_BYTE_GRAY."""


class Elements(NamedTuple):
    """Offsets of the elements of arrays of numbers: ``of(arrays, offsets, sizes)`` fills the last two."""

    data: Any
    of: Callable[[U32, U64, U64], None]

    def places(self, arrays: I64) -> tuple[I64, I64]:
        """The offset and the bytes of each array; an item may be NONE, and has none then."""
        offsets, sizes = np.zeros(len(arrays), np.int64), np.zeros(len(arrays), np.int64)
        known = np.flatnonzero(arrays != NONE)
        found = np.empty(len(known), np.uint64), np.empty(len(known), np.uint64)
        self.of(arrays[known].astype(np.uint32), *found)
        offsets[known], sizes[known] = found
        return offsets, sizes

    def longs(self, array: int) -> I64:
        """An array of longs."""
        (offset,), (size,) = self.places(np.array([array], np.int64))
        return np.frombuffer(self.data, ">i8", min(int(size) // 8, _MOST_BUFFERS), int(offset)).astype(
            np.int64
        )


def without_pixels(type_name: str) -> Text:
    """Return why the dump has no pixels for images of a type."""
    if type_name.startswith("java."):
        return phrase("The pixels aren't in a single array of the image, or their format is unknown")
    return phrase(
        "The dump doesn't have the pixels: since Android 8 they are outside of the heap. "
        "Android 14 and later add them with: am dumpheap -b"
    )


def images_of(fields: Fields, elements: Elements) -> npt.NDArray[Any]:
    """Rows of IMAGE_DTYPE."""
    rows = np.concatenate((_bitmaps(fields, elements), _buffered_images(fields, elements)))
    possible = (rows["width"] > 0) & (rows["height"] > 0)
    return np.sort(rows[possible], order="object")


def _rows(objects: I64, width: I64, height: I64) -> npt.NDArray[Any]:
    """Return rows without pixels; impossible sizes are 0."""
    rows = np.zeros(len(objects), IMAGE_DTYPE)
    rows["object"], rows["elements"] = objects, NONE
    possible = (width > 0) & (height > 0) & (width <= _MOST_SIDE) & (height <= _MOST_SIDE)
    rows["width"], rows["height"] = np.where(possible, width, 0), np.where(possible, height, 0)
    return rows


def _place(rows: npt.NDArray[Any], chosen: Mask, layout: str, arrays: I64, elements: Elements) -> None:
    """Fill in the offsets of the chosen rows' pixels; ``arrays`` has an item for every row."""
    offsets, sizes = elements.places(arrays[chosen])
    for name, column in (("elements", arrays[chosen]), ("offset", offsets), ("bytes", sizes)):
        rows[name][chosen] = column
    rows["layout"][chosen] = PIXEL_LAYOUTS.index(layout)


def _bitmaps(fields: Fields, elements: Elements) -> npt.NDArray[Any]:
    bitmaps = fields.instances("android.graphics.Bitmap")
    rows = _rows(bitmaps, fields.integers(bitmaps, "mWidth"), fields.integers(bitmaps, "mHeight"))
    if not len(rows):
        return rows
    pixels = rows["width"].astype(np.int64) * rows["height"]
    buffers = fields.targets(bitmaps, "mBuffer")
    _, sizes = elements.places(buffers)
    each = sizes // np.maximum(pixels, 1)
    for fits, layout in ((each >= 4, "rgba"), (each // 2 == 1, "rgb_565"), (each <= 1, "alpha")):
        _place(rows, fits & (buffers != NONE), layout, buffers, elements)
    premultiplied = fields.integers(bitmaps, "mIsPremultiplied", absent=1) != 0
    is_rgba = (rows["layout"] == PIXEL_LAYOUTS.index("rgba")) & (buffers != NONE)
    rows["layout"][is_rgba & premultiplied] = PIXEL_LAYOUTS.index("rgba_premultiplied")
    dumped = _dumped(fields, elements)
    pointers = fields.integers(bitmaps, "mNativePtr")
    known = np.array([dumped.get(pointer, NONE) for pointer in pointers.tolist()], np.int64)
    _place(rows, (buffers == NONE) & (known != NONE), "encoded", known, elements)
    return rows


def _dumped(fields: Fields, elements: Elements) -> dict[int, int]:
    """The arrays of the files that ``am dumpheap -b`` made of bitmaps, by the bitmaps' ``mNativePtr``."""
    found: dict[int, int] = {}
    data = fields.instances("android.graphics.Bitmap$DumpData")
    natives, buffers = fields.targets(data, "natives"), fields.targets(data, "buffers")
    known = (natives != NONE) & (buffers != NONE)
    # one for each dump that was taken, with arrays of its own
    _, first = np.unique(buffers[known], return_index=True)
    for place in np.flatnonzero(known)[first[:_MOST_DUMPS]].tolist():
        pointers = elements.longs(int(natives[place]))
        indexes, arrays = fields.elements(int(buffers[place]))
        fits = indexes < len(pointers)
        found.update(zip(pointers[indexes[fits]].tolist(), arrays[fits].tolist(), strict=True))
    return found


def _buffered_images(fields: Fields, elements: Elements) -> npt.NDArray[Any]:
    images = fields.instances("java.awt.image.BufferedImage")
    rasters = fields.targets(images, "raster")
    rows = _rows(images, fields.integers(rasters, "width"), fields.integers(rasters, "height"))
    if not len(rows):
        return rows
    kinds = fields.integers(images, "imageType")
    arrays = fields.targets(fields.targets(rasters, "dataBuffer"), "data")
    _, sizes = elements.places(arrays)
    pixels = rows["width"].astype(np.int64) * rows["height"]
    for kind, (width, layout) in _BUFFERED_LAYOUTS.items():
        # a part of another image shares its array
        _place(rows, (kinds == kind) & (sizes == pixels * width), layout, arrays, elements)
    return rows

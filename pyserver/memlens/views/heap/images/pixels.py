"""Draws the images in a heap dump. Pixels are read from the dump itself, as the archive has no long arrays.

The dump is not trusted: it must be the file that was archived, sizes are checked before memory is allocated, and image
files in the dump are passed on only if both the file and the picture size in its header are small enough.
"""

import base64
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.model.graph import NONE, PIXEL_LAYOUTS
from memlens.packs import registry
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.units import format_bytes
from memlens.views.heap.images.files import PIXEL_BYTES, file_size, png, rgba, smaller
from memlens.views.heap.images.images import row_of
from memlens.views.heap.objects.dump_bytes import NotReadError, spans_of
from memlens.views.heap.objects.rows import check_object, type_names

MOST_BYTES = 64 << 20
"""Limit on the pixels of one image."""
MOST_PIXELS = 16 << 20
_MOST_FILE_BYTES = 16 << 20
_MOST_DRAWN_PIXELS = 1 << 20
"""Larger images are drawn with every second, third … row and column only: they are shown in a few hundred pixels."""
_MOST_ANSWERED_BYTES = 2 << 20
"""Limit on the thumbnails in one answer (at least one is sent); the client requests the rest again."""
_SAMPLED = 2
"""A thumbnail is averaged from at most this many times its rows and columns."""


class ImageAnswer(Struct, frozen=True):
    """An image as a file in base64, or why there is none.

    ``media`` is ``image/png``, ``image/jpeg`` or ``image/webp``. A large image is drawn with
    every ``every``-th row and column only.
    """

    width: int
    height: int
    media: str
    data: str
    every: int
    missing: Text | None


class Thumbnail(Struct, frozen=True):
    """An image for the gallery: a file in base64, or why there is none. Image files in the dump keep their size."""

    object: int
    media: str
    data: str
    missing: Text | None


class _Place(NamedTuple):
    """The position of an image's pixels in the unpacked dump, and their layout."""

    offset: int
    bytes: int
    layout: str
    width: int
    height: int


def image(snapshot: Snapshot, number: int) -> ImageAnswer:
    """Return an image as a file. Raises :class:`BadRequestError` for other objects, and :class:`CancelledError`."""
    row = _image_row(snapshot, number)
    width, height = int(row["width"]), int(row["height"])
    try:
        place = _place(snapshot, row)
        (data,) = spans_of(snapshot, [(place.offset, place.bytes)])
        media, file, every = _file(place, data)
    except NotReadError as error:
        return ImageAnswer(width, height, "", "", 1, error.said)
    return ImageAnswer(width, height, media, base64.b64encode(file).decode("ascii"), every, None)


def thumbnails(snapshot: Snapshot, numbers: Sequence[int], side: int) -> list[Thumbnail]:
    """Return thumbnails of some objects, at most ``side`` pixels wide and high, as many as fit into one answer.

    Raises :class:`BadRequestError` for an object that is no image, and :class:`CancelledError`.
    """
    found: dict[int, Thumbnail] = {}
    chosen: dict[int, _Place] = {}
    for number in numbers:
        try:
            chosen[number] = _place(snapshot, _image_row(snapshot, number))
        except NotReadError as error:
            found[number] = Thumbnail(number, "", "", error.said)
    # in the order of the file: a compressed dump can only be read forwards
    at: dict[int, list[int]] = {}
    for number, place in chosen.items():
        at.setdefault(place.offset, []).append(number)
    ranges = [(offset, max(chosen[number].bytes for number in at[offset])) for offset in sorted(at)]
    answered = 0
    try:
        for (offset, _), data in zip(ranges, spans_of(snapshot, ranges), strict=False):
            for number in at[offset]:
                found[number] = _thumbnail(number, chosen[number], data, side)
                answered += len(found[number].data)
            if answered > _MOST_ANSWERED_BYTES:
                break
    except NotReadError as error:
        for number in chosen.keys() - found.keys():
            found[number] = Thumbnail(number, "", "", error.said)
    return list(found.values())


def _thumbnail(number: int, place: _Place, data: bytes, side: int) -> Thumbnail:
    try:
        media, file, _ = _file(place, data, side)
    except NotReadError as error:
        return Thumbnail(number, "", "", error.said)
    return Thumbnail(number, media, base64.b64encode(file).decode("ascii"), None)


def _image_row(snapshot: Snapshot, number: int) -> Any:
    check_object(snapshot, number)
    row = row_of(snapshot, number)
    if row is None:
        raise BadRequestError(phrase("Object {number} is not an image", number=number))
    return row


def _place(snapshot: Snapshot, row: Any) -> _Place:
    """Return where the pixels of an image are. Raises :class:`NotReadError` if it can't be drawn."""
    layout, size = PIXEL_LAYOUTS[int(row["layout"])], int(row["bytes"])
    width, height = int(row["width"]), int(row["height"])
    if int(row["elements"]) == NONE:
        raise NotReadError(_without_pixels(snapshot, int(row["object"])))
    if layout == "encoded":
        most, needed = _MOST_FILE_BYTES, size
    else:
        most, needed = MOST_BYTES, width * height * PIXEL_BYTES.get(layout, 4)
    if needed > most or width * height > MOST_PIXELS:
        raise NotReadError(
            phrase("The image is too large to be drawn: {size}", size=format_bytes(max(needed, size)))
        )
    if size < needed:
        raise NotReadError(
            phrase(
                "The array of the pixels is too short: it has {size}, and {needed} are needed",
                size=format_bytes(size),
                needed=format_bytes(needed),
            )
        )
    return _Place(int(row["offset"]), needed, layout, width, height)


def _file(place: _Place, data: bytes, side: int | None = None) -> tuple[str, bytes, int]:
    """Return the media type, the file, and its step: every ``step``-th row and column, at most ``side`` of each."""
    data = data[: place.bytes]
    if len(data) < place.bytes:
        raise NotReadError(phrase("The dump ends before the pixels do"))
    if place.layout == "encoded":
        return _encoded(data), data, 1
    width, height = place.width, place.height
    if width <= 0 or height <= 0:
        raise InconsistentError("An image has no pixels")
    if side is None:
        every = next(
            each for each in count(1) if -(-width // each) * -(-height // each) <= _MOST_DRAWN_PIXELS
        )
    else:
        every = max(max(width, height) // (_SAMPLED * side), 1)
    pixels = rgba(np.frombuffer(data, np.uint8).reshape(height, width, -1)[::every, ::every], place.layout)
    return "image/png", png(pixels if side is None else smaller(pixels, side)), every


def _encoded(data: bytes) -> str:
    """The type of a file that ``am dumpheap -b`` made."""
    found = file_size(data)
    if found is None:
        raise NotReadError(phrase("The image in the dump is not a whole PNG, JPEG or WebP file"))
    media, width, height = found
    if width * height > MOST_PIXELS:
        raise NotReadError(
            phrase("The image is too large to be drawn: {size}", size=f"{width:,} \u00d7 {height:,}")
        )
    return media


def _without_pixels(snapshot: Snapshot, number: int) -> Text:
    """Why there are no pixels of an image."""
    known = registry.objects_of(snapshot.info.kind).without_pixels
    if known is None:
        return phrase("The dump doesn't have the pixels")
    return known.load()(type_names(snapshot)[int(snapshot.objects.type[number])])

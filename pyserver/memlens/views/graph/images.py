"""Objects that are images, as pictures: their pixels are read from the dump itself, as the archive has no long arrays.

Nothing of that is trusted: the file must be the one that was read, sizes are checked before anything is made of them,
and files within the dump are handed on only if they are small enough and say that their picture is as well.
"""

import base64
import struct
import tempfile
import zlib
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.errors import BadRequestError, CancelledError, FileError
from memlens.formats.containers import ChangedFileError, Source, open_source
from memlens.formats.packing import DamagedContainerError
from memlens.kernels.base.work import Work
from memlens.model.graph import NONE, PIXEL_LAYOUTS
from memlens.store.manifest import SourceFile
from memlens.store.objects.places import first_at_least
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.units import format_bytes
from memlens.views.graph.rows import check_object, type_names

U8 = npt.NDArray[np.uint8]

MOST_BYTES = 64 << 20
"""Of the pixels of an image."""
MOST_PIXELS = 16 << 20
_MOST_FILE_BYTES = 16 << 20
_MOST_DRAWN_PIXELS = 1 << 20
"""A larger image is drawn with every second, third … row and column: it is seen in a few hundred pixels."""

_PIXEL_BYTES = {"rgb_565": 2, "alpha": 1, "gray": 1, "bgr": 3}
"""Those of the other layouts are 4."""
_CHANNELS = {
    "rgba": (0, 1, 2, 3), "rgba_premultiplied": (0, 1, 2, 3), "argb_int": (1, 2, 3, 0), "rgb_int": (1, 2, 3, None),
    "argb_premultiplied_int": (1, 2, 3, 0), "bgr_int": (3, 2, 1, None), "bgr": (2, 1, 0, None), "abgr": (3, 2, 1, 0),
    "gray": (0, 0, 0, None), "alpha": (None, None, None, 0),
}  # fmt: skip
"""Where in a pixel red, green, blue and alpha are. What isn't there is 0, but without alpha all is opaque."""
_NAMES = {"rgba_premultiplied": "ARGB_8888", "rgba": "ARGB_8888", "rgb_565": "RGB_565", "alpha": "ALPHA_8"}


class ImageRow(Struct, frozen=True):
    """An object that is an image, and its size in pixels."""

    width: int
    height: int
    layout: str
    """What its pixels are, for people: ``ARGB_8888``; empty where the dump doesn't have them."""


class ImageAnswer(Struct, frozen=True):
    """An image as a file in base64, or why there is none.

    ``media`` is ``image/png``, ``image/jpeg`` or ``image/webp``. Of a large image only every ``every``-th row and
    column is there.
    """

    width: int
    height: int
    media: str
    data: str
    every: int
    missing: Text | None


class _NoPictureError(Exception):
    """There is nothing to draw; the text says why."""

    def __init__(self, said: Text) -> None:
        super().__init__(said.text)
        self.said = said


def image_row(snapshot: Snapshot, number: int) -> ImageRow | None:
    """What an object is as an image, None if it is none."""
    row = _row(snapshot, number)
    if row is None:
        return None
    layout = PIXEL_LAYOUTS[int(row["layout"])]
    shown = "" if int(row["elements"]) == NONE else _NAMES.get(layout, layout.removesuffix("_int").upper())
    return ImageRow(int(row["width"]), int(row["height"]), shown)


def image(snapshot: Snapshot, number: int) -> ImageAnswer:
    """An image as a file. Raises :class:`BadRequestError` for another object, and :class:`CancelledError`."""
    check_object(snapshot, number)
    row = _row(snapshot, number)
    if row is None:
        raise BadRequestError(phrase("Object {number} is no image", number=number))
    width, height = int(row["width"]), int(row["height"])
    try:
        media, data, every = _picture(snapshot, row, width, height)
    except _NoPictureError as error:
        return ImageAnswer(width, height, "", "", 1, error.said)
    return ImageAnswer(width, height, media, base64.b64encode(data).decode("ascii"), every, None)


def _row(snapshot: Snapshot, number: int) -> Any:
    images = snapshot.objects.images
    at = int(first_at_least(images["object"], np.array([number]))[0])
    return images[at] if at < len(images) and int(images["object"][at]) == number else None


def _picture(snapshot: Snapshot, row: Any, width: int, height: int) -> tuple[str, bytes, int]:
    """The type of the file, its bytes, and every how many-th row and column it has."""
    layout, size = PIXEL_LAYOUTS[int(row["layout"])], int(row["bytes"])
    if int(row["elements"]) == NONE:
        raise _NoPictureError(_without_pixels(snapshot, int(row["object"])))
    if layout == "encoded":
        most, needed = _MOST_FILE_BYTES, size
    else:
        most, needed = MOST_BYTES, width * height * _PIXEL_BYTES.get(layout, 4)
    if needed > most or width * height > MOST_PIXELS:
        raise _NoPictureError(
            phrase("The image is too large to be drawn: {size}", size=format_bytes(max(needed, size)))
        )
    if size < needed:
        raise _NoPictureError(
            phrase(
                "The array of the pixels is too short: it has {size}, and {needed} are needed",
                size=format_bytes(size),
                needed=format_bytes(needed),
            )
        )
    data = _elements(snapshot.manifest.source, int(row["offset"]), needed, snapshot.work)
    if layout == "encoded":
        return _encoded(data), data, 1
    every = next(each for each in count(1) if -(-width // each) * -(-height // each) <= _MOST_DRAWN_PIXELS)
    pixels = np.frombuffer(data, np.uint8).reshape(height, width, -1)[::every, ::every]
    return "image/png", _png(_rgba(pixels, layout)), every


def _without_pixels(snapshot: Snapshot, number: int) -> Text:
    """Why there are no pixels, of a bitmap of Android's or another image."""
    if type_names(snapshot)[int(snapshot.objects.type[number])].startswith("java."):
        return phrase("The pixels aren't in one array of the image's own, or not in a form that is known")
    return phrase(
        "The dump doesn't have the pixels: since Android 8 they are outside of the heap. "
        "Android 14 and later add them with: am dumpheap -b"
    )


def _elements(known: SourceFile, offset: int, size: int, work: Work) -> bytes:
    """Bytes of the unpacked dump, of which nothing is kept. Raises :class:`CancelledError`."""
    path = Path(known.path)

    def stop(_stage: str, _fraction: float) -> None:
        if work.is_stopped:
            raise CancelledError(phrase("The question was cancelled"))

    try:
        if SourceFile.of(path) != known:
            raise _NoPictureError(
                phrase("{file} was changed since it was read: its pixels aren't shown", file=path.name)
            )
        with open_source(path, Path(tempfile.gettempdir()), stop) as source:
            data = _part(source, offset, size, stop)
            source.check()
    except (OSError, FileError):
        raise _NoPictureError(
            phrase("The pixels are in {path}, which isn't there any more or can't be read", path=known.path)
        ) from None
    except (ChangedFileError, DamagedContainerError) as error:
        raise _NoPictureError(error.message) from None
    if len(data) < size:
        raise _NoPictureError(phrase("{file} ends before the pixels do", file=path.name))
    return data


def _part(source: Source, offset: int, size: int, stop: Any) -> bytes:
    """Part of a source: of a compressed one all before it is unpacked as well, but not kept."""
    if not source.is_packed:
        return source.data[offset : offset + size]
    found, place = bytearray(), 0
    for chunk in source.chunks(stop):
        first = max(offset - place, 0)
        if first < len(chunk):
            found += chunk[first : first + size - len(found)]
        place += len(chunk)
        if len(found) >= size:
            break
    return bytes(found)


def _rgba(pixels: U8, layout: str) -> U8:
    """Pixels of a layout as red, green, blue and alpha, which the other three aren't multiplied by."""
    height, width, _ = pixels.shape
    made = np.zeros((height, width, 4), np.uint8)
    if layout == "rgb_565":
        word = pixels[..., 0].astype(np.uint16) | pixels[..., 1].astype(np.uint16) << 8
        for channel, (shift, bits) in enumerate(((11, 5), (5, 6), (0, 5))):
            part = word >> shift & (1 << bits) - 1
            made[..., channel] = part << (8 - bits) | part >> (2 * bits - 8)
        made[..., 3] = 255
        return made
    for channel, place in enumerate(_CHANNELS[layout]):
        if place is not None:
            made[..., channel] = pixels[..., place]
        elif channel == 3:
            made[..., 3] = 255
    if "premultiplied" in layout:
        alpha = made[..., 3:].astype(np.uint16)
        whole = (made[..., :3] * np.uint16(255) + alpha // 2) // np.maximum(alpha, 1)
        made[..., :3] = np.minimum(whole, 255)
    return made


def _png(pixels: U8) -> bytes:
    """A PNG file of red, green, blue and alpha."""
    height, width, _ = pixels.shape
    lines = np.zeros((height, 1 + 4 * width), np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines.tobytes(), 1))
        + chunk(b"IEND", b"")
    )


def _encoded(data: bytes) -> str:
    """The type of a file that ``am dumpheap -b`` made."""
    found = _file_size(data)
    if found is None:
        raise _NoPictureError(phrase("What the dump has of the image is no whole PNG, JPEG or WebP file"))
    media, width, height = found
    if width * height > MOST_PIXELS:
        raise _NoPictureError(
            phrase("The image is too large to be drawn: {size}", size=f"{width:,} \u00d7 {height:,}")
        )
    return media


def _file_size(data: bytes) -> tuple[str, int, int] | None:
    """The type of an image's file, and the width and height that it says its picture has."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        return ("image/png", *struct.unpack(">II", data[16:24]))
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) >= 30:
        return _webp_size(data)
    place = 2
    while data[:2] == b"\xff\xd8" and data[place : place + 1] == b"\xff" and place + 9 <= len(data):
        marker, length = struct.unpack(">BH", data[place + 1 : place + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return "image/jpeg", width, height
        place += 2 + length
    return None


def _webp_size(data: bytes) -> tuple[str, int, int] | None:
    match data[12:16]:
        case b"VP8X":
            width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = (each & 0x3FFF for each in struct.unpack("<HH", data[26:30]))
        case _:
            return None
    return "image/webp", width, height

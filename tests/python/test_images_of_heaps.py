"""Images in heap dumps: what is drawn of made ones, by a decoder of PNG of its own, and what is said of damage."""

import base64
import gzip
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.python.hprof_files import BYTE, INT
from tests.python.image_files import ImageDump

from memlens.errors import BadRequestError
from memlens.store.snapshot import Snapshot
from memlens.texts import Text
from memlens.views.heap.images import pixels
from memlens.views.heap.images.pixels import ImageAnswer, image
from memlens.views.heap.listing.one_object import describe

Opened = Callable[[Path], Snapshot]
Pixel = tuple[int, int, int, int]

BITMAP = 0x10_0000
PIXELS = [
    (255, 0, 0, 255),
    (0, 255, 0, 255),
    (0, 0, 255, 255),
    (10, 20, 30, 255),
    (0, 0, 0, 0),
    (128, 64, 0, 128),
]
"""Red, green, blue, alpha of an image of 3 by 2."""


def decoded(answer: ImageAnswer) -> tuple[int, int, list[Pixel]]:
    """Width, height and pixels of a PNG of red, green, blue and alpha without filters; everything else fails."""
    assert (answer.media, answer.missing) == ("image/png", None)
    data = base64.b64decode(answer.data)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, {}
    while place < len(data):
        (size,) = struct.unpack(">I", data[place : place + 4])
        name, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        (checksum,) = struct.unpack(">I", data[place + 8 + size : place + 12 + size])
        assert checksum == zlib.crc32(name + body)
        chunks[name] = body
        place += 12 + size
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert kind == [8, 6, 0, 0, 0]
    lines = zlib.decompress(chunks[b"IDAT"])
    pixels: list[Pixel] = []
    for row in range(height):
        line = lines[row * (4 * width + 1) : (row + 1) * (4 * width + 1)]
        assert line[0] == 0
        pixels += struct.iter_unpack("4B", line[1:])
    return width, height, pixels


def _answer(opened: Opened, path: Path, own_id: int) -> ImageAnswer:
    snapshot = opened(path)
    return image(snapshot, snapshot.objects.id.tolist().index(own_id))


def _said(answer: ImageAnswer) -> str:
    assert isinstance(answer.missing, Text)
    assert (answer.media, answer.data) == ("", "")
    return answer.missing.text


def _multiplied(pixel: Pixel) -> Pixel:
    red, green, blue = (round(channel * pixel[3] / 255) for channel in pixel[:3])
    return red, green, blue, pixel[3]


def _bytes(order: str, pixels: list[Pixel] = PIXELS) -> bytes:
    return bytes(channels["rgba".index(letter)] for channels in pixels for letter in order)


OPAQUE = [(red, green, blue, 255) for red, green, blue, _ in PIXELS]
GRAY = [(each, each, each, 255) for each in (0, 50, 100, 150, 200, 255)]


@pytest.mark.parametrize("packed", [False, True])
def test_a_bitmap_of_the_heap(packed: bool, opened: Opened, tmp_path: Path) -> None:
    dump = ImageDump()
    bitmap = dump.bitmap(3, 2, _bytes("rgba", [_multiplied(pixel) for pixel in PIXELS]))
    path = tmp_path / ("made.hprof.gz" if packed else "made.hprof")
    path.write_bytes(gzip.compress(dump.end()) if packed else dump.end())
    width, height, pixels = decoded(_answer(opened, path, bitmap))
    assert (width, height) == (3, 2)
    for pixel, expected in zip(pixels, PIXELS, strict=True):
        # half of the steps are lost where they are multiplied by half
        assert pixel == pytest.approx(expected, abs=1)
    snapshot = opened(path)
    number = snapshot.objects.id.tolist().index(bitmap)
    found = describe(snapshot, number)
    assert found.object.name == "3 \u00d7 2"
    assert found.image is not None
    assert (found.image.width, found.image.height, found.image.layout) == (3, 2, "ARGB_8888")
    assert describe(snapshot, 0).image is None
    with pytest.raises(BadRequestError, match="Object 0 is not an image"):
        image(snapshot, 0)


def test_formats_follow_from_the_length(opened: Opened, tmp_path: Path) -> None:
    dump = ImageDump()
    plain = dump.bitmap(3, 2, _bytes("rgba"), premultiplied=False)
    words = [red >> 3 << 11 | green >> 2 << 5 | blue >> 3 for red, green, blue, _ in OPAQUE]
    short = dump.bitmap(3, 2, struct.pack("<6H", *words))
    alpha = dump.bitmap(3, 2, bytes([0, 50, 100, 150, 200, 255]))
    again = dump.bitmap(2, 2, _bytes("rgba"), premultiplied=False)
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    assert decoded(_answer(opened, path, plain))[2] == PIXELS
    for found, expected in zip(decoded(_answer(opened, path, short))[2], OPAQUE, strict=True):
        assert found == pytest.approx(expected, abs=8)
    assert decoded(_answer(opened, path, alpha))[2] == [
        (0, 0, 0, each) for each in (0, 50, 100, 150, 200, 255)
    ]
    # an array that was used for a larger one before
    assert decoded(_answer(opened, path, again)) == (2, 2, PIXELS[:4])


@pytest.mark.parametrize(
    ("kind", "element", "data", "expected"),
    [
        (1, INT, _bytes("argb"), OPAQUE),
        (2, INT, _bytes("argb"), PIXELS),
        (4, INT, _bytes("abgr"), OPAQUE),
        (5, BYTE, _bytes("bgr"), OPAQUE),
        (6, BYTE, _bytes("abgr"), PIXELS),
        (10, BYTE, bytes([0, 50, 100, 150, 200, 255]), GRAY),
    ],
)
def test_buffered_images_of_java(
    kind: int, element: int, data: bytes, expected: list[Pixel], opened: Opened, tmp_path: Path
) -> None:
    dump = ImageDump("1.0.2")
    made = dump.buffered_image(kind, 3, 2, data, element)
    part = dump.buffered_image(kind, 2, 2, data, element)
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    assert decoded(_answer(opened, path, made)) == (3, 2, expected)
    assert "aren't in a single array of the image" in _said(_answer(opened, path, part))


def _png_head(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" + struct.pack(">II", width, height) + bytes(50)


def _jpeg_head(width: int, height: int) -> bytes:
    return b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08" + struct.pack(">HH", height, width) + bytes(50)


def _webp_heads(width: int, height: int) -> list[bytes]:
    riff = b"RIFF\0\0\0\0WEBP"
    extended = riff + b"VP8X\x0a\0\0\0\0\0\0\0" + (width - 1).to_bytes(3, "little")
    lossless = riff + b"VP8L\0\0\0\0\x2f" + (width - 1 | height - 1 << 14).to_bytes(4, "little")
    lossy = riff + b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    return [extended + (height - 1).to_bytes(3, "little") + bytes(9), lossless + bytes(9), lossy + bytes(9)]


def _dump_data(natives: list[int], files: list[bytes], bitmaps: list[int]) -> tuple[ImageDump, list[int]]:
    dump = ImageDump()
    found = [dump.bitmap(4, 3, None, native=native) for native in bitmaps]
    dump.dump_data(natives, files)
    return dump, found


def test_files_that_the_dumper_added(opened: Opened, tmp_path: Path) -> None:
    """They are handed on as they are, by the pointer that the bitmap has."""
    files = [_png_head(4, 3), _jpeg_head(4, 3), *_webp_heads(4, 3)]
    natives = [-9, 11, 12, 13, 14]
    dump, bitmaps = _dump_data(natives, files, [*reversed(natives), 99])
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    answers = [_answer(opened, path, each) for each in bitmaps]
    assert [(each.media, base64.b64decode(each.data)) for each in answers[:-1]] == [
        (media, file)
        for media, file in zip(["image/webp"] * 3 + ["image/jpeg", "image/png"], reversed(files), strict=True)
    ]
    assert "am dumpheap -b" in _said(answers[-1])


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (b"", "not a whole PNG, JPEG or WebP file"),
        (b"<svg onload=alert(1)>" * 9, "not a whole PNG, JPEG or WebP file"),
        (b"\xff\xd8" + b"\xff\xe0\0\0" * 40, "not a whole PNG, JPEG or WebP file"),
        (_png_head(1 << 31, 1 << 31), "too large to be drawn: 2,147,483,648"),
        (_jpeg_head(65535, 65535), "too large to be drawn: 65,535"),
        *((each, "too large to be drawn: 16,000") for each in _webp_heads(16_000, 16_000)),
    ],
)
def test_files_that_are_not_pictures_or_claim_too_much(
    file: bytes, said: str, opened: Opened, tmp_path: Path
) -> None:
    dump, (bitmap,) = _dump_data([7], [file], [7])
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    assert said in _said(_answer(opened, path, bitmap))


@pytest.mark.parametrize(
    ("width", "height", "size", "said"),
    [
        (300, 200, 5, "too short: it has 5 B, and 58.6 KiB are needed"),
        (300, 200, 0, "too short: it has 0 B"),
        (1 << 20, 1 << 20, 64, "too large to be drawn: 1 TiB"),
    ],
)
def test_sizes_that_the_array_contradicts(
    width: int, height: int, size: int, said: str, opened: Opened, tmp_path: Path
) -> None:
    dump = ImageDump()
    bitmap = dump.bitmap(width, height, bytes(size))
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    assert said in _said(_answer(opened, path, bitmap))


@pytest.mark.parametrize(("width", "height"), [(-1, 2), (2, -(2**31)), (0, 5), (2**31 - 1, 2**31 - 1)])
def test_sizes_that_cannot_be_make_no_image(width: int, height: int, opened: Opened, tmp_path: Path) -> None:
    dump = ImageDump()
    bitmap = dump.bitmap(width, height, bytes(64))
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    snapshot = opened(path)
    found = describe(snapshot, snapshot.objects.id.tolist().index(bitmap))
    assert (found.image, found.object.name) == (None, "")


def test_a_large_image_is_drawn_with_some_of_its_rows(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pixels, "_MOST_DRAWN_PIXELS", 2)
    dump = ImageDump()
    bitmap = dump.bitmap(3, 2, _bytes("rgba"), premultiplied=False)
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    answer = _answer(opened, path, bitmap)
    assert (answer.width, answer.height, answer.every) == (3, 2, 2)
    assert decoded(answer) == (2, 1, [PIXELS[0], PIXELS[2]])


def test_a_file_that_changed_or_went_is_not_read(opened: Opened, tmp_path: Path) -> None:
    dump = ImageDump()
    bitmap = dump.bitmap(3, 2, _bytes("rgba"))
    path = tmp_path / "made.hprof"
    path.write_bytes(dump.end())
    snapshot = opened(path)
    number = snapshot.objects.id.tolist().index(bitmap)
    os.utime(path, ns=(1, 1))
    assert (
        _said(image(snapshot, number))
        == "made.hprof was changed since it was read: what is in it isn't shown"
    )
    path.unlink()
    assert f"That is only in {path}, which no longer exists" in _said(image(snapshot, number))

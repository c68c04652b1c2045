"""Writes pixels as PNG, and reads the type and size of image files."""

import struct
import zlib

import numpy as np

from memlens.arrays import U8

PIXEL_BYTES = {"rgb_565": 2, "alpha": 1, "gray": 1, "bgr": 3}
"""Bytes per pixel; 4 for layouts that are not listed."""
_CHANNELS = {
    "rgba": (0, 1, 2, 3), "rgba_premultiplied": (0, 1, 2, 3), "argb_int": (1, 2, 3, 0), "rgb_int": (1, 2, 3, None),
    "argb_premultiplied_int": (1, 2, 3, 0), "bgr_int": (3, 2, 1, None), "bgr": (2, 1, 0, None), "abgr": (3, 2, 1, 0),
    "gray": (0, 0, 0, None), "alpha": (None, None, None, 0),
}  # fmt: skip
"""Positions of red, green, blue and alpha in a pixel. Missing colours are 0; without alpha all pixels are opaque."""


def rgba(pixels: U8, layout: str) -> U8:
    """Pixels of a layout as red, green, blue and alpha, not premultiplied."""
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


def png(pixels: U8) -> bytes:
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


def smaller(pixels: U8, side: int) -> U8:
    """Red, green, blue and alpha of an image that is ``side`` pixels wide and high at most.

    Each of its pixels is the mean of a square of pixels, weighted by their alpha.
    """
    height, width, _ = pixels.shape
    each = -(-max(height, width) // side)
    if each == 1:
        return pixels
    rows, columns = max(height // each, 1), max(width // each, 1)
    tall, wide = min(each, height), min(each, width)
    squares = pixels[: rows * tall, : columns * wide].reshape(rows, tall, columns, wide, 4).astype(np.float32)
    weight = squares[..., 3:]
    sums = weight.sum(axis=(1, 3))
    colours = (squares[..., :3] * weight).sum(axis=(1, 3)) / np.maximum(sums, 1)
    made: U8 = np.concatenate((colours, sums / (tall * wide)), axis=2).round().astype(np.uint8)
    return made


def file_size(data: bytes) -> tuple[str, int, int] | None:
    """Return the type of an image file, and the width and height in its header."""
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

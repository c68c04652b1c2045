"""Heap dumps with images, by the classes of Android and of Java."""

import struct

from tests.python.hprof_files import BOOLEAN, BYTE, INT, LONG, OBJECT, Dump
from tests.python.native_files import NativeDump


class _Images(Dump):
    """A dump that can have the classes of images."""

    next: int

    def image_classes(self, base: int, at: int) -> None:
        """Add them with ids from ``at`` on."""
        self.bitmap_class = self.klass(
            at, "android/graphics/Bitmap", base,
            [("mBuffer", OBJECT), ("mNativePtr", LONG), ("mWidth", INT), ("mHeight", INT),
             ("mIsPremultiplied", BOOLEAN)],
        )  # fmt: skip
        self.data_class = self.klass(
            at + 0x20, "android/graphics/Bitmap$DumpData", base,
            [("count", INT), ("format", INT), ("natives", OBJECT), ("buffers", OBJECT)],
        )  # fmt: skip
        self.arrays_class = self.klass(at + 0x40, "[[B", base)
        self.klass(at + 0x60, "[B", base)
        self.klass(at + 0x80, "[I", base)
        self.klass(at + 0xA0, "[J", base)
        raster = [("width", INT), ("height", INT), ("dataBuffer", OBJECT)]
        self.raster_class = self.klass(at + 0x100, "java/awt/image/Raster", base, raster)
        self.buffer_class = self.klass(at + 0x120, "java/awt/image/DataBufferByte", base, [("data", OBJECT)])
        self.image_class = self.klass(
            at + 0x140, "java/awt/image/BufferedImage", base, [("imageType", INT), ("raster", OBJECT)]
        )

    def id(self) -> int:
        self.next += 0x10000
        return self.next

    def bitmap(
        self, width: int, height: int, data: bytes | None, *, native: int = 0, premultiplied: bool = True
    ) -> int:
        array = 0 if data is None else self.numbers(self.id(), BYTE, data)
        return self.instance(
            self.id(), self.bitmap_class, "Pqii?", array, native, width, height, premultiplied
        )

    def buffered_image(self, kind: int, width: int, height: int, data: bytes, element: int) -> int:
        array = self.numbers(self.id(), element, data)
        buffer = self.instance(self.id(), self.buffer_class, "P", array)
        raster = self.instance(self.id(), self.raster_class, "iiP", width, height, buffer)
        return self.instance(self.id(), self.image_class, "iP", kind, raster)

    def dump_data(self, natives: list[int], files: list[bytes]) -> int:
        """What ``am dumpheap -b`` adds: files of the bitmaps with these pointers."""
        arrays = [self.numbers(self.id(), BYTE, file) for file in files]
        pointers = self.numbers(self.id(), LONG, struct.pack(f">{len(natives)}q", *natives))
        buffers = self.objects(self.id(), self.arrays_class, arrays)
        return self.instance(self.id(), self.data_class, "iiPP", len(natives), 1, pointers, buffers)


class ImageDump(_Images):
    """A dump with the classes of images."""

    def __init__(self, version: str = "1.0.3") -> None:
        super().__init__(version)
        self.next = 0x20_0000
        base = self.klass(0x100, "java/lang/Object")
        self.klass(0x120, "java/lang/Class", base)
        self.image_classes(base, 0x200)


class NativeImageDump(_Images, NativeDump):
    """A dump whose images can own memory outside of the heap."""

    def __init__(self, version: str = "1.0.3") -> None:
        super().__init__(version)
        self.image_classes(self.object_class, 0x1000)


def many() -> bytes:
    """300 bitmaps of stripes, that are held by a class, ten of them large and equal, and some without pixels."""
    dump = ImageDump()
    made = []
    for number in range(300):
        width, height = (200, 120) if number < 10 else (20 + number % 50, 30 + number % 70)
        colour = 7 if number < 10 else number
        pixel = [bytes((x * 3 & 255, colour * 40 & 255, colour * 90 & 255, 255)) for x in range(width)]
        data = None if number % 60 == 59 else b"".join(pixel) * height
        made.append(dump.bitmap(width, height, data))
    dump.add(0xFF, "P", dump.objects(dump.id(), dump.klass(0x800, "[Landroid/graphics/Bitmap;", 0x100), made))
    return dump.end()


def small() -> bytes:
    """One image of each kind."""
    dump = ImageDump()
    dump.add(0xFF, "P", dump.bitmap(3, 2, bytes(range(24))))
    dump.bitmap(2, 2, bytes(range(8)))
    dump.bitmap(4, 3, None, native=7)
    dump.dump_data([7], [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR" + struct.pack(">II", 4, 3) + bytes(9)])
    dump.buffered_image(2, 2, 1, bytes(8), INT)
    return dump.end()

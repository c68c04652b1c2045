"""Reads a Java class file's name, source file and first line with code.

Source: chapter 4 of the Java Virtual Machine Specification, "The class File Format".
"""

import struct
from typing import NamedTuple

_MAGIC = 0xCAFEBABE
_UTF8, _CLASS = 1, 7
_SIZES = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}
"""Bytes of the entries of the constant pool, by tag, without those of texts."""
_WIDE = (5, 6)
"""Tags of entries that count for two."""


class ClassFile(NamedTuple):
    """``name`` has ``/`` between the package's names. An unknown source is empty, an unknown line 0."""

    name: str
    source: str
    first_line: int


def read(data: bytes) -> ClassFile | None:
    """Read a class file; None if it isn't one or is damaged."""
    try:
        return _Reader(data).read()
    except (struct.error, KeyError, IndexError):
        return None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.texts: dict[int, str] = {}
        self.classes: dict[int, int] = {}
        self.source = ""
        self.first_line = 0

    def number(self, form: str = "H") -> int:
        (value,) = struct.unpack_from(f">{form}", self.data, self.at)
        self.at += struct.calcsize(form)
        return int(value)

    def skip(self, size: int) -> None:
        self.at += size

    def read(self) -> ClassFile | None:
        if self.number("I") != _MAGIC:
            return None
        self.skip(4)
        self._constants()
        self.skip(2)
        own = self.number()
        self.skip(2)
        self.skip(2 * self.number())
        for _fields_and_methods in range(2):
            for _ in range(self.number()):
                self.skip(6)
                self._attributes()
        self._attributes()
        return ClassFile(self.texts[self.classes[own]], self.source, self.first_line)

    def _constants(self) -> None:
        count, index = self.number(), 1
        while index < count:
            tag = self.number("B")
            if tag == _UTF8:
                size = self.number()
                self.texts[index] = self.data[self.at : self.at + size].decode("utf-8", "replace")
                self.skip(size)
            else:
                if tag == _CLASS:
                    self.classes[index] = struct.unpack_from(">H", self.data, self.at)[0]
                self.skip(_SIZES[tag])
            index += 2 if tag in _WIDE else 1

    def _attributes(self, *, of_code: bool = False) -> None:
        for _ in range(self.number()):
            name, size = self.texts.get(self.number()), self.number("I")
            end = self.at + size
            match name:
                case "SourceFile":
                    self.source = self.texts[self.number()]
                case "Code" if not of_code:
                    self.skip(4)
                    self.skip(self.number("I"))
                    self.skip(8 * self.number())
                    self._attributes(of_code=True)
                case "LineNumberTable":
                    lines = [self.number("I") & 0xFFFF for _ in range(self.number())]
                    self.first_line = min([line for line in (self.first_line, *lines) if line], default=0)
            if self.at > end:
                # overlapping parts could be read again and again
                raise IndexError
            self.at = end

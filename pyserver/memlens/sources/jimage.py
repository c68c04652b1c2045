"""Reads the classes of a JDK's module image, ``lib/modules``, which is where a JDK from 9 on keeps them.

Source: ``src/java.base/share/native/libjimage/imageFile.hpp`` of OpenJDK. A header, a table of redirections, a table
of offsets into the locations, the locations, their texts, and after that the contents. A location is a list of numbers
with a kind each, until kind 0.
"""

import mmap
import struct
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

_MAGIC = 0xCAFEDADA
_HEADER = "IIIIIII"
_MODULE, _PARENT, _BASE, _EXTENSION, _OFFSET, _COMPRESSED, _SIZE = range(1, 8)
_KINDS = 8


class _Index(NamedTuple):
    offsets: tuple[int, ...]
    """Where in the image each location is."""
    texts: int
    contents: int


class Image(AbstractContextManager["Image"]):
    """An open module image. Paths are ``java.base/java/util/HashMap.class``.

    Raises OSError if it can't be read, and ValueError if it is none or is damaged.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        try:
            self._index = self._read_index()
        except BaseException:
            self._data.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._data.close()

    def paths(self, package: str | None) -> Iterator[str]:
        """The paths of the class files in a package, with ``/`` between its names; None for all."""
        for location in self._locations(package):
            yield self._path(location)

    def read(self, path: str, most: int) -> bytes:
        """A class file, at most so many bytes of it. Raises KeyError if there is none of that path."""
        package = path.rpartition("/")[0].partition("/")[2]
        for location in self._locations(package):
            if self._path(location) == path:
                if location[_COMPRESSED]:
                    raise ValueError("it is packed")
                start = self._index.contents + location[_OFFSET]
                return self._data[start : start + min(location[_SIZE], most)]
        raise KeyError(path)

    def _read_index(self) -> _Index:
        data = self._data
        size = struct.calcsize(_HEADER)
        for order in "<>":
            if len(data) >= size and struct.unpack_from(order + _HEADER, data)[0] == _MAGIC:
                break
        else:
            raise ValueError("it is no module image")
        _, _, _, _, length, locations_size, texts_size = struct.unpack_from(order + _HEADER, data)
        table = size + 4 * length
        locations = table + 4 * length
        texts = locations + locations_size
        if texts + texts_size > len(data):
            raise ValueError("it ends early")
        offsets = struct.unpack_from(f"{order}{length}I", data, table)
        return _Index(tuple(locations + offset for offset in offsets), texts, texts + texts_size)

    def _locations(self, package: str | None) -> Iterator[list[int]]:
        """The locations of class files in a package; all for None."""
        of_class = self._number("class")
        parent = None if package is None else self._number(package)
        if of_class is None or (package is not None and parent is None):
            return
        data, end = self._data, self._index.texts
        for start in self._index.offsets:
            at, numbers = start, [0] * _KINDS
            # each kind is there once, and in a damaged image anything may be
            for _ in range(_KINDS):
                if at >= end or not (kind := data[at] >> 3):
                    break
                size = (data[at] & 7) + 1
                if kind < _KINDS:
                    numbers[kind] = int.from_bytes(data[at + 1 : at + 1 + size], "big")
                at += 1 + size
            if numbers[_EXTENSION] == of_class and (parent is None or numbers[_PARENT] == parent):
                yield numbers

    def _number(self, text: str) -> int | None:
        """Where a text is among the texts, each of which is there once; None if it isn't."""
        texts, end = self._index.texts, self._index.contents
        at = self._data.find(b"\0" + text.encode() + b"\0", texts, end)
        return None if at < 0 else at + 1 - texts

    def _path(self, location: list[int]) -> str:
        module, parent, base = (self._text(location[kind]) for kind in (_MODULE, _PARENT, _BASE))
        return f"{module}/{parent}/{base}.class"

    def _text(self, offset: int) -> str:
        start = min(self._index.texts + offset, self._index.contents)
        end = self._data.find(b"\0", start, self._index.contents)
        return self._data[start : max(start, end)].decode("utf-8", "replace")

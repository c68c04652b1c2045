"""PyHeap's dumps: the objects' representations are left out, as if it had been told to write none.

The mark is a bit of the flags in the header. What stands before and after the objects is decoded and written again.
"""

import struct
from collections.abc import Callable

import numpy as np

from memlens.formats.containers import Source
from memlens.formats.pyheap import MAGIC, REMOVED_FLAG, WITH_TEXTS, Head, Reader, names_of_types
from memlens.formats.redacted import Wanted
from memlens.formats.redaction.output import Output, pour
from memlens.kernels.readers import pyheap_redaction
from memlens.progress import Report


def redact(source: Source, output: Output, wanted: Wanted, report: Report) -> int | None:
    """Write the dump; return the offset where it breaks, None if it is whole."""
    source.unpack()
    head = Head.of(source)
    output.write(_Copy(source).head(keeps_time=wanted.keeps_time))
    objects = pyheap_redaction.PyHeap(
        source.data,
        head.end,
        head.count,
        np.array(head.containers, np.uint64),
        np.array(head.common, np.uint64),
        bool(head.flags & WITH_TEXTS),
    )
    for _ in pour(objects, output):
        report("writing", objects.offset / source.length)
    names = None if objects.is_cut else names_of_types(source, objects.offset)
    if names is None:
        return objects.offset
    output.write(struct.pack(">I", len(names[0])))
    for address, name in names[0].items():
        output.write(struct.pack(">Q", address) + _text(name))
    output.write(MAGIC[:8])
    return None


class _Copy:
    """Reads what stands before the objects, and writes what it has read."""

    def __init__(self, source: Source) -> None:
        self._reader = Reader(source, len(MAGIC))
        self._out = bytearray(MAGIC)

    def head(self, *, keeps_time: bool) -> bytes:
        """The header, with the flags that say that there are no texts."""
        created = self._reader.text()
        self._out += _text(created if keeps_time else "")
        self._reader.unpack("Q")
        self._out += struct.pack(">Q", REMOVED_FLAG)
        self._rows(self._named)
        self._rows(self._thread)
        self._rows(self._text)
        self._rows(self._common)
        self._number("I")
        return bytes(self._out)

    def _number(self, form: str) -> int:
        number = int(self._reader.unpack(form))
        self._out += struct.pack(f">{form}", number)
        return number

    def _text(self) -> None:
        self._out += _text(self._reader.text())

    def _rows(self, row: Callable[[], None]) -> None:
        count = self._reader.count()
        self._out += struct.pack(">I", count)
        for _ in range(count):
            row()

    def _named(self) -> None:
        self._text()
        self._number("Q")

    def _thread(self) -> None:
        self._text()
        self._out += bytes(min(each, 1) for each in self._reader.bytes(2))
        self._rows(self._frame)

    def _frame(self) -> None:
        self._text()
        self._number("I")
        self._text()
        self._rows(self._named)

    def _common(self) -> None:
        self._number("Q")
        self._rows(self._attribute)

    def _attribute(self) -> None:
        length = self._reader.unpack("h")
        if length < 0:
            # the number of a name that is abbreviated
            self._out += struct.pack(">h", length)
        else:
            self._out += _text(self._reader.bytes(length).decode("utf-8", "replace"))
        self._number("Q")


def _text(text: str) -> bytes:
    encoded = text.encode("utf-8", "replace")[:0x7FFF]
    return struct.pack(">H", len(encoded)) + encoded

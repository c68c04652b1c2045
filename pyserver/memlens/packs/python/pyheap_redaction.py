"""PyHeap's dumps: the objects' representations are left out, as PyHeap does where it is to write none, and with a
mapping names of the program become others.

Addresses are drawn anew, and objects written in another order (see the kernel ``pyheap_redaction``). The marks are bits
of the flags in the header. What stands before and after the objects is decoded and written again.
"""

import re
import struct
from collections.abc import Callable
from functools import cache

import numpy as np

from memlens.formats.containers import Source
from memlens.formats.redacted import Wanted
from memlens.formats.redaction.output import Output, pour
from memlens.formats.redaction.own_names import OwnNames
from memlens.formats.scanning import run_through
from memlens.kernels.base.random import permutation
from memlens.packs.python.kernels import pyheap_redaction as kernel
from memlens.packs.python.own_names import names_of_python, python_names
from memlens.packs.python.pyheap import (
    MAGIC,
    MOST_REDIRECTED,
    REDIRECTED_FLAG,
    REDIRECTED_SHIFT,
    REMOVED_FLAG,
    WITH_TEXTS,
    Head,
    Reader,
    names_of_types,
)
from memlens.packs.python.thread_names import ThreadNames
from memlens.progress import Report, part_of

_SURVEYED = 0.5
_REMOVED = "removed"
_VARIABLE = re.compile(r"\.\d{1,3}|[^\W\d]\w*")
"""A variable's name, also that of an argument that the language makes."""

_KINDS = {
    "int": kernel.NUMBER, "str": kernel.TEXT, "bytes": kernel.TEXT, "bool": kernel.FLAG, "EnumMeta": kernel.ENUM,
    "EnumType": kernel.ENUM, "ChoicesMeta": kernel.ENUM, "ChoicesType": kernel.ENUM,
}  # fmt: skip


def redact(
    source: Source, output: Output, wanted: Wanted, report: Report, mapping: list[str] | None = None
) -> int | None:
    """Write the dump; return the offset where it breaks, None if it is whole."""
    source.unpack()
    head = Head.of(source)
    objects = kernel.PyHeap(
        source.data,
        head.end,
        head.count,
        np.array(head.containers, np.uint64),
        np.array(head.common, np.uint64),
        bool(head.flags & WITH_TEXTS),
        wanted.keeps_shared,
    )
    objects.know(names_of_python())
    objects.abbreviate(name.encode() for name in head.frequent)
    survey = part_of(report, 0.0, _SURVEYED)
    _run(objects, source, survey, head.end)
    found = None if objects.is_cut else names_of_types(source, objects.objects_end)
    names = found[0] if found else {}
    named = {own: name for name, own in head.known.items()} | names
    objects.classify({own: _KINDS.get(name.rpartition(".")[2], 0) for own, name in named.items()})
    while objects.stage != kernel.WRITE:
        _run(objects, source, survey, head.end)
    own = None if mapping is None else python_names()
    if own is not None:
        objects.rename(_in_utf8(own))
    output.write(_Copy(source, objects, wanted, own).head())
    report = part_of(report, _SURVEYED, 1.0)
    written = 0
    for count in pour(objects, output):
        written += count
        source.release(source.length)
        report("writing", min(written / source.length, 1.0))
    if objects.has_failed:
        raise MemoryError
    if found is not None:
        _write_types(names, objects, own, output)
    if mapping is not None and own is not None:
        mapping += own.mapping()
    return objects.objects_end if found is None else None


def _write_types(names: dict[int, str], objects: kernel.PyHeap, own: OwnNames | None, output: Output) -> None:
    """Write the names of types by their addresses, with which the file ends, in a random order."""
    output.write(struct.pack(">I", len(names)))
    found = list(names.items())
    for each in np.asarray(permutation(len(found))).tolist():
        address, name = found[each]
        output.write(struct.pack(">Q", objects.place(address, False)) + _text(own(name) if own else name))
    output.write(MAGIC[:8])


def _in_utf8(own: OwnNames) -> Callable[[bytes], bytes]:
    """What replaces the names of attributes, each once."""

    @cache
    def renamed(name: bytes) -> bytes:
        return own(name.decode("utf-8", "replace")).encode("utf-8", "replace")

    return renamed


def _run(objects: kernel.PyHeap, source: Source, report: Report, start: int) -> None:
    if run_through(objects, source, report, start) != kernel.OK:
        raise MemoryError


class _Copy:
    """Reads what stands before the objects, and writes what it has read."""

    def __init__(self, source: Source, objects: kernel.PyHeap, wanted: Wanted, own: OwnNames | None) -> None:
        self._reader = Reader(source, len(MAGIC))
        self._out = bytearray(MAGIC)
        self._objects, self._wanted = objects, wanted
        self._own = own
        self._new_name = ThreadNames()

    def head(self) -> bytes:
        """The header, with the flags that say that there are no texts."""
        created = self._reader.text()
        self._out += _text(created if self._wanted.keeps_time else "")
        self._reader.unpack("Q")
        flags, flags_at = REMOVED_FLAG, len(self._out)
        self._out += bytes(8)
        self._rows(self._type)
        self._rows(self._thread)
        kept = iter(self._objects.kept_names())
        self._rows(lambda: self._word(is_kept=next(kept)))
        self._rows(self._common)
        self._number("I")
        if not self._wanted.keeps_shared:
            flags |= REDIRECTED_FLAG | min(self._objects.redirected, MOST_REDIRECTED) << REDIRECTED_SHIFT
        struct.pack_into(">Q", self._out, flags_at, flags)
        return bytes(self._out)

    def _number(self, form: str) -> int:
        number = int(self._reader.unpack(form))
        self._out += struct.pack(f">{form}", number)
        return number

    def _address(self, *, is_reference: bool) -> None:
        self._out += struct.pack(">Q", self._objects.place(int(self._reader.unpack("Q")), is_reference))

    def _text(self) -> None:
        self._name(self._reader.text())

    def _name(self, name: str) -> None:
        self._out += _text(name if self._own is None else self._own(name))

    def _rows(self, row: Callable[[], None]) -> None:
        count = self._reader.count()
        self._out += struct.pack(">I", count)
        for _ in range(count):
            row()

    def _type(self) -> None:
        self._text()
        self._address(is_reference=False)

    def _thread(self) -> None:
        name = self._reader.text()
        self._name(name if self._wanted.keeps_threads else self._new_name(name))
        self._out += bytes(min(each, 1) for each in self._reader.bytes(2))
        self._rows(self._frame)

    def _frame(self) -> None:
        self._text()
        self._number("I")
        function = self._reader.text()
        self._name(function)
        self._rows(self._global if function == "<module>" else self._local)

    def _word(self, *, is_kept: bool) -> None:
        """A name that data may have made, unless it ``is_kept`` or the standard library has it."""
        name = self._reader.text()
        self._name(name if is_kept or name.encode() in names_of_python() else _REMOVED)

    def _global(self) -> None:
        """A variable of a module, which data may have named."""
        self._word(is_kept=False)
        self._address(is_reference=True)

    def _local(self) -> None:
        """A variable of a function, which code has named if it is called as code calls one."""
        name = self._reader.text()
        self._name(name if _VARIABLE.fullmatch(name) else _REMOVED)
        self._address(is_reference=True)

    def _common(self) -> None:
        self._address(is_reference=False)
        self._rows(self._attribute)

    def _attribute(self) -> None:
        length = self._reader.unpack("h")
        if length < 0:
            # the number of a name that is abbreviated
            self._out += struct.pack(">h", length)
        else:
            # of a type of the language's
            name = self._reader.bytes(length).decode("utf-8", "replace")
            self._name(name if name.encode() in names_of_python() else _REMOVED)
        self._address(is_reference=True)


def _text(text: str) -> bytes:
    encoded = text.encode("utf-8", "replace")[:0x7FFF]
    return struct.pack(">H", len(encoded)) + encoded

"""What the texts of a Java heap dump name, and the other texts that they get."""

import random
import re
from collections.abc import Callable, Collection, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from memlens.arrays import U64
from memlens.formats.containers import Source
from memlens.packs.jvm.kernels import hprof, hprof_redaction, hprof_survey
from memlens.packs.jvm.new_names import NewNames, is_runtimes

_INSTANCE, _ARRAY = 0x21, 0x23
_BYTE = 8
_CHARS = "utf-16-be"
_TYPES = {
    2: "java.lang.Object", 4: "boolean", 5: "char", 6: "float", 7: "double", 8: "byte", 9: "short", 10: "int",
    11: "long",
}  # fmt: skip
_WIDTHS = {4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}
_HIDDEN = re.compile(r"(?<=[+/.])0x[0-9a-fA-F]+(?=$|;|\[)")
"""The address of a hidden class in the name that HotSpot makes for it: ``Main$$Lambda$14+0x00007f41800075b0``."""

_OF_THE_RUNTIME = re.compile(
    r"main|Finalizer|Reference Handler|Signal Dispatcher|Common-Cleaner|Attach Listener|Service Thread|DestroyJavaVM"
    r"|Monitor Deflation Thread|Notification Thread|C[12] CompilerThread[0-9]{1,3}|Thread-[0-9]{1,3}"
    r"|(?:ReferenceQueue|Finalizer|FinalizerWatchdog|HeapTask|HeapTrimmer|GC)Daemon"
    r"|Timer-[0-9]{1,3}|pool-[0-9]{1,3}-thread-[0-9]{1,3}"
    r"|ForkJoinPool(?:-[0-9]{1,3}|\.commonPool)-worker-[0-9]{1,3}"
)
"""Names of threads that the runtime itself gives. A program may give them, too, with a number of its data instead of a
count, so that none of more than three digits stays."""


class _Member(NamedTuple):
    class_id: int
    name: int
    type: int


class _Frame(NamedTuple):
    method: int
    signature: int
    file: int
    class_serial: int


def rename(
    dump: hprof_redaction.Redaction, named: "Named", source: Source, kept: U64, hidden: Callable[[str], str]
) -> Iterator[str]:
    """Give other names to what is the program's own; returns the lines of the mapping that leads back.

    ``kept`` are the offsets of the records of threads' names, and ``hidden`` replaces the addresses in names.
    """
    names = NewNames(named.kept(), hidden)
    new = named.renamed(names)
    rows = [(number, b"" if own == named.text(number) else own.encode()) for number, own in new.items()]
    dump.rename(*_joined(rows))
    strings = _Strings(source, named)
    dump.replace(*_joined(list(strings.arrays(kept.tolist(), names))))
    return names.mapping()


def rename_threads(dump: hprof_redaction.Redaction, named: "Named", source: Source, kept: U64) -> None:
    """Give other names to the threads alone, but for those that the runtime names."""
    strings = _Strings(source, named)
    dump.replace(*_joined(list(strings.arrays(kept.tolist(), NewNames(set())))))


def number_hidden(dump: hprof_redaction.Redaction, named: "Named", hidden: Callable[[str], str]) -> None:
    """Replace the addresses in names of classes that the runtime made, and no other name."""
    rows = [(number, hidden(name).encode()) for number, name in named.hidden().items()]
    dump.rename(*_joined(rows), others_stay=True)


def hidden_numbers(named: "Named") -> Callable[[str], str]:
    """Return a function that replaces the addresses in names of hidden classes by random numbers."""
    found = sorted({found[0] for name in named.hidden().values() for found in _HIDDEN.finditer(name)})
    numbers = random.SystemRandom().sample(range(1, len(found) + 1), len(found))
    # as long as an address is, so that these names are known as such
    new = {address: f"0x{number:016x}" for address, number in zip(found, numbers, strict=True)}
    return lambda name: _HIDDEN.sub(lambda found: new.get(found[0], found[0]), name)


class Named:
    """What a dump names by the ids of texts. Classes and frames are moved out of ``records``."""

    def __init__(self, dump: hprof_redaction.Redaction, records: hprof.Records) -> None:
        self._records, self.id_bytes = records, records.id_bytes
        self._texts: dict[int, str] = {}
        self._loads: list[list[int]] = np.asarray(records.take_loads()).reshape(-1, 3).tolist()
        self._frame_rows: U64 = np.asarray(records.take_frames()[1]).reshape(-1, 4)
        self._member_rows: U64 = np.asarray(dump.take_members()).reshape(-1, 3)

    # most of this is asked for only if names are replaced

    @cached_property
    def members(self) -> list[_Member]:
        """The fields of all classes, and the names of heaps."""
        return [_Member(*row) for row in self._member_rows.tolist()]

    @cached_property
    def _frames(self) -> list[_Frame]:
        rows = self._frame_rows.tolist()
        return [
            _Frame(method, signature, file, place & 0xFFFF_FFFF) for method, signature, file, place in rows
        ]

    @cached_property
    def _by_id(self) -> dict[int, str]:
        return {number: self.text(name) for number, name, _ in self._loads}

    @cached_property
    def _by_serial(self) -> dict[int, str]:
        return {serial: self.text(name) for _, name, serial in self._loads}

    def text(self, number: int) -> str:
        """The text with an id."""
        if number not in self._texts:
            self._texts[number] = self._records.text(number)
        return self._texts[number]

    def hidden(self) -> dict[int, str]:
        """The names of classes with an address in them, by the ids of these texts."""
        names = {name: self.text(name) for _, name, _ in self._loads}
        return {number: name for number, name in names.items() if "0x" in name and _HIDDEN.search(name)}

    def fields(self, class_ids: Collection[int]) -> dict[int, list[_Member]]:
        """The instance fields of some classes."""
        found: dict[int, list[_Member]] = {}
        are_asked_for = np.isin(self._member_rows[:, 0], np.array([*class_ids], np.uint64))
        for row in self._member_rows[are_asked_for].tolist():
            if not (member := _Member(*row)).type & hprof_survey.STATIC:
                found.setdefault(member.class_id, []).append(member)
        return found

    def kept(self) -> set[str]:
        """Texts that name something of the runtime's, or a heap."""
        # heaps are of no class
        ids = {0} | {number for number, name in self._by_id.items() if is_runtimes(name)}
        serials = {serial for serial, name in self._by_serial.items() if is_runtimes(name)}
        found = {self.text(each.name) for each in self.members if each.class_id in ids}
        for frame in self._frames:
            if frame.class_serial in serials:
                found |= {self.text(frame.method), self.text(frame.file)}
        return found

    def renamed(self, names: NewNames) -> dict[int, str]:
        """The texts that stay and the others' new ones, by the ids of all that name something."""
        text, new = self.text, {}
        for _, name, _ in self._loads:
            new[name] = names.class_name(text(name))
        for each in self.members:
            owner, kind = self._by_id.get(each.class_id, ""), each.type & ~hprof_survey.STATIC
            new[each.name] = names.field(owner, text(each.name), _TYPES.get(kind, "java.lang.Object"))
        for frame in self._frames:
            owner = self._by_serial.get(frame.class_serial, "")
            new[frame.method] = names.method(owner, text(frame.method), text(frame.signature))
            new[frame.file] = names.file(owner, text(frame.file))
            signature = names.signature(text(frame.signature))
            if signature is not None:
                new[frame.signature] = signature
        return new


def _joined(rows: list[tuple[int, bytes]]) -> tuple[U64, U64, bytes]:
    numbers = np.array([number for number, _ in rows], np.uint64)
    ends = np.cumsum([len(data) for _, data in rows], dtype=np.uint64)
    return numbers, ends, b"".join(data for _, data in rows)


class _Strings:
    """The strings among some records, as their classes lay them out."""

    def __init__(self, source: Source, named: Named) -> None:
        self._source, self._named, self._id_bytes = source, named, named.id_bytes
        self._fields: dict[int, list[_Member]] = {}

    def arrays(self, offsets: list[int], names: NewNames) -> Iterator[tuple[int, bytes]]:
        """The arrays among the records at ``offsets``, with the new names of threads for their elements."""
        data, width = self._source.data, self._id_bytes
        strings = [offset for offset in offsets if data[offset] == _INSTANCE]
        self._fields = self._named.fields({self._class_id(offset) for offset in strings})
        wide = {self._value(offset) for offset in strings}
        for offset in sorted({offset for offset in offsets if data[offset] == _ARRAY}):
            at = offset + 1 + width
            count, kind, start = self._number(at + 4, 4), data[at + 8], at + 9
            elements = data[start : start + count * _WIDTHS[kind]]
            form = (
                _CHARS
                if kind != _BYTE
                else "utf-16-le"
                if (self._number(offset + 1, width)) in wide
                else "latin-1"
            )
            name = elements.decode(form, "replace")
            if _OF_THE_RUNTIME.fullmatch(name) is None:
                name = names.thread(name, count)
            elif form == "utf-16-le":
                name = name.ljust(count)
            yield offset, name.encode(_CHARS if kind != _BYTE else "latin-1")

    def _value(self, offset: int) -> int:
        """The array of a string whose elements are of two bytes each; 0 for another string."""
        width = self._id_bytes
        at = offset + 1 + width + 4
        found, coder = 0, 0
        for member in self._fields.get(self._class_id(offset), ()):
            name = self._named.text(member.name)
            if name == "value":
                found = self._number(at + width + 4, width)
            elif name == "coder":
                coder = self._number(at + width + 4, 1)
            at += _WIDTHS.get(member.type, width)
        return found if coder else 0

    def _class_id(self, offset: int) -> int:
        return self._number(offset + 1 + self._id_bytes + 4, self._id_bytes)

    def _number(self, at: int, width: int) -> int:
        return int.from_bytes(self._source.data[at : at + width], "big")

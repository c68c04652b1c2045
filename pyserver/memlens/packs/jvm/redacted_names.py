"""What the texts of a Java heap dump name, and the other texts that they get."""

import random
import re
from collections.abc import Callable, Iterable, Iterator
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
    r"|Monitor Deflation Thread|Notification Thread|C[12] CompilerThread[0-9]+|Thread-[0-9]+"
    r"|(?:ReferenceQueue|Finalizer|FinalizerWatchdog|HeapTask|HeapTrimmer|GC)Daemon"
    r"|Timer-[0-9]+|pool-[0-9]+-thread-[0-9]+|ForkJoinPool(?:-[0-9]+|\.commonPool)-worker-[0-9]+"
)
"""Names of threads that the runtime itself gives."""


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
    new = {number: hidden(name) for number, name in named.classes()}
    rows = [(number, name.encode()) for number, name in new.items() if name != named.text(number)]
    dump.rename(*_joined(rows), others_stay=True)


def hidden_numbers(names: Iterable[str]) -> Callable[[str], str]:
    """Return a function that replaces the addresses in names of hidden classes by random numbers."""
    found = sorted({found[0] for name in names for found in _HIDDEN.finditer(name)})
    numbers = random.SystemRandom().sample(range(1, len(found) + 1), len(found))
    # as long as an address is, so that these names are known as such
    new = {address: f"0x{number:016x}" for address, number in zip(found, numbers, strict=True)}
    return lambda name: _HIDDEN.sub(lambda found: new.get(found[0], found[0]), name)


class Named:
    """What a dump names by the ids of texts. Classes and frames are moved out of ``records``."""

    def __init__(self, dump: hprof_redaction.Redaction, records: hprof.Records) -> None:
        self._records, self.id_bytes = records, records.id_bytes
        self._texts: dict[int, str] = {}
        self._loads = np.asarray(records.take_loads()).reshape(-1, 3).tolist()
        rows = np.asarray(records.take_frames()[1]).reshape(-1, 4).tolist()
        self._frames = [
            _Frame(method, signature, file, place & 0xFFFF_FFFF) for method, signature, file, place in rows
        ]
        self.members = [_Member(*row) for row in np.asarray(dump.take_members()).reshape(-1, 3).tolist()]
        self._by_id = {number: self.text(name) for number, name, _ in self._loads}
        self._by_serial = {serial: self.text(name) for _, name, serial in self._loads}
        # heaps are of no class
        self._ids_kept = {0} | {number for number, name in self._by_id.items() if is_runtimes(name)}
        self._serials_kept = {serial for serial, name in self._by_serial.items() if is_runtimes(name)}

    def text(self, number: int) -> str:
        """The text with an id."""
        if number not in self._texts:
            self._texts[number] = self._records.text(number)
        return self._texts[number]

    def classes(self) -> Iterator[tuple[int, str]]:
        """The texts that name classes, by their ids."""
        for _, name, _ in self._loads:
            yield name, self.text(name)

    def kept(self) -> set[str]:
        """Texts that name something of the runtime's, or a heap."""
        found = {self.text(each.name) for each in self.members if each.class_id in self._ids_kept}
        for frame in self._frames:
            if frame.class_serial in self._serials_kept:
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
        self._source, self._id_bytes = source, named.id_bytes
        self._fields: dict[int, list[tuple[str, int]]] = {}
        for each in named.members:
            if each.class_id and not each.type & hprof_survey.STATIC:
                self._fields.setdefault(each.class_id, []).append((named.text(each.name), each.type))

    def arrays(self, offsets: list[int], names: NewNames) -> Iterator[tuple[int, bytes]]:
        """The arrays among the records at ``offsets``, with the new names of threads for their elements."""
        data, width = self._source.data, self._id_bytes
        wide = {self._value(offset) for offset in offsets if data[offset] == _INSTANCE}
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
        for name, kind in self._fields.get(self._number(at, width), ()):
            if name == "value":
                found = self._number(at + width + 4, width)
            elif name == "coder":
                coder = self._number(at + width + 4, 1)
            at += _WIDTHS.get(kind, width)
        return found if coder else 0

    def _number(self, at: int, width: int) -> int:
        return int.from_bytes(self._source.data[at : at + width], "big")

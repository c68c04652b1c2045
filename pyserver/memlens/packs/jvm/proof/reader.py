"""Heap dumps of Java and Android, read plainly: their records, classes, fields and arrays."""

import re
import struct
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memlens.arrays import F64, U64
from memlens.packs.jvm.proof.records import (
    CLASS,
    INSTANCE,
    MOST_ARRAYS,
    NUMBERS,
    OBJECT,
    OBJECTS,
    PIECE_BYTES,
    TYPES,
    Piece,
    Records,
)  # fmt: skip
from memlens.proof.items import (
    LEAST_NUMBER,
    MOST_TEXT_BYTES,
    Item,
    Keeps,
    Reason,
    by_reason,
    decoded,
    is_long,
    number_of,
    wanted_rows,
)

_ENCODINGS = {5: ("utf-16-be",), 8: ("utf-8", "latin-1", "utf-16-le", "utf-16-be"), 10: ("utf-32-be",)}
_MARK = b"removed by Memlens: "
_NOTES = 16
_NUMBERS_NOTED = re.compile(rb"\d{1,20}(?: \d{1,20})*")
_STATUS = ("java/lang/Thread", "java/lang/Thread$FieldHolder")
_THREAD, _STRING = "java/lang/Thread", "java/lang/String"
_RUNTIMES_THREAD = re.compile(
    r"main|(?:Thread|thread|Timer)-\d+|pool-\d+-thread-\d+|ForkJoinPool(?:-\d+|\.commonPool)-worker-\d+"
    r"|Finalizer|FinalizerDaemon|FinalizerWatchdogDaemon|ReferenceQueueDaemon|HeapTaskDaemon|Signal Catcher"
    r"|Reference Handler|Signal Dispatcher|Attach Listener|DestroyJavaVM|Common-Cleaner|Notification Thread"
    r"|Service Thread|Monitor Deflation Thread|C[12] CompilerThread\d+|Sweeper thread|process reaper"
)
"""Names of threads that the runtime gives, or the redactor."""

_HIDDEN = re.compile(r"0x0*[1-9a-f][0-9a-f]{6,}(?=$|;|\[)", re.IGNORECASE)
"""An address in a name, as a class has that the runtime made; a copy has smaller numbers there."""

_RUN = 32
"""Length of the runs of texts whose order is compared; runs with few distinct lengths are skipped."""
_LEAST_DIFFERENT = 8
_LEAST_ADDRESS_BITS = 24
_MOST_IDS = 10_000
"""Limit on the texts of a copy whose ids are examined."""

_MOST_SUPERCLASSES = 1_000
_ROOT_JNI_GLOBAL, _ROOT_THREAD = 0x01, 0x08
_OF_THREADS = (0x02, 0x03, 0x04, 0x06, _ROOT_THREAD, 0x8E)
"""The tags of roots that have a thread's number."""

_NO_FRAME = 0xFFFF_FFFF
_WITHOUT_DATA = 0xC3
_OBJECT_TAGS = (CLASS, INSTANCE, OBJECTS, NUMBERS, _WITHOUT_DATA)


class _Field(NamedTuple):
    at: int
    type: int
    name: str
    owner: str


def recognises(head: bytes) -> bool:
    """Whether the first bytes of a file are those of HPROF."""
    return head.startswith(b"JAVA PROFILE")


class HprofReader(Records):
    """Reads one dump. Texts, classes and the ids of what leads to names of threads are in memory."""

    def __init__(self, path: Path, keeps: Keeps) -> None:
        super().__init__(path, keeps)
        self._layouts: dict[int, tuple[list[_Field], int]] = {}
        self._threads: set[int] | None = None

    def listed(self) -> Iterator[tuple[Reason, Iterable[str]]]:
        """The names of a copy, in which all that may be text in arrays are names of threads: read in one pass."""
        return by_reason(self.names() if len(self.arrays) > MOST_ARRAYS else self._of_copy())

    def _of_copy(self) -> Iterator[Item]:
        yield from self._named_texts()
        for kind, data, at in self.arrays:
            for text in decoded(data, _ENCODINGS.get(kind, ()))[:1]:
                yield Item("name", "threads", text, at)

    def _named_texts(self) -> Iterator[Item]:
        for number, reason in self.reasons.items():
            if found := self.texts.get(number):
                symbol, at = found
                yield Item("name", reason, symbol.decode("utf-8", "replace"), at)

    def names(self) -> Iterator[Item]:
        """The texts that name something, and the names of threads."""
        yield from self._named_texts()
        ids = np.array(sorted(self._thread_names), np.uint64)
        for piece in self.heap():
            rows = piece.rows[piece.rows[:, 0] == NUMBERS]
            for _, _, kind, at, size, _ in rows[np.isin(rows[:, 1], ids)].tolist():
                if at + size <= len(piece.data):
                    data = piece.data[at : at + size]
                    for text in decoded(data, _ENCODINGS.get(kind, ())):
                        yield Item("name", "threads", text, piece.base + at)

    def contents(self, numbers: F64 | None) -> Iterator[Item]:
        """Fields, elements, constants, texts that name nothing, and what the format doesn't have."""
        for piece in self.heap():
            self._take_roots(piece)
            self._take_stacks(piece)
        yield from self.surplus
        if not self.keeps.shared:
            for each in self.classes.values():
                if found := _HIDDEN.search(each.name):
                    yield Item("text", "address in the name of a class", found[0], 0)
            yield from self._order_of_texts(is_copy=numbers is None)
        for number, symbol, at in self.texts.items():
            if number not in self.reasons and symbol.strip(b"x") and not self._is_note(number, symbol):
                yield Item("text", "text that names nothing", symbol.decode("utf-8", "replace"), at)
        for each in self.classes.values():
            for name, kind, data, at in each.statics:
                if kind != OBJECT:
                    yield from self._values(
                        kind, data, f"static field {each.name.replace('/', '.')}.{name}", at, numbers
                    )
        ids = self._ids()
        for piece in self.heap():
            yield from self._arrays(piece, numbers)
            yield from self._instances(piece, numbers, ids)
            yield from self._references(piece, ids)

    def _order_of_texts(self, *, is_copy: bool) -> Iterator[Item]:
        """The lengths of texts in a row: of a copy each row, of its original from any text on; and their ids."""
        kept, count = deque[int](maxlen=_RUN), 0
        for number, symbol, at in self.texts.items():
            if number not in self.reasons:
                continue
            count += 1
            kept.append(min(len(symbol), 0xFFFF))
            if number >> _LEAST_ADDRESS_BITS and (not is_copy or count <= _MOST_IDS):
                yield Item("text", "id of a text", hex(number), at)
            if count >= _RUN and not (is_copy and count % _RUN) and len({*kept}) >= _LEAST_DIFFERENT:
                yield Item("array", "order of texts", struct.pack(f"{_RUN}H", *kept), at)

    # ---- numbers that the writer chose --------------------------------------------------------------------------

    def _take_roots(self, piece: Piece) -> None:
        """Take the threads of roots, and their frames or stacks."""
        for tag, _, _, at, size, _ in piece.rows[np.isin(piece.rows[:, 0], _OF_THREADS)].tolist():
            found = struct.unpack_from(f">{size // 4}I", piece.data, at)
            self.number("thread", found[0], piece.base + at)
            if tag == _ROOT_THREAD:
                self.number("stack", found[1], piece.base + at, is_reference=True)
            elif len(found) > 1 and LEAST_NUMBER <= found[1] < _NO_FRAME:
                self.surplus.append(Item("number", "frame of a root", str(found[1]), piece.base + at))

    def _take_stacks(self, piece: Piece) -> None:
        """Take the numbers of stacks that objects have."""
        tags, starts = piece.rows[:, 0], piece.rows[:, 3].astype(np.intp)
        behind = np.select(
            [tags == CLASS, np.isin(tags, (INSTANCE, OBJECTS)), np.isin(tags, (NUMBERS, _WITHOUT_DATA))],
            [self.id_bytes, -self.id_bytes - 8, -9],
        )
        rows = np.flatnonzero(behind)
        data = np.frombuffer(piece.data, np.uint8)
        columns = data[(starts + behind)[rows, None] + np.arange(4)]
        serials, first = np.unique(np.ascontiguousarray(columns).view(">u4"), return_index=True)
        for serial, row in zip(serials.tolist(), first.tolist(), strict=True):
            if serial >= LEAST_NUMBER:
                self.number("stack", serial, piece.base + int(starts[rows[row]]), is_reference=True)

    # ---- the heap ----------------------------------------------------------------------------------------------

    def _arrays(self, piece: Piece, numbers: F64 | None) -> Iterator[Item]:
        rows = piece.rows
        chosen = rows[(rows[:, 0] == NUMBERS) & (rows[:, 5] != 0)]
        for _, own, kind, at, size, _ in chosen.tolist():
            if own in self._thread_names:
                yield from self._thread(kind, piece, at, size)
                continue
            name, form = TYPES[kind]
            data = piece.data[at : at + min(size, PIECE_BYTES)]
            if self.keeps.numbers and name not in ("byte", "char", "int"):
                continue
            if not data.strip(b"\0"):
                continue
            where, place = piece.base + at, f"array of {name}"
            yield Item("array", place, data, where)
            if len(data) <= MOST_TEXT_BYTES:
                for text in decoded(data, _ENCODINGS.get(kind, ("utf-8",))):
                    yield Item("text", place, text, where)
            if kind not in (4, 8):
                yield from self._values(kind, data[: len(data) // np.dtype(form).itemsize * np.dtype(form).itemsize],
                                        f"element of an {place}", where, numbers)  # fmt: skip

    def _is_note(self, number: int, text: bytes) -> bool:
        """Whether a text is a note in a redacted copy, with an id beyond those of objects: the mark, or numbers."""
        is_beyond = number >= (1 << 8 * self.id_bytes) - _NOTES
        return is_beyond and (text.startswith(_MARK) or _NUMBERS_NOTED.fullmatch(text) is not None)

    def _thread(self, kind: int, piece: Piece, at: int, size: int) -> Iterator[Item]:
        """A name that the program gave a thread, unless these stay."""
        texts = decoded(piece.data[at : at + min(size, MOST_TEXT_BYTES)], _ENCODINGS.get(kind, ()))
        if not self.keeps.threads and not any(map(_RUNTIMES_THREAD.fullmatch, texts)):
            for text in texts[:1]:
                yield Item("text", "name of a thread", text, piece.base + at)

    def _ids(self) -> U64:
        """The ids of all objects, ascending."""
        parts = [piece.rows[np.isin(piece.rows[:, 0], _OBJECT_TAGS), 1] for piece in self.heap()]
        return np.unique(
            np.concatenate([np.zeros(1, np.uint64), *parts, np.array([*self.names_of_classes], np.uint64)])
        )

    def _references(self, piece: Piece, ids: U64) -> Iterator[Item]:
        """Elements that are ids of no object, and the addresses of references from native code."""
        rows = piece.rows
        for _, _, _, at, size, _ in rows[(rows[:, 0] == OBJECTS) & (rows[:, 5] != 0)].tolist():
            data = piece.data[at : at + size // self.id_bytes * self.id_bytes]
            elements = np.frombuffer(data[: len(data) // self.id_bytes * self.id_bytes], self._id_form)
            yield from self._dangling(
                elements.astype(np.uint64), ids, "element that is no object's id", piece.base + at
            )
        for _, _, _, at, _, _ in rows[rows[:, 0] == _ROOT_JNI_GLOBAL].tolist():
            if address := self.id(piece.data[at:]):
                yield Item("number", "address of a reference from native code", str(address), piece.base + at)

    def _dangling(self, found: U64, ids: U64, place: str, at: int) -> Iterator[Item]:
        # an object that is gone had an id like the others; a text's bytes or a number in its place seldom are
        for row in np.flatnonzero(found // 2 > ids[-1]).tolist():
            yield Item("number", place, str(int(found[row])), at + row * self.id_bytes)

    @property
    def _id_form(self) -> str:
        return f">u{self.id_bytes}"

    def _instances(self, piece: Piece, numbers: F64 | None, ids: U64) -> Iterator[Item]:
        rows = piece.rows[(piece.rows[:, 0] == INSTANCE) & (piece.rows[:, 5] != 0)]
        data = np.frombuffer(piece.data, np.uint8)
        for own in np.unique(rows[:, 2]).tolist():
            of_class = rows[rows[:, 2] == own]
            layout, size = self._layout(own)
            is_known = of_class[:, 4] == size if size else np.zeros(len(of_class), np.bool_)
            for _, _, _, at, length, _ in of_class[~is_known].tolist():
                if length:
                    bytes_ = piece.data[at : at + min(length, MOST_TEXT_BYTES)]
                    yield Item(
                        "unknown", "fields of an object whose class is unknown", bytes_, piece.base + at
                    )
            starts = of_class[is_known][:, 3].astype(np.intp)
            starts = starts[starts + size <= len(data)]
            for at, kind, name, owner in layout:
                if kind == OBJECT:
                    columns = data[(starts + at)[:, None] + np.arange(self.id_bytes)]
                    targets = np.ascontiguousarray(columns).view(self._id_form).ravel().astype(np.uint64)
                    yield from self._dangling(targets, ids, "field that is no object's id", piece.base)
                    continue
                if self.keeps.numbers and name != "hash":
                    continue
                if name == "threadStatus" and owner in _STATUS:
                    continue
                form = np.dtype(TYPES[kind][1])
                columns = data[(starts + at)[:, None] + np.arange(form.itemsize)]
                values = np.ascontiguousarray(columns).view(form).ravel().astype(np.float64)
                exact = np.ascontiguousarray(columns).view(form).ravel()
                for row in wanted_rows(values, numbers).tolist():
                    number = number_of(exact[row].item())
                    if is_long(number):
                        yield Item("number", f"field {owner.replace('/', '.')}.{name}", number,
                                   piece.base + int(starts[row]) + at)  # fmt: skip

    def _values(self, kind: int, data: bytes, place: str, where: int, numbers: F64 | None) -> Iterator[Item]:
        if kind not in TYPES or kind == OBJECT:
            return
        if self.keeps.numbers and not place.startswith("element of an array of"):
            return
        exact = np.frombuffer(data, TYPES[kind][1])
        for row in wanted_rows(exact.astype(np.float64), numbers).tolist():
            number = number_of(exact[row].item())
            if is_long(number):
                yield Item("number", place, number, where + row * exact.itemsize)

    # ---- names of threads --------------------------------------------------------------------------------------

    @property
    def _thread_names(self) -> set[int]:
        if self._threads is None:
            self._threads = self._find_threads()
        return self._threads

    def _find_threads(self) -> set[int]:
        """Find the arrays with the names of threads: those of the strings that fields called "name" lead to."""
        threads = {own for own in self.classes if self._is_below(own, _THREAD)}
        strings = {own for own, each in self.classes.items() if each.name.replace(".", "/") == _STRING}
        named = set(self._targets(threads, "name", None))
        return named | set(self._targets(strings, "value", named))

    def _targets(self, classes: set[int], field: str, among: set[int] | None) -> Iterator[int]:
        """The targets of a field of some classes' instances, only those ``among`` some objects if these are given."""
        if not classes or (among is not None and not among):
            return
        places = {own: self._places(own, field) for own in classes}
        wanted = np.array(sorted(classes), np.uint64)
        ids = None if among is None else np.array(sorted(among), np.uint64)
        for piece in self.heap():
            rows = piece.rows[piece.rows[:, 0] == INSTANCE]
            rows = rows[np.isin(rows[:, 2], wanted)]
            if ids is not None:
                rows = rows[np.isin(rows[:, 1], ids)]
            for _, _, own, at, size, _ in rows.tolist():
                for place in places[own]:
                    if place + self.id_bytes <= size:
                        yield self.id(piece.data[at + place :][: self.id_bytes])

    def _places(self, own: int, field: str) -> list[int]:
        """Where instances of a class have a reference of that name, if a class of Java's has it."""
        layout, _ = self._layout(own)
        return [
            each.at
            for each in layout
            if each.name == field and each.type == OBJECT and each.owner.startswith("java")
        ]

    def _is_below(self, own: int, name: str) -> bool:
        for _ in range(_MOST_SUPERCLASSES):
            found = self.classes.get(own)
            if found is None:
                return False
            if found.name.replace(".", "/") == name:
                return True
            own = found.above
        return False

    def _layout(self, own: int) -> tuple[list[_Field], int]:
        """The fields of a class's instances, and the bytes of all of them: none if a class is missing."""
        if own not in self._layouts:
            self._layouts[own] = self._made_layout(own)
        return self._layouts[own]

    def _made_layout(self, own: int) -> tuple[list[_Field], int]:
        found, at = list[_Field](), 0
        for _ in range(_MOST_SUPERCLASSES):
            each = self.classes.get(own)
            if each is None:
                return (found, at) if own == 0 else ([], 0)
            for name, kind in each.fields:
                found.append(_Field(at, kind, self.text(name), each.name))
                at += self.width(kind)
            own = each.above
        return [], 0

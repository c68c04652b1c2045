"""Heap dumps of Ruby: ``ObjectSpace.dump_all``, a JSON object per line.

A line is an object with its internal type ("STRING"), class, size and references, and with the file and line that
allocated it if ``ObjectSpace.trace_object_allocations`` was on; or the roots of one category. References have no
names. Source: ``ext/objspace/objspace_dump.c`` of Ruby.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import U32, Mask
from memlens.formats.containers import Source, plain_source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.redacted import CONTENTS, VALUES, Removed, mark_graph, mark_of
from memlens.formats.scanning import run_through
from memlens.formats.stacks import Numbers, distinct_frames
from memlens.formats.warnings import counted_warnings
from memlens.model.distinct import distinct
from memlens.model.frames import Frames, profiled_frame
from memlens.model.graph import (
    MOST_BYTES,
    NONE,
    ROOT_DTYPE,
    VALUE_KINDS,
    Column,
    Facts,
    Graph,
    Objects,
    ReferenceKind,
    References,
    Types,
    Values,
)
from memlens.model.info import FileWarning
from memlens.model.texts import Texts
from memlens.packs.api import JsonFormat
from memlens.packs.ruby.kernels import ruby_json as kernel
from memlens.progress import Report
from memlens.texts import phrase, plural
from memlens.units import shortened

KIND = "ruby"

KINDS = (
    ReferenceKind("reference", "none"),
    ReferenceKind("class", "none"),
    ReferenceKind("super class", "none"),
)

_MOST_BAD = 0.1
"""The share of lines that may be invalid JSON, because older Rubies don't escape the names of some classes."""

_MOST_SUPERCLASSES = 1_000
_MOST_NAME = 4096
_LONG = VALUE_KINDS.index("long")
_MOST_KINDS, _MOST_DETAILS = 256, 1 << 24

_FIRST = re.compile(
    rb'\{\s*"(?:type"\s*:\s*"ROOT"\s*,\s*"root"'
    rb'|address"\s*:\s*"0x[0-9a-f]{1,16}"\s*,\s*"|references"\s*:\s*\[\s*"0x[0-9a-f])'
)
_BETWEEN = re.compile(r"[\s,\[\]]*")
_MOST_FIRST_BYTES = 1 << 16
_MOST_REWRITTEN_BYTES = 1 << 30
"""The size limit of dumps that a tool rewrote with line breaks: these are decoded in memory."""


def sniff(head: bytes) -> bool:
    """Whether the first line is one of Ruby's objects or roots."""
    return _FIRST.match(head.lstrip()) is not None


def is_object(has: Callable[[str, bytes], bool]) -> bool:
    """Whether a file that is one object of JSON is a dump of one line."""
    return has("type", b'"ROOT"') or has("address", b'"0x')


def is_item(first: Mapping[str, object]) -> bool:
    """Whether an object of JSON is a line of a dump."""
    return first.get("type") == "ROOT" or str(first.get("address")).startswith("0x")


JSON = JsonFormat(sniff=sniff, is_object=is_object, is_item=is_item)


def read(source: Source, scratch: Path, report: Report) -> Graph:
    """Read a dump: see :class:`memlens.formats.Reader`."""
    with in_lines(source, scratch) as lines:
        return _read(lines, report)


@contextmanager
def in_lines(source: Source, scratch: Path) -> Iterator[Source]:
    """Yield the unpacked dump with an object on each line, as Ruby writes it, also if a tool has rewritten it."""
    source.unpack()
    if _is_in_lines(source):
        yield source
        return
    with plain_source(source.path, _lines(source), scratch) as lines:
        lines.truncated = source.truncated
        yield lines


def _is_in_lines(source: Source) -> bool:
    """Whether the first line is a whole object, or so long that it can only be one, as Ruby writes it."""
    line = source.data[:_MOST_FIRST_BYTES].split(b"\n", 1)[0].strip()
    return line.startswith(b"{") and (len(line) == _MOST_FIRST_BYTES or line.endswith(b"}"))


def _lines(source: Source) -> Iterator[bytes]:
    """The objects of a dump that a tool has rewritten as a list, or with line breaks in them, each as a line."""
    if source.length > _MOST_REWRITTEN_BYTES:
        raise NotASnapshotError(
            phrase(
                "The dump was rewritten with line breaks, and is larger than {most} bytes",
                most=_MOST_REWRITTEN_BYTES,
            ),
            advice=phrase("Write an object on each line, as Ruby does: jq -c . FILE"),
        )
    text = bytes(source.data).decode("utf-8", "replace")
    decoder, at = json.JSONDecoder(), 0
    while True:
        blank = _BETWEEN.match(text, at)
        at = blank.end() if blank else at
        if at == len(text):
            return
        try:
            item, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            source.truncated = True
            return
        at = end
        yield json.dumps(item).encode() + b"\n"


def _read(source: Source, report: Report) -> Graph:
    marks = {each: mark_line(each) for each in (VALUES, CONTENTS)}
    removed = next((each for each, mark in marks.items() if source.data[: len(mark)] == mark), None)
    lines = kernel.Lines(source.data, len(marks[removed]) if removed else 0)
    if run_through(lines, source, report) != kernel.OK or lines.link() != kernel.OK:
        raise MemoryError
    if lines.bad_lines > _MOST_BAD * (lines.bad_lines + lines.good_lines):
        message = phrase(
            plural(
                lines.bad_lines,
                "{n} line of {all} is not an object",
                "{n} lines of {all} are not objects",
            ),
            n=lines.bad_lines,
            all=lines.bad_lines + lines.good_lines,
        )
        raise DamagedSnapshotError(message, offset=lines.first_bad_offset)
    columns = {name: np.asarray(column) for name, column in lines.take().items()}
    if not len(columns["address"]):
        raise NotASnapshotError(phrase("The dump has no objects"))
    if float(columns["shallow"].sum(dtype=np.float64)) >= MOST_BYTES:
        raise DamagedSnapshotError(phrase("The objects' sizes add up to more than any machine's memory"))
    graph = _graph(lines, columns, cut=source.truncated or lines.is_cut)
    mark_graph(graph, removed, fields_stay=True)
    return graph


def mark_line(removed: Removed) -> bytes:
    """Return the first line of a dump from which something was removed."""
    return b'{"type":"ROOT", "root":"' + mark_of(removed).encode() + b'", "references":[]}\n'


def _graph(lines: kernel.Lines, columns: dict[str, Column], *, cut: bool) -> Graph:
    texts = Texts(columns["utf8"], columns["text_end"])
    internal = lines.types_of()
    if len(internal) > _MOST_KINDS or len(lines.details_of()) > _MOST_DETAILS:
        raise DamagedSnapshotError(phrase("The dump has more internal types than any Ruby has"))
    namer = _Types(columns, lines, texts)
    type_of, type_kinds, names = namer.all()
    more = Numbers[str]()
    type_names = [more[shortened(name, _MOST_NAME)] for name in names]
    categories = lines.categories_of()
    fields = np.array([more[name] for name in kernel.FIELDS], np.uint32) + np.uint32(len(texts))
    objects = Objects(
        type_of, columns["shallow"], columns["address"], columns["name"], columns["place"], columns["flags"]
    )
    frames, stacks = _stacks(lines.places_of())
    objects.stack = stacks[columns["place"]]
    return Graph(
        KIND,
        objects,
        Types(
            np.array(type_names, np.uint32) + np.uint32(len(texts)),
            np.array(type_kinds, np.uint8),
            object=namer.class_objects(),
        ),
        References(
            columns["start"], columns["target"], columns["kind"], np.zeros(len(columns["target"]), np.uint32)
        ),
        KINDS,
        _roots(columns),
        texts.with_more(more),
        type_kinds=[name.lower() for name in internal],
        root_kinds=tuple(name.replace("_", " ") or "root" for name in categories) or ("root",),
        flags=kernel.FLAGS,
        frames=frames,
        values=Values(
            columns["field_start"],
            fields[columns["field_name"]],
            np.full(len(columns["field_name"]), _LONG, np.uint8),
            columns["field_value"],
        ),
        facts=Facts(truncated=cut),
        settings={"format_version": 1},
        warnings=_warnings(lines, cut=cut, traced=bool(objects.stack.any())),
    )


class _Types:
    """The types of objects, one for each class and internal type, so that a subclass of Array differs from Array."""

    def __init__(self, columns: dict[str, Column], lines: kernel.Lines, texts: Texts) -> None:
        self._columns, self._texts = columns, texts
        self._internal, self._details = lines.types_of(), lines.details_of()
        # classes are grouped by internal type, and the interpreter's own objects have no class
        no_class = self._is("CLASS", "MODULE", "ICLASS", "IMEMO")
        plain = self._plain_class()
        # objects wrapped by C code have the class Object, and only their struct says what they are
        no_class |= self._is("DATA") & self._is_named(plain, "Object") & (columns["detail"] != 0)
        group = np.where(no_class, NONE, plain).astype(np.uint64)
        detail = np.where(group == NONE, columns["detail"], 0).astype(np.uint64)
        keys = group << np.uint64(32) | detail << np.uint64(8) | columns["type"].astype(np.uint64)
        self._keys, self._type_of = np.unique(keys, return_inverse=True)

    def all(self) -> tuple[U32, list[int], list[str]]:
        """The type of each object, and each type's kind and name."""
        kinds = [key & 0xFF for key in self._keys.tolist()]
        names = [self._name(key >> 32, key >> 8 & 0xFFFFFF, key & 0xFF) for key in self._keys.tolist()]
        return self._type_of.astype(np.uint32), kinds, names

    def class_objects(self) -> U32:
        """The class object of each type."""
        return (self._keys >> np.uint64(32)).astype(np.uint32)

    def _is(self, *names: str) -> Mask:
        chosen = np.array([name in names for name in self._internal])
        found: Mask = chosen[self._columns["type"]]
        return found

    def _is_named(self, classes: Column, name: str) -> Mask:
        """A mask of the classes that have a name."""
        own, of_object = np.unique(classes, return_inverse=True)
        named = [
            each != NONE and self._texts[int(self._columns["name"][each])] == name for each in own.tolist()
        ]
        found: Mask = np.array(named)[of_object]
        return found

    def _plain_class(self) -> Column:
        """The class of each object; singleton classes are skipped, as in ``Object#class``."""
        singleton, above = self._columns["singleton"], self._columns["superclass"]
        classes, of_object = np.unique(self._columns["class"], return_inverse=True)
        for _ in range(_MOST_SUPERCLASSES):
            rows = np.flatnonzero(classes != NONE)
            rows = rows[singleton[classes[rows]] != 0]
            if not len(rows):
                break
            classes[rows] = above[classes[rows]]
        found: Column = classes[of_object]
        return found

    def _name(self, group: int, detail: int, kind: int) -> str:
        internal = self._internal[kind]
        if group != NONE:
            return self._texts[int(self._columns["name"][group])] or "(class without a name)"
        if internal in ("CLASS", "MODULE"):
            return internal.capitalize()
        more = f" {self._details[detail]}" if detail else ""
        return f"({internal.lower()}{more})"


def _stacks(places: list[tuple[str, int, str]]) -> tuple[Frames, U32]:
    """Frames, and the stack of each place: a single frame, or empty."""
    frames, numbers = distinct_frames(profiled_frame(file, line, method) for file, line, method in places[1:])
    starts = np.concatenate((np.zeros(1, np.uint64), np.arange(len(frames) + 1, dtype=np.uint64)))
    return (
        Frames(frames, starts, np.arange(len(frames), dtype=np.uint32)),
        np.concatenate((np.zeros(1, np.uint32), numbers + np.uint32(1))).astype(np.uint32),
    )


def _roots(columns: dict[str, Column]) -> npt.NDArray[Any]:
    """Rows of ROOT_DTYPE, each object once in a category."""
    known = columns["root_object"] != NONE
    rows = np.zeros(np.count_nonzero(known), ROOT_DTYPE)
    rows["object"], rows["kind"] = columns["root_object"][known], columns["root_category"][known]
    rows["frame"] = NONE
    return distinct(rows)


def _warnings(lines: kernel.Lines, *, cut: bool, traced: bool) -> list[FileWarning]:
    warnings = []
    if cut:
        said = phrase(
            plural(
                lines.good_lines,
                "The dump is truncated after {n} line: the objects and roots after that are missing, so what seems "
                "unreachable or retained may not be.",
                "The dump is truncated after {n} lines: the objects and roots after that are missing, so what seems "
                "unreachable or retained may not be.",
            ),
            n=lines.good_lines,
        )
        warnings.append(FileWarning("cut-file", said))
    warnings += counted_warnings(
        bad_lines=lines.bad_lines,
        dangling=lines.dangling,
        duplicate_ids=lines.duplicates,
        shortened_texts=lines.shortened,
        unknown_sizes=lines.unsized,
        unknown_numbers=lines.unknown_numbers,
    )
    if not traced:
        said = phrase(
            "The dump doesn't say where objects were allocated: ObjectSpace.trace_object_allocations_start was not "
            "called."
        )
        warnings.append(FileWarning("no-allocations", said))
    return warnings

"""V8's heap snapshots: each string that is not a name becomes "removed N" with its number.

Names are those of properties, variables, functions, classes, scripts and the engine's own objects. A string that is
also a name is written twice, so that nobody can see which objects have it as their content. Names of classes are
contents, unless a function has them, too, and so are those of properties that aren't identifiers, or that no code has
(see the kernel ``rows``), unless something else has them: they are keys of objects that the program uses as
dictionaries. In a snapshot that Memlens has redacted before, these are gone.

The engine has one object for each string of one character, in a table with the character as index, and one for each
of true, false, null and undefined, which V8 of Node.js 20 calls oddballs, the hole as well: what leads to one of
these leads to the first of them instead. So does what leads to a string that is also a name, except from code and
from the descriptions of classes, which tell its text by their order, and what leads to a string that is a constant of
code or of the engine (``none_string``), which tell it by themselves. What leads to a symbol leads to the first.
Indexes of elements, which may be numbers that a program uses as keys, are counted from 0 in each object, and so are
those in the engine's arrays: by a hash of their texts stand the names of properties, also of those that are gone.

Strings, objects, what each of them refers to, and their ids are in a random order: the original is that of the engine's
table of strings, which gives away the seed of its hashes and with that every text that can be guessed, that of
elements, and that in which things were made. In a recording only those are mixed that were made between the same two
samples. What is written goes into parts, each of a range of places, which a temporary file holds until they are whole.

With a mapping, names of the program's own get others, as :mod:`memlens.packs.v8.own_names` says whose they are.

The header is written from what was understood of it: types of objects and references that aren't known become
"unknown", and their names contents; fields that aren't known become zeros; other sections and keys are left out.
"""

import tempfile
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from memlens.arrays import U8, U16, U32, U64, Mask
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError, NotASnapshotError
from memlens.formats.redacted import CONTENTS, Wanted, mark_of
from memlens.formats.redaction.output import Filler, Output, pour
from memlens.formats.redaction.own_names import OwnNames
from memlens.formats.scanning import run_through
from memlens.kernels.base.random import permutation
from memlens.model.distinct import distinct
from memlens.packs.v8.heap import columns_of
from memlens.packs.v8.kernels import parts as v8_parts
from memlens.packs.v8.kernels import redaction as v8_redaction
from memlens.packs.v8.kernels import rows as v8_rows
from memlens.packs.v8.own_names import own_names
from memlens.packs.v8.recorded import ALLOCATED_FIELD
from memlens.packs.v8.sections import (
    MARK_FIELD,
    NAMED_BY_INDEX,
    REDIRECTED_FIELD,
    Header,
    Sections,
    check,
)
from memlens.progress import Report, part_of
from memlens.texts import phrase

_TEXTS = ("string", "concatenated string", "sliced string", "String")
_PATTERNS = ("regexp",)
_NUMBERS = ("number", "bigint")
_HIDDEN = "hidden"
_NAMED = (
    _HIDDEN, "array", "object", "code", "closure", "native", "synthetic", "symbol", "object shape", "wasm object",
    "jl_task_t", "jl_module_t", "jl_array_t", "jl_datatype_t", "jl_svec_t", "jl_sym_t",
)  # fmt: skip
"""Types of objects whose names are names, of V8 and of Julia."""

_INTERNAL, _PROPERTY = "internal", "property"
_REFERENCES = ("context", _PROPERTY, _INTERNAL, "shortcut", "weak")
_STRINGS = "strings"
_CONTENT = v8_redaction.VALUE | v8_redaction.FIXED
_EMPTY = v8_redaction.FIXED | v8_redaction.SHORT
_REMOVED = b'"removed '
"""The prefix of strings whose contents were removed."""
_NO_TEXT = 0xFFFFFFFF
_TRACE = "trace_tree"
_SURVEYED = 0.5
"""The fraction of the work that is done when the uses of all strings are known."""

_ROLES = {
    "nodes": {
        "type": v8_rows.TYPE, "name": v8_rows.NAME, "id": v8_rows.ID, "self_size": v8_rows.NUMBER,
        "edge_count": v8_rows.EDGES, "trace_node_id": v8_rows.NUMBER, "detachedness": v8_rows.STATE,
    },
    "edges": {"type": v8_rows.TYPE, "name_or_index": v8_rows.NAME, "to_node": v8_rows.TARGET},
    "trace_function_infos": {
        "function_id": v8_rows.NUMBER, "name": v8_rows.NAME, "script_name": v8_rows.NAME,
        "script_id": v8_rows.NUMBER, "line": v8_rows.NUMBER, "column": v8_rows.NUMBER,
    },
    "samples": {"timestamp_us": v8_rows.NUMBER, "last_assigned_id": v8_rows.NUMBER},
    "locations": {
        "object_index": v8_rows.TARGET, "script_id": v8_rows.NUMBER, "line": v8_rows.NUMBER,
        "column": v8_rows.NUMBER,
    },
}  # fmt: skip
"""The fields of each section's rows."""

_META = {
    "nodes": "node_fields", "edges": "edge_fields", "trace_function_infos": "trace_function_info_fields",
    "samples": "sample_fields", "locations": "location_fields",
}  # fmt: skip
_TRACE_FIELDS = ["id", "function_info_index", "count", "size", "children"]
_MOVED = ("nodes", "edges", "locations")
"""Sections whose rows are in the order of the objects."""
_NEEDED = {"nodes": ("type", "name", "edge_count"), "edges": ("type", "name_or_index", "to_node")}


_PART_BYTES, _MOST_PARTS = 1 << 20, 128
"""How many bytes of the dump are shuffled at once; more for large dumps."""
_PART_BUFFER = 32 << 10
_IN_MEMORY_BYTES = 4 << 20
_REPORTED_BYTES = 1 << 20
"""After how much progress is reported, and memory of the file given back."""

_REMAINDERS = 4096
_MOST_BYTES = 10**12
"""Beyond any heap. Numbers of cards and accounts have more digits."""


class _Section(NamedTuple):
    name: str
    filler: Filler | v8_redaction.Strings
    bytes: int
    """The section's bytes in the dump."""
    places: int
    """The number of items in the copy, if they are written in another order."""


def redact(
    source: Source, output: Output, wanted: Wanted, report: Report, mapping: list[str] | None = None
) -> None:
    """Write the snapshot. One that is truncated can't be read, since its strings are at the end."""
    source.unpack()
    own = None if mapping is None else own_names(columns_of(source, report))
    parts = Sections(source)
    for needed in ("nodes", "edges", _STRINGS):
        if needed not in parts.spans:
            raise NotASnapshotError(
                phrase("The snapshot has no {section}", section=needed),
                advice=phrase(
                    "Join the snapshot's parts into one file first, as Julia's assemble_snapshot does."
                ),
            )
    survey = _Survey(source, parts, wanted, part_of(report, 0.0, _SURVEYED), is_renamed=own is not None)
    sections = survey.sections()
    write = part_of(report, _SURVEYED, 1.0)
    output.write(b'{"snapshot":' + msgspec.json.encode(_header(parts.header, wanted, survey)))
    for section in sections:
        output.write(b",\n" + msgspec.json.encode(section.name) + b":[")
        renaming = None if own is None or section.name != _STRINGS else _Renaming(output, own)
        filler = section.filler
        if isinstance(filler, v8_redaction.Strings) or (section.places and isinstance(filler, v8_rows.Rows)):
            parts_written = _pour_moved(filler, section.bytes, section.places, renaming or output)
        else:
            parts_written = pour(filler, output)
        for _ in parts_written:
            source.release(filler.offset)
            write("writing", filler.offset / source.length)
        if renaming is not None:
            renaming.end()
        output.write(b"]")
    output.write(b"}")
    if mapping is not None and own is not None:
        mapping += own.mapping()


def _pour_moved(items: v8_parts.Parts, section_bytes: int, places: int, output: Output) -> Iterator[int]:
    """Write items in the order of their places. Yields now and then, for progress."""
    if not places:
        return
    parts = max(1, min(section_bytes // _PART_BYTES, _MOST_PARTS, places))
    range_ = -(-places // parts)
    buffer, filled = bytearray(parts * _PART_BUFFER), np.zeros(parts, np.uint32)
    written: list[list[tuple[int, int]]] = [[] for _ in range(parts)]
    comma, end, unreported = 2, 0, 0
    with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as file, memoryview(buffer) as whole:
        while (part := items.scatter(buffer, filled, range_)) >= 0:
            count, start = int(filled[part]), part * _PART_BUFFER
            written[part].append((end, count))
            end += file.write(whole[start : start + count])
            filled[part] = 0
            unreported += count
            if unreported >= _REPORTED_BYTES:
                yield unreported
                unreported = 0
        for part, pieces in enumerate(written):
            last, start = int(filled[part]), part * _PART_BUFFER
            found, done = bytearray(last + sum(count for _, count in pieces)), 0
            with memoryview(found) as room:
                for at, count in pieces:
                    file.seek(at)
                    file.readinto(room[done : done + count])
                    done += count
                room[done:] = whole[start : start + last]
            with memoryview(v8_parts.gathered(found, part * range_, range_)) as in_order:
                output.write(in_order[comma:])
                comma = comma if not in_order else 0
            yield len(found)


class _Renaming:
    """Writes strings, one per line, with other names in them."""

    def __init__(self, output: Output, own: OwnNames) -> None:
        self._output, self._own, self._rest = output, own, b""

    def write(self, data: bytes | memoryview, /) -> int:
        """Append strings; the rest of the last one is kept for the next call."""
        lines = (self._rest + bytes(data)).split(b",\n")
        self._rest = lines.pop()
        if lines:
            self._output.write(b"".join(self._renamed(each) + b",\n" for each in lines))
        return len(data)

    def end(self) -> None:
        """Write the last string."""
        self._output.write(self._renamed(self._rest))

    def _renamed(self, line: bytes) -> bytes:
        if line.startswith(_REMOVED):
            return line
        try:
            text = msgspec.json.decode(line, type=str)
        except ValueError:
            text = line.decode("utf-8", "replace")
        return msgspec.json.encode(self._own(text))


class _Survey:
    """Finds the uses of each string, and checks that all rows are as the header says."""

    def __init__(
        self, source: Source, parts: Sections, wanted: Wanted, report: Report, *, is_renamed: bool
    ) -> None:
        self._source, self._is_renamed = source, is_renamed
        self._spans = parts.spans
        self._meta = parts.header.meta
        self._report = report
        self._wanted = wanted
        self._uses = np.zeros(0, np.uint8)
        self._forms = np.zeros(0, np.uint8)
        self._properties = np.zeros(0, np.uint8)
        self._is_judged = parts.header.memlens == ""
        self._nodes = 0
        self._names = np.zeros(0, np.uint32)
        self._shared = np.zeros(0, np.uint8)
        self._root = parts.header.root_index
        self._new_ids = np.zeros(0, np.uint64)
        self._tables = np.zeros(0, np.uint64)
        self._last = self._last_ids()
        self.places = np.zeros(0, np.uint32)
        """The position of each object in the copy; empty if they keep their positions."""
        self.redirected = 0
        """The number of references whose target differs from the dump's."""
        self.counted: dict[str, int] = {}
        """The number of rows in each section."""

    def sections(self) -> list[_Section]:
        """A writer for each section, in the order of the file."""
        if not self._meta.node_types or not self._meta.edge_types:
            raise DamagedSnapshotError(
                phrase("The header's {what} are not a heap snapshot's", what="node_types")
            )
        strings = v8_redaction.Strings(self._source.data, *self._spans[_STRINGS])
        self._run(strings, _STRINGS)
        self._uses = np.array(strings.take_uses(), np.uint8)
        self._forms = np.array(strings.take_forms(), np.uint8)
        self._properties = np.zeros_like(self._forms)
        self._properties[np.asarray(strings.take_numerals())] = v8_rows.NUMERAL
        self._tables = distinct(np.asarray(strings.take_tables()))
        rows = {"nodes": self._rows("nodes", self._kinds_of_nodes())}
        self._nodes = rows["nodes"].rows
        if not self._wanted.keeps_shared:
            self._draw(rows["nodes"], strings)
        self._name_classes()
        counts = np.asarray(rows["nodes"].take_edge_counts())
        rows["edges"] = self._rows("edges", self._kinds_of_edges(), counts, rows["nodes"])
        if int(counts.sum(dtype=np.uint64)) != rows["edges"].rows:
            raise DamagedSnapshotError(
                phrase(
                    "The snapshot has {listed} references, but its objects have {count}",
                    listed=rows["edges"].rows,
                    count=int(counts.sum(dtype=np.uint64)),
                )
            )
        for name in ("trace_function_infos", "samples", "locations"):
            if name in self._spans and self._fields(name):
                rows[name] = self._rows(name, np.full(1, v8_rows.NAMES, np.uint16))
        self.counted = {name: each.rows for name, each in rows.items()}
        self._name_properties(rows["edges"])
        numerals = int(rows["edges"].most_elements)
        if not self._wanted.keeps_shared:
            self._cut_names(rows["edges"])
        self.redirected = int(rows["edges"].redirected)
        order, contents = _order(self._uses, numerals, keeps_order=self._wanted.keeps_shared)
        names = order[: len(contents)]
        fillers: dict[str, Filler | v8_redaction.Strings] = {_STRINGS: strings, **rows}
        if _TRACE in self._spans and self._meta.trace_node_fields == _TRACE_FIELDS:
            trace = v8_rows.Trace(self._source.data, *self._spans[_TRACE], len(_TRACE_FIELDS))
            self._run(trace, _TRACE)
            trace.write(self._spans[_TRACE][0])
            fillers[_TRACE] = trace
        empty = np.flatnonzero(self._uses & _EMPTY == _EMPTY)
        short = int(names[empty[0]]) if len(empty) and not self._wanted.keeps_shared else _NO_TEXT
        hidden = self._hidden()
        ranks = names.copy()
        if not self._is_renamed:
            # names stay as they are, so that types have the same names in copies of two snapshots
            stays = self._uses & (v8_redaction.NAME | v8_redaction.FIXED) != 0
            ranks[stays] = np.asarray(strings.take_ranks())[stays]
        for name, each in rows.items():
            each.write(self._spans[name][0], names, contents, short)
            if name in _MOVED and len(self.places):
                each.move(self.places, self._new_ids, hidden, order[len(order) - numerals :], ranks)
        strings.write(self._spans[_STRINGS][0], self._uses, order, numerals)
        places = {**dict.fromkeys(_MOVED, len(self.places)), _STRINGS: len(order)}
        return [
            _Section(name, fillers[name], self._spans[name][1] - self._spans[name][0], places.get(name, 0))
            for name in self._in_order()
            if name in fillers
        ]

    def _draw(self, nodes: v8_rows.Rows, strings: v8_redaction.Strings) -> None:
        """Choose a random order of the objects, in which the root stays first, and random ids."""
        places = np.array(permutation(self._nodes), np.uint32)
        root = self._root // max(len(self._meta.node_fields), 1)
        if root < self._nodes:
            other = int(np.flatnonzero(places == root)[0])
            places[other], places[root] = places[root], root
        self.places = places
        pairs = np.asarray(nodes.take_ids())
        ids, objects = pairs[::2], pairs[1::2]
        if len(self._last):
            # the interval in which an object was created stays
            interval = np.searchsorted(self._last, ids)
            self._new_ids = np.empty_like(ids)
            self._new_ids[np.lexsort((places, interval))] = ids[np.lexsort((ids, interval))]
        if len(self._tables):
            at = np.minimum(np.searchsorted(self._tables, ids), len(self._tables) - 1)
            is_table = self._tables[at] == ids
            tables = objects[is_table]
            found = np.zeros_like(self._tables)
            found[at[is_table]] = (
                self._new_ids[tables] if len(self._last) else 2 * places[tables].astype(np.uint64) + 1
            )
            strings.number_tables(self._tables, found)

    def _noted_ids(self) -> U8:
        """Return the needed object ids: those of WeakMaps' tables, by their remainders, or all of a recording."""
        if self._wanted.keeps_shared:
            return np.zeros(0, np.uint8)
        noted = np.full(_REMAINDERS, len(self._last) > 0, np.uint8)
        noted[self._tables % _REMAINDERS] = 1
        return noted

    def _last_ids(self) -> U64:
        """The last id at each sample of a recording, ascending."""
        fields = self._fields("samples")
        if "samples" not in self._spans or "last_assigned_id" not in fields:
            return np.zeros(0, np.uint64)
        start, end = self._spans["samples"]
        try:
            numbers = np.array(msgspec.json.decode(self._source.data[start:end], type=list[int]), np.uint64)
        except (msgspec.DecodeError, OverflowError):
            # the rows are checked where they are read
            return np.zeros(0, np.uint64)
        return distinct(
            numbers[: len(numbers) // len(fields) * len(fields)].reshape(-1, len(fields))[
                :, fields.index("last_assigned_id")
            ]
        )

    def _hidden(self) -> U8:
        """A mask, one item per text: 1 for texts that identify a string: names, and constants of code and engine."""
        known = (self._properties & v8_rows.KNOWN != 0) & (self._uses & _CONTENT == v8_redaction.VALUE)
        return (_are_both(self._uses) | known).astype(np.uint8)

    def _in_order(self) -> Iterator[str]:
        return (name for name, _ in sorted(self._spans.items(), key=lambda each: each[1]))

    def _fields(self, section: str) -> list[str]:
        fields: list[str] = getattr(self._meta, _META[section])
        return fields

    def _name_classes(self) -> None:
        """Treat class names that no function has as contents: ``Symbol.toStringTag`` may be data."""
        is_class = self._uses & v8_redaction.CLASS != 0
        is_name = self._uses & v8_redaction.DECLARED != 0
        self._uses[is_class & is_name] |= v8_redaction.NAME
        self._uses[is_class & ~is_name] |= v8_redaction.VALUE

    def _name_properties(self, edges: v8_rows.Rows) -> None:
        """Treat property names as contents if they aren't identifiers or occur in no code, unless anything else has
        them.
        """
        edges.judge_classes()
        is_property = self._properties & v8_rows.PROPERTY != 0
        is_name = self._forms & v8_redaction.PLAIN != 0
        if self._is_judged:
            is_code_s = (self._properties & v8_rows.OF_CODE != 0) | (self._forms & v8_redaction.ALWAYS != 0)
            is_name &= is_code_s
        self._uses[is_property & is_name] |= v8_redaction.NAME
        self._uses[is_property & (self._uses & v8_redaction.NAME == 0)] |= v8_redaction.VALUE

    def _cut_names(self, edges: v8_rows.Rows) -> None:
        """Redirect values from strings that are also names."""
        are_names = self._hidden() != 0
        is_other = (self._shared == v8_rows.TEXT_TOO) & ~are_names[self._names]
        self._shared[is_other] = 0
        edges.cut_names(are_names)

    def _rows(
        self,
        section: str,
        kinds: U16,
        counts: U32 | None = None,
        nodes: v8_rows.Rows | None = None,
    ) -> v8_rows.Rows:
        fields, known = self._fields(section), _ROLES[section]
        if not set(_NEEDED.get(section, ())) <= set(fields) or len(set(fields)) < len(fields):
            raise DamagedSnapshotError(
                phrase("The header doesn't say what the {section} consist of", section=section),
                offset=self._spans[section][0],
            )
        roles = np.array([known.get(name, v8_rows.ZERO) for name in fields], np.uint8)
        width = len(self._meta.node_fields)
        rows = v8_rows.Rows(
            self._source.data, *self._spans[section], roles, kinds, self._uses, width, self._nodes
        )
        if section == "nodes":
            rows.note_owners(self._owners(), self._forms, self._noted_ids())
        elif counts is not None and nodes is not None:
            owners = np.array(nodes.take_owners(), np.uint8)
            self._names = np.asarray(nodes.take_names())
            if not self._wanted.keeps_shared:
                self._shared = np.array(nodes.take_shared(), np.uint8)
                is_other = self._shared == 0
                self._shared[is_other & (owners & v8_rows.TEXT != 0)] = v8_rows.TEXT_TOO
                self._shared[is_other & (owners & v8_rows.SYMBOL != 0)] = v8_rows.A_SYMBOL
                rows.cut_shared(counts, self._shared, np.zeros(len(self._uses), np.uint32))
            rows.judge(counts, owners, self._names, self._forms, self._properties, nodes.has_constants)
        self._run(rows, section)
        return rows

    def _run(self, scanner: v8_redaction.Strings | v8_rows.Rows | v8_rows.Trace, section: str) -> None:
        status = run_through(scanner, self._source, self._report, self._spans[section][0])
        check(status, scanner.error_offset, self._source.data)

    def _kinds_of_nodes(self) -> U16:
        name, value = v8_rows.NAMES, v8_rows.IS_VALUE
        kinds = dict.fromkeys(_NAMED, name)
        kinds |= dict.fromkeys(("closure", "code"), name | v8_rows.DECLARES)
        if "closure" in self._meta.node_types[0]:
            kinds["object"] = v8_rows.IS_CLASS
        kinds[_HIDDEN] |= v8_rows.IS_ODDBALL
        kinds["native"] |= v8_rows.IS_ELEMENT
        kinds |= dict.fromkeys(_TEXTS, value | v8_rows.IS_TEXT) | dict.fromkeys(_PATTERNS, value)
        # their names are texts that the engine gives to all of them, unless the program asked for the values
        kinds |= dict.fromkeys(_NUMBERS, name if self._wanted.removed == CONTENTS else value)
        return np.array([kinds.get(each, value) for each in self._meta.node_types[0]][:256], np.uint16)

    def _owners(self) -> U8:
        """The role of each type's objects in deciding which property names are keys."""
        judged, code, text = v8_rows.JUDGED, v8_rows.CODE, v8_rows.TEXT
        structure = v8_rows.STRUCTURE
        owners = {"object": judged, "closure": judged | v8_rows.FUNCTION, "code": code | structure}
        owners |= {"object shape": structure, "synthetic": structure | v8_rows.ROOTS}
        owners |= dict.fromkeys(("string", "concatenated string", "sliced string"), text)
        owners |= {"symbol": v8_rows.SYMBOL}
        return np.array([owners.get(each, 0) for each in self._meta.node_types[0]][:256], np.uint8)

    def _kinds_of_edges(self) -> U16:
        kinds = dict.fromkeys(_REFERENCES, v8_rows.NAMES) | dict.fromkeys(NAMED_BY_INDEX, v8_rows.IS_INDEX)
        # constants are objects: for an edge, the bit means a property
        kinds[_PROPERTY] = v8_rows.IS_ODDBALL
        kinds |= dict.fromkeys((_INTERNAL, "shortcut", "weak"), v8_rows.NAMES | v8_rows.MOVES)
        return np.array(
            [kinds.get(each, v8_rows.IS_VALUE) for each in self._meta.edge_types[0]][:256], np.uint16
        )


def _are_both(uses: U8) -> Mask:
    """Return a mask of the texts that are both a name and a content."""
    value, name, fixed = v8_redaction.VALUE, v8_redaction.NAME, v8_redaction.FIXED
    both: Mask = (uses & value != 0) & (uses & name != 0) & (uses & fixed == 0)
    return both


def _order(uses: U8, numerals: int, *, keeps_order: bool) -> tuple[U32, U32]:
    """Return positions in the copy: of each text, of second copies of texts that are name and content, of ``numerals``.

    Also returns, for each text, the position of the one to use as a content.

    The engine's own order, of its string table or of discovery, would reveal the texts. If it is kept, only contents
    are moved.
    """
    both = _are_both(uses)
    count = len(uses) + int(both.sum()) + numerals
    if keeps_order:
        name, fixed = v8_redaction.NAME, v8_redaction.FIXED
        is_content = (uses & v8_redaction.VALUE != 0) & (uses & (name | fixed) == 0)
        moves = np.append(np.flatnonzero(is_content), np.arange(len(uses), count))
        order = np.arange(count, dtype=np.uint32)
        order[moves] = moves[np.asarray(permutation(len(moves)))]
    else:
        order = np.array(permutation(count), np.uint32)
    contents = order[: len(uses)].copy()
    contents[both] = order[len(uses) : count - numerals]
    return order, contents


def _header(header: Header, wanted: Wanted, survey: _Survey) -> dict[str, object]:
    """Return the header with only known contents."""
    rows = survey.counted
    meta = header.meta
    known = (*_NAMED, *_TEXTS, *_PATTERNS, *_NUMBERS)
    written: dict[str, object] = {
        "node_types": [_known(meta.node_types[0], known), *_forms(meta.node_fields, {"name": "string"})],
        "edge_types": [
            _known(meta.edge_types[0], (*_REFERENCES, *NAMED_BY_INDEX)),
            *_forms(meta.edge_fields, {"name_or_index": "string_or_number", "to_node": "node"}),
        ],
    }
    for section, name in _META.items():
        written[name] = _known(getattr(meta, name), tuple(_ROLES[section]))
    written["trace_node_fields"] = _TRACE_FIELDS if meta.trace_node_fields == _TRACE_FIELDS else []
    counts = {
        "node_count": rows["nodes"], "edge_count": rows["edges"],
        "root_index": header.root_index if header.root_index // len(meta.node_fields) < rows["nodes"] else 0,
        "trace_function_count": rows.get("trace_function_infos", 0),
        "extra_native_bytes": header.extra_native_bytes if header.extra_native_bytes < _MOST_BYTES else 0,
        ALLOCATED_FIELD: header.memlens_allocated_bytes,
    }  # fmt: skip
    return {
        "meta": written,
        **{name: count for name, count in counts.items() if count},
        MARK_FIELD: mark_of(wanted.removed),
        **({} if wanted.keeps_shared else {REDIRECTED_FIELD: survey.redirected}),
    }


def _known(names: object, known: tuple[str, ...]) -> list[str]:
    """Names, with numbers in place of unknown ones."""
    listed = names if isinstance(names, list) else []
    return [name if name in known else f"unknown {number}" for number, name in enumerate(listed)]


def _forms(fields: list[str], forms: dict[str, str]) -> list[str]:
    """The meaning of the values of all fields but the first, the type."""
    return [forms.get(name, "number") for name in fields[1:]]

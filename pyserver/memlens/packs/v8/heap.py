"""V8's heap snapshots: ``.heapsnapshot`` and ``.heaptimeline`` of Node.js, Chrome, Electron, Deno, Bun and Julia.

JSON whose long parts are flat arrays of numbers. The layout of rows is described in ``snapshot.meta`` and differs by
version; fields are looked up there by name. Source: ``src/profiler/heap-snapshot-generator.cc`` of V8.
"""

import contextlib
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U8, U32, U64
from memlens.formats.containers import Source
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.redacted import Removed, mark_graph, removed_by
from memlens.formats.scanning import run_through
from memlens.model.graph import MOST_BYTES, MOST_OBJECTS, NONE, SAMPLE_DTYPE, Graph, Objects, References
from memlens.model.texts import Texts
from memlens.packs.api import JsonFormat
from memlens.packs.v8.kernels import heap_json as kernel
from memlens.packs.v8.objects import graph_of
from memlens.packs.v8.places import Functions, TraceRows
from memlens.packs.v8.scopes import scopes_of
from memlens.packs.v8.sections import OF_SCOPES, SCOPES, Sections, check
from memlens.packs.v8.snapshot import Scopes, Snapshot
from memlens.packs.v8.source_maps import SourceMaps
from memlens.packs.v8.streamed import read_parts
from memlens.progress import Report
from memlens.texts import phrase

_MOST_U8, _MOST_U32, _MOST_U64 = 0xFF, 0xFFFFFFFF, 2**60
_MOST_KINDS = 84
"""A byte has the kind of a reference. Each kind has three numbers: counted by dominators, and two groups that are not;
one more number is for keys."""
_MOST_HEADER_TYPES = 1 << 20
"""Limit on node types: newer versions of Julia list each of their types, and write its number's lowest byte only."""

_FIRST = re.compile(
    rb'\{\s*"(?:(?:nodes|edges)"\s*:\s*\[\s*[\d\]]|snapshot"\s*:\s*\{\s*"(?:meta|node_count)")'
)
_WEBKIT = re.compile(rb'\{\s*"version"\s*:\s*\d+\s*,\s*"type"\s*:\s*"(?:Inspector|GCDebugging)"')
"""How JavaScriptCore's snapshots begin (``HeapSnapshotBuilder.cpp`` of WebKit)."""

_MOST_SCOPE_NUMBERS = 1 << 26
"""Limit on the numbers in each section about scopes; large pages have a few million."""

Rows = dict[str, npt.NDArray[Any]]
"""Columns by the names of fields."""


def sniff(head: bytes) -> bool:
    """Whether the first bytes are a JSON object with a heap snapshot's first fields."""
    text = head.lstrip()
    return text[:1] == b"{" and (
        b'"node_fields"' in head or _FIRST.match(text) is not None or _WEBKIT.match(text) is not None
    )


JSON = JsonFormat(
    sniff=sniff,
    is_object=lambda has: (
        has("snapshot", b'"node_fields"') or all(has(key, b"") for key in ("nodes", "edges", "strings"))
    ),
)


def read(source: Source, _scratch: Path, report: Report) -> Graph:
    """Read a snapshot: see :class:`memlens.formats.Reader`."""
    read = None
    with contextlib.suppress(_NotAheadError, DamagedSnapshotError):
        read = _columns(source, report, ahead=True)
    # the error for a damaged file is about its first damaged section
    snapshot, removed, redirected = read or _columns(source, report, ahead=False)
    graph = graph_of(
        snapshot,
        SourceMaps(source.tools.source_folders, only_folders=source.tools.only_folders),
        is_redacted=removed is not None,
    )
    mark_graph(graph, removed, comparable=True, redirected=redirected)
    return graph


def columns_of(source: Source, report: Report) -> Snapshot:
    """Read only the columns, as they are in the file. Raises as :func:`read` does."""
    return _columns(source, report, ahead=False)[0]


class _NotAheadError(Exception):
    """All sections of a file have to be located before they are read."""


def _columns(source: Source, report: Report, *, ahead: bool) -> tuple[Snapshot, Removed | None, int | None]:
    """Return a file's columns, what Memlens removed from it, and the number of references that it changed."""
    file = _File(source, report, ahead=ahead)
    return file.snapshot(), file.removed, file.redirected


def _quiet(_stage: str, _fraction: float) -> None:
    """Report nothing: the bar follows the references, and all else is read beside them."""


class _Column(NamedTuple):
    """A field that is kept: the type of its column and the largest value allowed; the others are as in the kernel."""

    kind: type[np.unsignedinteger[Any]]
    most: int
    node_fields: int = 0
    is_clipped: bool = False


class _File:
    """The sections of a file, each read into columns.

    With ``ahead``, references are read before their end is located. Raises :class:`_NotAheadError` where that is
    impossible; for a damaged file the error isn't always the most precise one.
    """

    def __init__(self, source: Source, report: Report, *, ahead: bool) -> None:
        self._source = source
        self._report = report
        self._data = source.data
        self._sections = Sections(source, "edges" if ahead else None)
        self._header = self._sections.header
        self._meta = self._header.meta
        self.removed = removed_by(self._header.memlens)
        self.redirected = self._header.memlens_redirected

    def snapshot(self) -> Snapshot:
        """Read and check everything."""
        meta = self._meta
        node_types = _names(meta.node_types, "node_types", _MOST_HEADER_TYPES)[: _MOST_U8 + 1]
        edge_types = _names(meta.edge_types, "edge_types", _MOST_KINDS)
        objects, references = self._header.node_count, self._header.edge_count
        if self._sections.rest is None and self._sections.spans.keys().isdisjoint(
            ("nodes", "edges", "strings")
        ):
            return read_parts(self._source.path, node_types, edge_types, (objects, references))
        texts, nodes, edges = self._tables(len(node_types), len(edge_types))
        starts = _starts(nodes.pop("edge_count"))
        count = int(starts[-1])
        if len(edges["type"]) != count or references not in (None, count):
            raise DamagedSnapshotError(
                phrase(
                    "The snapshot has {listed} references, but its objects have {count}",
                    listed=len(edges["type"]),
                    count=count,
                )
            )
        shallow: U64 = nodes["self_size"]
        if float(shallow.sum(dtype=np.float64)) >= MOST_BYTES:
            raise DamagedSnapshotError(phrase("The objects' sizes add up to more than any machine's memory"))
        root, rest = divmod(self._header.root_index, len(meta.node_fields))
        if rest or not 0 <= root < len(shallow):
            raise DamagedSnapshotError(
                phrase(
                    "The snapshot's root_index, {root_index}, is not an object",
                    root_index=self._header.root_index,
                )
            )
        # texts are numbered from 1, so that 0 is "none"
        names: U32 = nodes["name"]
        names += np.uint32(1)
        return Snapshot(
            Objects(np.zeros(0, np.uint32), shallow, nodes["id"], names),
            References(starts, edges["to_node"], edges["type"], edges["name_or_index"]),
            texts, nodes["type"], nodes.get("detachedness"), node_types, edge_types, root,
            self._functions(len(texts)), self._trace(nodes.get("trace_node_id")), self._locations(len(shallow)),
            self._header.extra_native_bytes, self._samples(), *self._scopes(len(shallow), len(texts)),
        )  # fmt: skip

    def _tables(self, node_types: int, edge_types: int) -> tuple[Texts, Rows, Rows]:
        """The strings, nodes and edges. Two thirds of a file are edges: all else is read meanwhile."""
        objects, references = self._header.node_count, self._header.edge_count
        with ThreadPoolExecutor(1) as pool:
            if self._sections.rest is not None:
                return self._tables_ahead(pool, node_types, edge_types)
            ahead = None
            # the header has the size
            if objects is not None and 0 < objects <= MOST_OBJECTS:
                ahead = pool.submit(self._edges, edge_types, objects, references)
            texts = self._strings()
            nodes = self._nodes(node_types, len(texts))
            if ahead is not None:
                return texts, nodes, ahead.result()
            count = int(nodes["edge_count"].sum(dtype=np.uint64))
            return texts, nodes, self._edges(edge_types, len(nodes["id"]), count)

    def _tables_ahead(
        self, pool: ThreadPoolExecutor, node_types: int, edge_types: int
    ) -> tuple[Texts, Rows, Rows]:
        """The same, when sections are located only up to the edges, whose end is found by reading them."""
        header, fields, start = self._header, self._meta.edge_fields, self._sections.rest or 0
        objects, references = header.node_count or 0, header.edge_count or 0
        is_possible = 0 < objects <= MOST_OBJECTS and 0 < references <= self._most_rows(start, 0, fields)
        if not is_possible or header.trace_function_count:
            raise _NotAheadError
        kept = self._kept_of_edges(edge_types, objects)
        reading = pool.submit(self._read, start, 0, fields, kept, references, self._report)
        nodes = self._nodes(node_types, _MOST_U32)
        edges, status, end = reading.result()
        check(status, end, self._data)
        _require(edges, "edge", *kept)
        self._sections.go_on("edges", (start, end))
        texts = self._strings()
        if int(nodes["name"].max()) >= len(texts) - 1 or self._has("trace_tree"):
            raise _NotAheadError
        return texts, nodes, edges

    def _span(self, section: str) -> tuple[int, int]:
        span = self._sections.spans.get(section)
        if span is None:
            raise DamagedSnapshotError(phrase("The snapshot has no {section}", section=section))
        return span

    def _run(self, scanner: kernel.Strings, start: int) -> None:
        status = run_through(scanner, self._source, _quiet, start)
        if status != kernel.OK:
            check(status, scanner.error_offset, self._data)

    def _rows(
        self,
        section: str,
        fields: list[str],
        kept: dict[str, _Column],
        expected: int | None = None,
        report: Report = _quiet,
    ) -> Rows:
        """Read rows of numbers; only fields that are ``kept`` and that the file has.

        Rows are counted first, unless there are as many as ``expected``.
        """
        start, end = self._span(section)
        if not fields or self._data[start] != ord("["):
            raise DamagedSnapshotError(
                phrase("The snapshot's {section} are not rows of numbers", section=section), offset=start
            )
        if expected is not None and 0 < expected <= self._most_rows(start, end, fields):
            columns, status, _ = self._read(start, end, fields, kept, expected, report)
            if status == kernel.OK:
                return columns
        items = kernel.count_items(self._data, start, end)
        rows, rest = divmod(items, len(fields))
        if rest:
            raise DamagedSnapshotError(
                phrase(
                    "The snapshot's {section} have {items} numbers, not {count} for each row",
                    section=section,
                    items=items,
                    count=len(fields),
                ),
                offset=start,
            )
        if rows > MOST_OBJECTS:
            raise DamagedSnapshotError(
                phrase("The snapshot has more {section} than can be numbered", section=section), offset=start
            )
        columns, status, offset = self._read(start, end, fields, kept, rows, report)
        check(status, offset, self._data)
        return columns

    def _most_rows(self, start: int, end: int, fields: list[str]) -> int:
        """The maximum number of rows between ``start`` and ``end``, or the end of the file if that is 0."""
        # a number and a comma are two bytes
        return min(MOST_OBJECTS, ((end or len(self._data)) - start) // (2 * len(fields))) if fields else 0

    def _read(
        self, start: int, end: int, fields: list[str], kept: dict[str, _Column], rows: int, report: Report
    ) -> tuple[Rows, int, int]:
        """Read rows; return the columns, the scanner's status, and the offset of an error, or of the array's end.

        ``end`` is 0 if it isn't known.
        """
        columns: Rows = {}
        sinks: list[tuple[U8, int, int, int, bool] | None] = []
        for field in fields:
            column = kept.get(field)
            if column is None or field in columns:
                sinks.append(None)
                continue
            kept_as = columns[field] = np.empty(rows, column.kind)
            sinks.append((kept_as.view(np.uint8), kept_as.itemsize, *column[1:]))
        scanner = kernel.Rows(self._data, start, end, rows, sinks)
        status = run_through(scanner, self._source, report, start)
        return columns, status, scanner.error_offset if status != kernel.OK else scanner.offset

    def _nodes(self, types: int, texts: int) -> Rows:
        kept = {
            "type": _Column(np.uint8, types - 1),
            "name": _Column(np.uint32, texts - 2),
            "id": _Column(np.uint64, _MOST_U64),
            "self_size": _Column(np.uint64, _MOST_U64),
            "edge_count": _Column(np.uint32, _MOST_U32),
            "detachedness": _Column(np.uint8, _MOST_U8),
        }
        if self._has("trace_tree"):
            kept["trace_node_id"] = _Column(np.uint64, _MOST_U64)
        nodes = self._rows("nodes", self._meta.node_fields, kept, self._header.node_count)
        _require(nodes, "node", "type", "name", "id", "self_size", "edge_count")
        count = len(nodes["id"])
        if not count:
            raise DamagedSnapshotError(phrase("The snapshot has no objects"))
        said = self._header.node_count
        if said is not None and said != count:
            raise DamagedSnapshotError(
                phrase(
                    "The snapshot has {count} objects, but says that it has {said}",
                    count=count,
                    said=said,
                )
            )
        return nodes

    def _edges(self, types: int, nodes: int, expected: int | None) -> Rows:
        """Read the references. The caller checks that their targets are less than ``nodes``."""
        kept = self._kept_of_edges(types, nodes)
        edges = self._rows("edges", self._meta.edge_fields, kept, expected, self._report)
        _require(edges, "edge", *kept)
        return edges

    def _kept_of_edges(self, types: int, nodes: int) -> dict[str, _Column]:
        return {
            "type": _Column(np.uint8, types - 1),
            # for an element with an unknown index Julia writes 2**64 - 1 (JuliaLang/julia issue 51576)
            "name_or_index": _Column(np.uint32, NONE, is_clipped=True),
            "to_node": _Column(np.uint32, nodes - 1, len(self._meta.node_fields)),
        }

    def _strings(self) -> Texts:
        start, end = self._span("strings")
        if self._data[start] != ord("["):
            raise DamagedSnapshotError(phrase("The snapshot's strings are not a list"), offset=start)
        scanner = kernel.Strings(self._data, start, end)
        self._run(scanner, start)
        utf8, ends = map(np.asarray, scanner.take())
        if not 1 < len(ends) < _MOST_U32:
            raise DamagedSnapshotError(phrase("The snapshot has no strings, or too many"), offset=start)
        return Texts(utf8, ends)

    def _functions(self, texts: int) -> Functions | None:
        if not self._has("trace_function_infos"):
            return None
        string = _Column(np.uint32, texts - 2)
        number = _Column(np.uint32, _MOST_U32)
        kept = {"name": string, "script_name": string, "line": number}
        columns = self._rows(
            "trace_function_infos", self._meta.trace_function_info_fields, kept | {"column": number}
        )
        _require(columns, "trace_function_info", *kept)
        one = np.uint32(1)
        column = columns.get("column", np.zeros_like(columns["line"]))
        return Functions(columns["name"] + one, columns["script_name"] + one, columns["line"], column)

    def _trace(self, nodes: U64 | None) -> TraceRows | None:
        """Read the tree of allocation stacks, if they were tracked; ``nodes`` has each object's node in it."""
        if nodes is None or not self._has("trace_tree"):
            return None
        fields, (start, end) = self._meta.trace_node_fields, self._sections.spans["trace_tree"]
        needed = ("id", "function_info_index", "children")
        if any(name not in fields for name in needed) or fields[0] == "children":
            raise DamagedSnapshotError(phrase("The header doesn't say what the allocation trace consists of"))
        tree = kernel.TraceTree(self._data)
        sums = (fields.index(name) if name in fields else -1 for name in ("count", "size"))
        status = tree.read(start, end, len(fields), *map(fields.index, needed), *sums)
        check(status, tree.error_offset, self._data)
        ids, functions, parents, counts, sizes = map(np.asarray, tree.take())
        if (
            float(sizes.sum(dtype=np.float64)) >= MOST_BYTES
            or float(counts.sum(dtype=np.float64)) >= MOST_BYTES
        ):
            raise DamagedSnapshotError(
                phrase("The sizes in the allocation trace add up to more than any machine's memory")
            )
        return TraceRows(ids, functions, parents, nodes, np.stack((sizes, counts)).astype(np.int64))

    def _locations(self, nodes: int) -> Rows | None:
        if not self._has("locations"):
            return None
        node_fields = len(self._meta.node_fields)
        kept = {
            "object_index": _Column(np.uint32, nodes - 1, node_fields),
            "script_id": _Column(np.uint64, _MOST_U64),
            "script_object_index": _Column(np.uint32, nodes - 1, node_fields),
            "line": _Column(np.uint32, _MOST_U32),
            "column": _Column(np.uint32, _MOST_U32),
        }
        columns = self._rows("locations", self._meta.location_fields, kept)
        _require(columns, "location", "object_index", "script_id", "line")
        return columns

    def _samples(self) -> npt.NDArray[Any]:
        """The times of a recording's samples and the highest object id at each, as long as both ascend.

        Only Memlens's own recordings also have the allocated bytes.
        """
        if not self._meta.sample_fields or not self._has("samples"):
            return np.empty(0, SAMPLE_DTYPE)
        kept = {
            "timestamp_us": _Column(np.uint64, _MOST_U64),
            "last_assigned_id": _Column(np.uint64, _MOST_U64),
        }
        columns = self._rows("samples", self._meta.sample_fields, kept)
        _require(columns, "sample", *kept)
        samples = np.zeros(len(columns["timestamp_us"]), SAMPLE_DTYPE)
        for field, column in zip(("time_us", "last_id"), columns.values(), strict=True):
            # a sample without new allocations may have a lower id, that of an object that is gone
            samples[field] = np.maximum.accumulate(column)
        allocated = self._header.memlens_allocated_bytes[: len(samples)]
        samples["allocated_bytes"][: len(allocated)] = allocated
        return samples

    def _scopes(self, objects: int, texts: int) -> tuple[Scopes | None, bool]:
        """Return the scopes of variables, and whether the file has damaged or unknown ones."""
        if not self._has(SCOPES):
            return None, False
        meta, tables = self._meta, list[dict[str, I64]]()
        of_sections = (meta.scope_fields, meta.scope_context_var_fields, meta.scope_use_fields)
        for section, fields in zip(OF_SCOPES, of_sections, strict=True):
            numbers = self._signed(section)
            if numbers is None or not fields or len(numbers) % len(fields):
                return None, True
            tables.append(dict(zip(fields, numbers.reshape(-1, len(fields)).T, strict=True)))
        of_scopes, of_variables, of_uses = tables
        scopes = scopes_of(of_scopes, of_variables, of_uses, len(meta.node_fields), objects, texts)
        return scopes, scopes is None

    def _signed(self, section: str) -> I64 | None:
        """Parse numbers that may be negative; None if there is anything else."""
        start, end = self._sections.spans.get(section, (0, 0))
        is_array = self._data[start : start + 1] in (b"[", b"")
        if not is_array or kernel.count_items(self._data, start, end) > _MOST_SCOPE_NUMBERS:
            return None
        text = self._data[start + 1 : end - 1].strip()
        if not text:
            return np.empty(0, np.int64)
        with warnings.catch_warnings():
            # NumPy warns about trailing text after the numbers, and later versions raise
            warnings.simplefilter("error", DeprecationWarning)
            try:
                return np.fromstring(text, np.int64, sep=",")
            except (ValueError, DeprecationWarning):
                return None

    def _has(self, section: str) -> bool:
        """Whether a section exists and isn't empty."""
        start, end = self._sections.spans.get(section, (0, 0))
        return end - start > 2 and bool(self._data[start + 1 : end - 1].strip() if end - start < 16 else True)


def _names(types: list[list[str] | str], what: str, most: int) -> list[str]:
    """Return the names of the values of the first field, the type."""
    if not types or isinstance(types[0], str) or not 0 < len(types[0]) <= most:
        raise DamagedSnapshotError(phrase("The header's {what} are not a heap snapshot's", what=what))
    return types[0]


def _require(columns: Rows, kind: str, *fields: str) -> None:
    for field in fields:
        if field not in columns:
            raise DamagedSnapshotError(
                phrase("The header's {kind}_fields have no {field}", kind=kind, field=field)
            )


def _starts(counts: U32) -> U64:
    starts = np.empty(len(counts) + 1, np.uint64)
    kernel.starts_of(counts, starts)
    return starts

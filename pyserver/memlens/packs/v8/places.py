"""Source lines in V8's heap snapshots: where functions and classes are defined, and where objects were allocated."""

import os
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, U64
from memlens.formats.errors import DamagedSnapshotError
from memlens.formats.stacks import Numbers
from memlens.model.distinct import first_equal
from memlens.model.frames import (
    MOST_LINE,
    MOST_NAME,
    Frames,
    SourceFrame,
    kind_by_file,
    profiled_frame,
)  # fmt: skip
from memlens.model.graph import NONE, PLACE_DTYPE
from memlens.model.profile import StackTree
from memlens.model.texts import Texts
from memlens.packs.v8.kernels import places as kernel
from memlens.packs.v8.kernels.edges import Edges
from memlens.packs.v8.source_maps import SourceMap, SourceMaps
from memlens.texts import phrase

Rows = npt.NDArray[Any]

_ROOT = "(root)"
_ANONYMOUS = "(anonymous)"

_NOTHING = np.empty(0, np.uint32)


class Functions(NamedTuple):
    """The functions of the allocation trace; names and scripts are numbers of texts, lines and columns count from 1."""

    name: U32
    script: U32
    line: U32
    column: U32
    """0 if it isn't known."""


class TraceRows(NamedTuple):
    """The tree of the allocation trace in preorder, see ``packs/v8/kernels/heap_json.pyx``.

    ``nodes`` has the id of the tree's node of each object. ``allocated`` has the bytes and the objects that each stack
    allocated, whatever became of them.
    """

    ids: U64
    function: U32
    parent: U32
    nodes: U64
    allocated: I64


class Declared(NamedTuple):
    """Functions that declare variables, one item each, and the function of each declaration."""

    of_row: I64
    name: list[str]
    closure: I64
    """A closure of each function, or NONE."""
    script: I64
    """The texts that name the scripts."""
    line: I64
    """Counts from 1, as columns do; 0 if unknown."""
    column: I64


class Places(NamedTuple):
    """Frames, and what refers to them."""

    frames: Frames
    tree: StackTree | None
    stacks: U32 | None
    """The node of the tree of each object."""
    allocated: I64 | None
    """The bytes and objects allocated by each node of the tree."""
    places: Rows
    """Rows of PLACE_DTYPE."""
    declared: U32
    """The frames of the functions that declare variables, NONE for those that have none."""
    lost: int
    """The number of objects whose node is missing from the allocation trace."""


class _Frames:
    """Distinct frames."""

    def __init__(self, texts: Texts, maps: SourceMaps) -> None:
        self._texts = texts
        self._maps = maps
        self._numbers: Numbers[SourceFrame] = Numbers()
        self._scripts: dict[int, tuple[str, SourceMap | None]] = {}
        self._names: dict[int, str] = {}

    def number(self, name: int, script: int, line: int, column: int = 0) -> int:
        """The number of a frame whose function and script are texts; line and column count from 1.

        If the script has a source map, the frame is on the line of the original source.
        """
        function = self._names.get(name)
        if function is None:
            function = self._names[name] = self._texts[name] or _ANONYMOUS
        return self.number_of(function, script, line, column)

    def number_of(self, function: str, script: int, line: int, column: int) -> int:
        """The same of a function by its name."""
        path, mapped = self._script(script)
        if mapped is not None and line > 0:
            path, line = mapped.original(line - 1, max(column - 1, 0)) or (path, line)
        return self._numbers[profiled_frame(path, line, function)]

    def numbers(self, keys: list[list[int]]) -> list[int]:
        """The numbers of many frames, given by name, script, line and column as in :meth:`number`."""
        known, names, scripts = self._numbers.setdefault, self._names, dict[int, tuple[str, int | None]]()
        found = []
        for name, script, line, column in keys:
            if script not in scripts:
                path, mapped = self._script(script)
                # all frames of the script have one kind if the path alone decides it
                scripts[script] = (path, kind_by_file(path) if mapped is None else None)
            path, kind = scripts[script]
            function = names.get(name, "")
            if kind is None or not 0 < len(function) <= MOST_NAME or not 0 < line <= MOST_LINE:
                found.append(self.number(name, script, line, column))
            else:
                found.append(known(SourceFrame(path, line, function, kind), len(self._numbers)))
        return found

    def know(self, names: list[int]) -> None:
        """Read some names of functions at once."""
        self._names.update((number, text or _ANONYMOUS) for number, text in self._texts.some(names).items())

    def is_named(self, script: int) -> bool:
        """Whether a script that is a text has a path."""
        return bool(self._script(script)[0])

    def mapped(self, script: int) -> SourceMap | None:
        """The source map of a script that is a text."""
        return self._script(script)[1]

    def _script(self, script: int) -> tuple[str, SourceMap | None]:
        """The path and the source map of a script that is a text."""
        found = self._scripts.get(script)
        if found is None:
            path = path_of(self._texts[script])
            found = self._scripts[script] = (path, self._maps.of(path))
        return found

    def of(self, functions: Functions) -> list[int | None]:
        """The number of each function's frame; None for the trace's root, which isn't a function."""
        rows = zip(*(column.tolist() for column in functions), strict=True)
        return [
            None
            if self._texts[name] == _ROOT and not self._texts[script]
            else self.number(name, script, line, column)
            for name, script, line, column in rows
        ]

    def all(self) -> list[SourceFrame]:
        """Return all frames, by number."""
        return list(self._numbers)


def path_of(script: str) -> str:
    """A script's path: that of a ``file:`` URL, else its name. V8 since 14 puts "system / Script / " before it."""
    script = script.removeprefix("system / Script").removeprefix(" / ")
    if not script.startswith("file://"):
        return script
    path = unquote(script.removeprefix("file://"))
    # file:///C:/x
    return path[1:] if len(path) > 2 and path[0] == "/" and path[2] == ":" else path


def places_of(
    edges: Edges,
    names: U32,
    texts: Texts,
    functions: Functions | None,
    trace: TraceRows | None,
    locations: dict[str, Rows] | None,
    declared: Declared | None,
    maps: SourceMaps,
) -> Places:
    """All frames and source lines."""
    frames = _Frames(texts, maps)
    tree = stacks = allocated = None
    lost = 0
    if trace is not None and functions is not None:
        tree, stacks, allocated = _stacks(trace, functions, frames)
        lost = int(np.count_nonzero(~np.isin(trace.nodes, trace.ids) & (trace.nodes != 0)))
    places = np.empty(0, PLACE_DTYPE)
    if locations is not None:
        places = _definitions(locations, edges, names, texts, frames)
    of_functions = np.empty(0, np.uint32) if declared is None else _declared(declared, places, frames)
    return Places(
        Frames(frames.all(), np.zeros(2, np.uint64), np.empty(0, np.uint32)), tree, stacks, allocated, places,
        of_functions, lost,
    )  # fmt: skip


def _stacks(trace: TraceRows, functions: Functions, frames: _Frames) -> tuple[StackTree, U32, I64]:
    """The tree of stacks, the node of each object, and what each node allocated.

    Node 0 is the root without a frame, in place of V8's own root "(root)"; the rows' nodes follow from 1.
    """
    if len(trace.function) and int(trace.function.max()) >= len(functions.name):
        raise DamagedSnapshotError(
            phrase("The allocation trace has a function that isn't in the file's list")
        )
    numbers = frames.of(functions)
    has_root = len(trace.ids) > 0 and numbers[int(trace.function[0])] is None
    of_function = np.array([number or 0 for number in numbers], np.uint32)
    nodes = np.arange(1, len(trace.ids) + 1, dtype=np.uint32) - np.uint32(has_root)
    parents = np.concatenate((np.zeros(1, np.uint32), nodes))[trace.parent]
    own = slice(int(has_root), None)
    zero = np.zeros(1, np.uint32)
    tree = StackTree(
        np.concatenate((zero, parents[own])), np.concatenate((zero, of_function[trace.function][own]))
    )
    order = np.argsort(trace.ids, kind="stable")
    at = np.minimum(np.searchsorted(trace.ids[order], trace.nodes), max(len(order) - 1, 0))
    known = (trace.ids[order][at] == trace.nodes) & (trace.nodes != 0)
    # nodes without a frame are charged to none, like their objects
    allocated = np.concatenate((np.zeros((2, 1), np.int64), trace.allocated[:, own]), axis=1)
    return tree, np.where(known, nodes[order][at], 0).astype(np.uint32), allocated


def _definitions(
    locations: dict[str, Rows],
    edges: Edges,
    names: U32,
    texts: Texts,
    frames: _Frames,
) -> Rows:
    """Return rows of PLACE_DTYPE: definitions of closures, and constructors of instances.

    Scripts have numbers, and their names are found through any closure in them; newer files have the script's object.
    """
    count = len(names)
    # without sorting, as nearly every function of a large file has one
    rows_of = np.empty(count, np.uint32)
    kernel.rows_of(locations["object_index"], rows_of)
    # scripts have small numbers, but any will do, because equal ones get equal places
    ids = locations["script_id"]
    script = ids if int(ids.max(initial=0)) <= count else first_equal(ids).astype(np.uint64)
    named = np.zeros(int(script.max(initial=0)) + 1, np.uint32)
    kernel.name_scripts(
        rows_of, script, locations.get("script_object_index", _NOTHING), edges,
        texts.mask("shared"), texts.mask("script", "script_or_debug_info"), names, named,
    )  # fmt: skip
    used = np.zeros(len(texts), np.uint8)
    rows = np.empty(kernel.count_places(rows_of, script, locations["line"], named, used), PLACE_DTYPE)
    # all functions of a bundle may be on one line
    has_columns = np.zeros(len(texts), np.uint8)
    mapped = [number for number in np.flatnonzero(used).tolist() if frames.mapped(number) is not None]
    if "column" in locations:
        has_columns[mapped] = 1
    # the same function has many closures
    numbered = kernel.number_places(
        rows_of, script, locations["line"], locations.get("column", _NOTHING), names, named, has_columns,
        int.from_bytes(os.urandom(8), "little"), rows.view(np.uint32).reshape(-1, 2),
    )  # fmt: skip
    keys = np.asarray(numbered).reshape(-1, 4)
    used[:] = 0
    used[keys[:, 0]] = 1
    frames.know(np.flatnonzero(used).tolist())
    rows["frame"] = np.array(frames.numbers(keys.tolist()), np.uint32)[rows["frame"]]
    return rows


def _declared(declared: Declared, places: Rows, frames: _Frames) -> U32:
    """The frame of each function: of a closure, which V8 records, or else by its position."""
    found = np.full(len(declared.name), NONE, np.uint32)
    at = np.searchsorted(places["object"], declared.closure)
    known = at < len(places)
    known[known] = places["object"][at[known]] == declared.closure[known]
    found[known] = places["frame"][at[known]]
    rows = zip(*(each.tolist() for each in (declared.script, declared.line, declared.column)), strict=True)
    for number, (script, line, column) in enumerate(rows):
        if not known[number] and line and frames.is_named(script):
            found[number] = frames.number_of(declared.name[number] or _ANONYMOUS, script, line, column)
    return found

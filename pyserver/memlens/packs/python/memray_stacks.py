"""The stacks of a memray capture: frames of Python, and with ``--native`` those of C among them.

A native stack has a frame of the interpreter's loop for each entry into it. Such a frame stands for the frames of
Python that were run by that entry, which take its place. Where no binary names those frames, only Python's are known.

Source: ``hybrid_stack_trace`` in ``src/memray/_memray.pyx`` of memray.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from memlens.arrays import I64, U32, U64, rows_of
from memlens.formats.containers import Source
from memlens.formats.stacks import Numbers
from memlens.formats.symbols.lookup import Found, Region, Symbols
from memlens.formats.warnings import counted_warnings
from memlens.kernels.tree.stacks import depths
from memlens.model.frames import (
    MOST_LINE,
    MOST_NAME,
    MOST_PATH,
    SourceFrame,
    profiled_frame,
    shortened_text,
)
from memlens.model.info import FileWarning
from memlens.model.profile import Column, StackTree
from memlens.packs.python.kernels import memray_records as kernel
from memlens.packs.python.kernels.memray_lines import fill_lines
from memlens.packs.python.memray_header import Header

_LOOP, _TAIL_CALL = "_PyEval_EvalFrameDefault", "_TAIL_CALL_"
"""Functions that run Python's code. Names that begin with the second one continue with that of an instruction."""
_SINCE_CODE_OBJECTS = 12
"""The first version of the header whose frames are places in code objects."""

_LEAST_MIXED, _MIXED_OF_BYTE = 1 << 21, 4
"""Limit on the frames of all places' native stacks: the larger of a constant and of a number per byte of the capture.
Real captures have up to 1.6 frames per byte.
"""
_LEAST_CALLS, _BYTES_OF_CALL = 1 << 18, 8
"""Limit on the native frames that are named: a constant, and one more for each ``_BYTES_OF_CALL`` of the capture."""
_LEAST_NODES, _BYTES_OF_NODE = 1 << 20, 4
"""Limit on the nodes that native stacks add to the tree, likewise. Real captures need one node per 8 bytes."""


class Tables(NamedTuple):
    """The kernel's tables of frames."""

    frames: U64
    """Three numbers for each frame: its code object or own number, the instruction, and whether it enters the loop."""
    nodes: U64
    """For each node but the root its parent in the upper half, and its frame."""
    codes: Column
    old_frames: Column
    lines: Column
    natives: Column
    segments: Column

    @classmethod
    def of(cls, reader: kernel.Reader) -> "Tables":
        """Take the tables of a reader that has finished."""
        return cls(
            np.asarray(reader.take("frames")).reshape(-1, 3),
            np.asarray(reader.take("nodes")),
            *(
                rows_of(reader.take(name))
                for name in ("codes", "old_frames", "tables", "natives", "segments")
            ),
        )


class Stacks:
    """Builds the tree of the stacks of places."""

    def __init__(self, reader: kernel.Reader, header: Header, source: Source) -> None:
        self.reader = reader
        self.header = header
        self.source = source
        self.tables = Tables.of(reader)
        self.frames: Numbers[SourceFrame] = Numbers()
        self.impossible_lines = 0
        self._symbol_warnings: list[FileWarning] = []
        self._left_out = 0
        self._parents = array("I", [0])
        self._frame_of_node = array("I", [0])
        self._children: dict[int, int] = {}
        self._of_frames: dict[int, int] = {}
        self._texts: dict[int, str] = {}
        self._cut: dict[tuple[int, int], tuple[str, str]] = {}
        self._codes = {row: number for number, row in enumerate(self.tables.codes["id"].tolist())}
        self._old = dict(
            zip(
                reversed(self.tables.old_frames["id"].tolist()),
                reversed(range(len(self.tables.old_frames))),
                strict=True,
            )
        )

    def warnings(self) -> list[FileWarning]:
        """Return warnings about the stacks: symbols that are missing, and native stacks that were left out."""
        return [*self._symbol_warnings, *counted_warnings(plain_stacks=self._left_out)]

    def tree(self) -> StackTree:
        """The tree so far."""
        return StackTree(np.array(self._parents, np.uint32), np.array(self._frame_of_node, np.uint32))

    def child(self, parent: int, frame: SourceFrame) -> int:
        """Return the node of a stack extended by one frame."""
        return self._child(parent, self.frames[frame])

    def _child(self, parent: int, frame: int) -> int:
        node = self._children.setdefault(parent << 32 | frame, len(self._parents))
        if node == len(self._parents):
            self._parents.append(parent)
            self._frame_of_node.append(frame)
        return node

    # ---- Python ----

    def of_places(self, places: Column, is_main: Column) -> I64:
        """The node of each place; those of the main thread lack the frames that aren't the program's."""
        nodes, natives = places["node"], places["native"]
        plain = self._python(nodes[~is_main | (self.header.skipped_frames == 0)], 0)
        main = (
            self._python(nodes[is_main], self.header.skipped_frames) if self.header.skipped_frames else plain
        )
        found = np.where(is_main, main[nodes], plain[nodes])
        mixed = self._within_bounds(nodes, natives) if self.header.native else np.empty(0, np.int64)
        if len(mixed):
            rows = list(
                zip(
                    nodes[mixed].tolist(), natives[mixed].tolist(), places["generation"][mixed].tolist(),
                    is_main[mixed].tolist(), found[mixed].tolist(), strict=True,
                )
            )  # fmt: skip
            found[mixed] = self._hybrid(rows)
        return found

    def _python(self, wanted: U32, skipped: int) -> I64:
        """The node in the tree of each of the capture's nodes that ``wanted`` needs, without outermost frames."""
        packed = self.tables.nodes
        parents, frames = (packed >> np.uint64(32)).tolist(), (packed & np.uint64(0xFFFFFFFF)).tolist()
        needed = np.zeros(len(parents) + 1, np.bool_)
        needed[wanted] = True
        is_needed = needed.tolist()
        for node in range(len(parents), 0, -1):
            if is_needed[node]:
                is_needed[parents[node - 1]] = True
        depths = [0] * (len(parents) + 1)
        of_nodes = [0] * (len(parents) + 1)
        for node in range(1, len(parents) + 1):
            if is_needed[node]:
                parent = parents[node - 1]
                depths[node] = depths[parent] + 1
                if depths[node] > skipped:
                    of_nodes[node] = self._child(of_nodes[parent], self._frame(frames[node - 1]))
        return np.array(of_nodes, np.int64)

    def _frame(self, number: int) -> int:
        """The number among ``frames`` of one of the capture's frames."""
        found = self._of_frames.get(number)
        if found is None:
            function, file, line = self._place(number)
            self.impossible_lines += not 0 <= line <= MOST_LINE
            found = self._of_frames[number] = self.frames[profiled_frame(file, line, function)]
        return found

    def _place(self, number: int) -> tuple[str, str, int]:
        """The function, the file and the line of a frame."""
        if self.header.version < _SINCE_CODE_OBJECTS:
            row = self._old.get(number)
            if row is None:
                return "", "", 0
            old = self.tables.old_frames[row]
            return *self._names(old), int(old["line"])
        row = self._codes.get(int(self.tables.frames[number, 0]))
        if row is None:
            return "", "", 0
        code = self.tables.codes[row]
        return *self._names(code), int(self._lines[number])

    def _names(self, row: Column) -> tuple[str, str]:
        """The function and the file of a code object; frames share the texts, which are cut to their lengths once."""
        key = int(row["function"]), int(row["file"])
        if key not in self._cut:
            function, file = map(self._text, key)
            self._cut[key] = shortened_text(function, MOST_NAME), shortened_text(file, MOST_PATH)
        return self._cut[key]

    @cached_property
    def _lines(self) -> I64:
        """The line of each frame that is a place in a code object; the table of each of these is read once."""
        frames = self.tables.frames
        offsets = frames[:, 1].view(np.int64)
        order = np.lexsort((offsets, frames[:, 0]))
        code_ids, starts = np.unique(frames[order, 0], return_index=True)
        lines = np.zeros(len(frames), np.int64)
        for code_id, rows in zip(code_ids.tolist(), np.split(order, starts[1:]), strict=True):
            row = self._codes.get(code_id)
            if row is not None:
                code, found = self.tables.codes[row], np.empty(len(rows), np.int64)
                fill_lines(
                    self.tables.lines, int(code["table"]), int(code["table_bytes"]), self.header.python,
                    int(code["line"]), offsets[rows], found,
                )  # fmt: skip
                lines[rows] = found
        return lines

    def _text(self, number: int) -> str:
        text = self._texts.get(number)
        if text is None:
            text = self._texts[number] = self.reader.text_at(number)
        return text

    def _is_entry(self, number: int) -> bool:
        """Whether a frame was run by an entry of its own into the interpreter's loop."""
        if self.header.version < _SINCE_CODE_OBJECTS:
            row = self._old.get(number)
            return row is None or bool(self.tables.old_frames["table"][row])
        return bool(self.tables.frames[number, 2])

    # ---- native ----

    def _within_bounds(self, nodes: U32, natives: U32) -> I64:
        """Return the places whose native stacks are read: the first ones, up to the limit on frames."""
        mixed = np.flatnonzero(natives)
        native_depths, python_depths = (
            _depths(parents)
            for parents in (self.tables.natives["parent"], self.tables.nodes >> np.uint64(32))
        )
        frames = np.cumsum(native_depths[natives[mixed]] + python_depths[nodes[mixed]])
        most = max(_LEAST_MIXED, _MIXED_OF_BYTE * self.reader.position)
        kept = mixed[: np.searchsorted(frames, most, "right")]
        self._left_out += len(mixed) - len(kept)
        return kept

    def _hybrid(self, rows: list[tuple[int, int, int, bool, int]]) -> list[int]:
        """Return the node of each place, with the native frames among those of Python.

        ``rows`` are (Python's node, native frame, generation of segments, main thread?, node without native frames).
        """
        instructions = self.tables.natives["instruction"].tolist()
        parents = self.tables.natives["parent"].tolist()
        mapped = _Mapped(self.tables.segments, self._text)
        calls: dict[tuple[int, int], tuple[int, Region | None]] = {}
        seen: set[tuple[int, int]] = set()
        most_seen = _LEAST_CALLS + self.reader.position // _BYTES_OF_CALL
        named_rows = 0
        for _, innermost, generation, *_ in rows:
            if len(seen) > most_seen:
                break
            named_rows += 1
            native = innermost
            while native and (native, generation) not in seen:
                seen.add((native, generation))
                key = (instructions[native - 1], generation)
                # return addresses are after their calls
                calls[key] = (max(key[0], 1) - 1, mapped.at(*key))
                native = parents[native - 1]
        symbols = Symbols(self.source)
        found = symbols.look_up(dict.fromkeys(calls.values()))
        self._symbol_warnings = symbols.warnings()
        named = {key: _named(call, region, found) for key, (call, region) in calls.items()}
        numbered = {
            key: [(self.frames[frame], _runs_python(frame.function)) for frame in frames]
            for key, frames in named.items()
        }
        known: dict[tuple[int, int, int, bool], int] = {}
        most_nodes = len(self._parents) + _LEAST_NODES + self.reader.position // _BYTES_OF_NODE
        for node, innermost, generation, is_main, plain in rows[:named_rows]:
            place = (node, innermost, generation, is_main)
            if place not in known and len(self._parents) > most_nodes:
                known[place] = plain
                self._left_out += 1
            elif place not in known:
                frames: list[tuple[int, bool]] = []
                native = innermost
                while native:
                    frames += numbered[instructions[native - 1], generation]
                    native = parents[native - 1]
                known[place] = self._merged(node, frames[::-1], plain, is_main=is_main)
        self._left_out += len(rows) - named_rows
        return [known.get(row[:4], row[4]) for row in rows]

    def _merged(self, node: int, native: list[tuple[int, bool]], plain: int, *, is_main: bool) -> int:
        """The node of a stack with both kinds of frames; ``plain`` is that of Python's alone."""
        packed = self.tables.nodes
        python: list[tuple[int, bool]] = []
        while node:
            parent, frame = divmod(int(packed[node - 1]), 1 << 32)
            python.append((self._frame(frame), self._is_entry(frame)))
            node = parent
        left = len(python) - 1
        skipped = self.header.skipped_frames if is_main else 0
        first_kept = left - skipped
        merged = 0
        for frame, runs_python in native:
            if left < 0 or not runs_python:
                merged = self._child(merged, frame)
                continue
            while True:
                if skipped and left == first_kept:
                    merged = 0
                merged = self._child(merged, python[left][0])
                left -= 1
                if left < 0 or python[left][1]:
                    break
        # some entries weren't recognised
        return plain if left >= 0 else merged


def _depths(parents: U64) -> I64:
    """The depth of each node of a tree whose nodes count from 1, and of its root."""
    of_nodes = np.zeros(len(parents) + 1, np.uint32)
    depths(np.append(0, parents).astype(np.uint32), of_nodes)
    return of_nodes.astype(np.int64)


class _Mapped:
    """The parts of binaries that were mapped, by the generation of their list."""

    def __init__(self, segments: Column, text_at: Callable[[int], str]) -> None:
        self._regions: dict[int, tuple[list[int], list[Region]]] = {}
        generations: dict[int, dict[Region, None]] = {}
        for address, start, size, file, generation in segments.tolist():
            region = Region(
                text_at(file), address + start, address + start + size, start, is_whole=False, bias=address
            )
            generations.setdefault(generation, {})[region] = None
        for generation, regions in generations.items():
            ordered = sorted(regions, key=lambda region: (region.start, region.end))
            self._regions[generation] = ([region.start for region in ordered], ordered)

    def at(self, address: int, generation: int) -> Region | None:
        """What was mapped at an address."""
        starts, regions = self._regions.get(generation, ([], []))
        row = bisect_right(starts, address) - 1
        return regions[row] if row >= 0 and address < regions[row].end else None


def _named(call: int, region: Region | None, found: Found) -> list[SourceFrame]:
    """The frames of an address, innermost first."""
    module = region.path if region is not None else ""
    places = found.get((call, region)) if region is not None else None
    if places:
        return [profiled_frame(place.file, place.line, place.function, module) for place in places]
    return [profiled_frame("", 0, f"0x{call:x}", module)]


def _runs_python(function: str) -> bool:
    return _LOOP in function or function.startswith(_TAIL_CALL)

"""The contents of an archive in the terms of the replays: stacks as numbers of a tree, figures by stack and line."""

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.python.replays.stacks import NO_FILE, Frame, Tree, known_line

from memlens.cli import main
from memlens.formats.symbols.rust_names import demangled
from memlens.model.charging import passed_over
from memlens.model.frames import NATIVE, POSSIBLE_ARENA
from memlens.packs.native.massif import NO_TREE
from memlens.store.snapshot import Snapshot
from memlens.store.totals import line_totals

I64 = npt.NDArray[np.int64]

Kinds = dict[Frame, int]
"""Whose code a frame is; the rules for that are tested elsewhere."""


def source_lines(snapshot: Snapshot) -> list[tuple[str, int, str, int, list[int]]]:
    """The source lines of an archive: file, line, function, kind, and the figures of :func:`line_totals`."""
    rows, totals = list(snapshot.frames.each()), line_totals(snapshot).tolist()
    return [
        (*rows[frame], figures) for frame, figures in zip(snapshot.lines.frame.tolist(), totals, strict=True)
    ]


class Archived:
    """A snapshot's archive, its stacks numbered as ``tree`` numbers them."""

    def __init__(self, snapshot: Snapshot, tree: Tree) -> None:
        self.snapshot = snapshot
        rows = list(snapshot.frames.each())
        self.frames = [Frame(function, file, line) for file, line, function, _ in rows]
        self.kinds: Kinds = {}
        for frame, (_, _, _, kind) in zip(self.frames, rows, strict=True):
            self.kinds[frame] = kind
        self._last: dict[Frame, int] = {}
        self.tree = tree
        parents = snapshot.tree.parent.tolist()
        frames = snapshot.tree.frame.tolist()
        numbers, depths = [0] * len(parents), [0] * len(parents)
        # the mark of a truncated stack isn't a frame of the file
        marks = {number for number, frame in enumerate(self.frames) if is_mark(frame)}
        for node in range(1, len(parents)):
            frame, caller = frames[node], parents[node]
            depths[node] = depths[caller] + 1
            outer = numbers[caller]
            numbers[node] = outer if frame in marks else tree.call(outer, self.frames[frame])
        nodes = snapshot.stacks.node
        self.stacks: I64 = np.asarray(numbers, np.int64)[nodes]
        """The tree's number of each of the archive's stacks."""
        self.stack_frames = int(np.asarray(depths)[nodes].sum())
        """The total number of frames in all stacks."""

    def rank_mine(self, frame: Frame) -> int:
        """The order in which memlens attributes a stack to its frames when the user's code comes first."""
        return self._passed_over(frame) or self.kinds.get(frame, NATIVE)

    def rank_any(self, frame: Frame) -> int:
        """The order for any code: the innermost frame first, but in a trace Python before C++."""
        is_trace = self.snapshot.info.model == "timeline"
        return self._passed_over(frame) or int(is_trace and self.kinds.get(frame, NATIVE) == NATIVE)

    def _passed_over(self, frame: Frame) -> int:
        """The rank of a frame that is used only if there is no other, else 0; which these are is tested elsewhere."""
        last = self._last.get(frame)
        if last is None:
            kind = self.kinds.get(frame, NATIVE)
            last = int(passed_over([(frame.file, frame.function, kind)], self.snapshot.info.model)[0])
            self._last[frame] = last
        return last

    def is_python(self, frame: Frame) -> bool:
        """Whether memlens takes a frame for Python code, or for a library's."""
        return self.kinds.get(frame, NATIVE) != NATIVE


def is_mark(frame: Frame) -> bool:
    """Whether a frame is only a remark about missing frames, or about what the stack may represent."""
    return not frame.file and (
        frame.function in ("(stack cut off)", NO_TREE.function, POSSIBLE_ARENA.function)
        or frame.function.startswith("(cut off after ")
    )


@lru_cache(maxsize=1 << 16)
def shown(frame: Frame) -> Frame:
    """A frame of a replay as memlens shows it: the module stands in for a missing file or name."""
    if frame.file not in NO_FILE:
        return Frame(frame.function, frame.file, known_line(frame.file, frame.line))
    module = frame.module.rpartition("/")[2]
    is_address = module and frame.function.startswith("0x")
    return Frame(f"{module} at {frame.function}" if is_address else frame.function, frame.module, 0)


@lru_cache(maxsize=1 << 16)
def heaptrack_shown(frame: Frame) -> Frame:
    """A frame of heaptrack, whose names may be missing, or mangled, which is tested elsewhere."""
    return shown(frame._replace(function=demangled(frame.function) or "?"))


@lru_cache(maxsize=1 << 16)
def tracemalloc_shown(frame: Frame) -> Frame:
    """A frame of tracemalloc, which records no functions: it is named by its place."""
    name = frame.file.replace("\\", "/").rpartition("/")[2]
    return shown(frame._replace(function=f"{name}:{frame.line}" if frame.line else name))


def shown_tree(tree: Tree, name: Callable[[Frame], Frame] = shown) -> tuple[Tree, list[int]]:
    """The tree of the frames as memlens shows them, and the number there of each of the tree's stacks."""
    found, numbers = Tree(), [0]
    for caller, frame in zip(tree.parents[1:], tree.frames[1:], strict=True):
        assert frame is not None
        numbers.append(found.call(numbers[caller], name(frame)))
    return found, numbers


class Commands:
    """Runs memlens' commands on one file."""

    def __init__(self, path: Path, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._path, self._cache, self._capsys = path, cache, capsys

    def printed(self, command: str, *options: str) -> str:
        """What a command prints."""
        self._capsys.readouterr()
        first, rest = (options[:1], options[1:]) if command == "sql" else ((), options)
        assert main([command, str(self._path), *first, *rest, "--cache-dir", str(self._cache)]) == 0
        return self._capsys.readouterr().out

    def json(self, command: str, *options: str) -> Any:
        """The output of a command that prints JSON."""
        return json.loads(self.printed(command, *options, "--json"))

    def sql(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query."""
        rows: list[dict[str, Any]] = self.json("sql", query)
        return rows

    def lines(self, *options: str) -> list[dict[str, Any]]:
        """The sums of lines. With what is attributed to no line they add up to the total."""
        answer = self.json("lines", "--top", "1000000", *options)
        assert answer["attribution"] == ("any" if "--any-code" in options else "mine")
        check_charged(answer)
        rows: list[dict[str, Any]] = answer["lines"]
        return rows


def check_charged(answer: dict[str, Any]) -> None:
    """What ``memlens lines`` says is charged to lines, by kind, is the sum of these, and all together is the total."""
    rows, charged, total = answer["lines"], answer["charged"], answer["total"]
    by_kind = {each["to"]: each for each in charged}
    if isinstance(total, int):
        figures = {"amount": "itself"}
        total = {"amount": total}
    else:
        figures = {name: f"self_{name}" for name in ("total_bytes", "count", "live_at_peak_bytes")}
        figures["live_at_end_bytes"] = ""
    for figure, own in figures.items():
        assert sum(each[figure] for each in charged) == total[figure]
        for kind in ("user", "library", "native"):
            if own:
                lines = sum(row[own] for row in rows if row["kind"] == kind)
                assert by_kind.get(kind, {}).get(figure, 0) == lines

"""What an archive holds, in the terms of the replays: stacks as numbers of a tree, figures by stack and by line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tests.python.replays.stacks import Frame, Tree

from memlens.cli import main
from memlens.model.frames import NATIVE
from memlens.store.snapshot import Snapshot

I64 = npt.NDArray[np.int64]

Kinds = dict[Frame, int]
"""Whose code a frame is; the rules for that have tests of their own."""


class Archived:
    """A snapshot's archive, its stacks numbered as ``tree`` numbers them."""

    def __init__(self, snapshot: Snapshot, tree: Tree) -> None:
        self.snapshot = snapshot
        rows = snapshot.text.execute("SELECT file, line, function, kind FROM frames ORDER BY id").fetchall()
        self.frames = [Frame(function, file, line) for file, line, function, _ in rows]
        self.kinds: Kinds = {}
        for frame, (_, _, _, kind) in zip(self.frames, rows, strict=True):
            self.kinds[frame] = kind
        self.tree = tree
        self.stacks: I64 = self._numbered()
        """The tree's number of each of the archive's stacks."""

    def _numbered(self) -> I64:
        parents = self.snapshot.column("node_parent").tolist()
        frames = self.snapshot.column("node_frame").tolist()
        numbers = [0] * len(parents)
        for node in range(1, len(parents)):
            frame, caller = self.frames[frames[node]], numbers[parents[node]]
            # what marks a stack that was cut off is no frame of the file
            numbers[node] = caller if is_mark(frame) else self.tree.call(caller, frame)
        nodes = self.snapshot.column("stack_node")
        return np.asarray(numbers, np.int64)[nodes]

    def is_python(self, frame: Frame) -> bool:
        """Whether memlens takes a frame for one of Python code, or of a library's."""
        return self.kinds.get(frame, NATIVE) != NATIVE


def is_mark(frame: Frame) -> bool:
    """Whether a frame only says that callers are missing."""
    return not frame.file and (
        frame.function == "(stack cut off)" or frame.function.startswith("(cut off after ")
    )


class Commands:
    """memlens' command line about one file."""

    def __init__(self, path: Path, cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._path, self._cache, self._capsys = path, cache, capsys

    def printed(self, command: str, *options: str) -> str:
        """What a command prints."""
        self._capsys.readouterr()
        first, rest = (options[:1], options[1:]) if command == "sql" else ((), options)
        assert main([command, str(self._path), *first, *rest, "--cache-dir", str(self._cache)]) == 0
        return self._capsys.readouterr().out

    def json(self, command: str, *options: str) -> Any:
        """The same of a command that prints JSON."""
        return json.loads(self.printed(command, *options, "--json"))

    def sql(self, query: str) -> list[dict[str, Any]]:
        """The rows that a query gives."""
        rows: list[dict[str, Any]] = self.json("sql", query)
        return rows

    def lines(self, *options: str) -> list[dict[str, Any]]:
        """What lines come to."""
        rows: list[dict[str, Any]] = self.json("lines", *options)
        return rows

"""Snapshots of Python's tracemalloc (``Lib/tracemalloc.py``): a pickle of traces, each a live block.

A trace is ``(domain, size, frames, number of all frames)``; frames are pairs of file and line, the most recent first.
Functions aren't recorded, and callers beyond the limit aren't either.
"""

import pickle
from pathlib import Path
from typing import Any

from tests.python.replays.stacks import Frame, Profile


class _Object:
    """A substitute for the two classes of a snapshot."""

    state: dict[str, Any]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.state = state


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        assert (module, name) in (("tracemalloc", "Snapshot"), ("tracemalloc", "_Traces"))
        return _Object


def traces(path: Path) -> list[Any]:
    """A snapshot's traces, unchanged."""
    with path.open("rb") as file:
        snapshot = _Unpickler(file).load()
    traces: list[Any] = snapshot.state["traces"].state["_traces"]
    return traces


def read(path: Path) -> Profile:
    """Live bytes and blocks."""
    profile = Profile(["size", "count"])
    for _, size, frames, *_ in traces(path):
        profile.add([Frame("", file, line) for file, line in frames], (size, 1))
    return profile

"""massif's text (``massif/ms_main.c``): detailed snapshots have a tree of who held how much, callers below callees.

A node's bytes are those of all below it, so what is a node's own is what its children leave. Functions inlined at an
address are nodes of their own that repeat it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.python.replays.stacks import Frame, Profile
from tests.python.replays.valgrind import frame_of

BELOW = Frame("(below massif's threshold)", "", 0)
"""Callers that massif added up, as each held less than its threshold."""

Held = Counter[tuple[Frame, ...]]
_NODE = re.compile(r" *n(\d+): (\d+) ?(.*)")


class Snapshot(NamedTuple):
    """A snapshot with a tree: ``kind`` is detailed or peak, ``held`` each stack's bytes."""

    number: int
    kind: str
    heap_bytes: int
    held: Held


def snapshots(path: Path) -> Iterator[Snapshot]:
    """The snapshots that have a tree."""
    lines = iter(path.read_text("utf-8").splitlines())
    number = heap = 0

    def node(stack: tuple[Frame, ...], held: Held) -> int:
        found = _NODE.fullmatch(next(lines))
        assert found is not None
        children, size, text = int(found[1]), int(found[2]), found[3]
        if not text.startswith("("):  # the root says what massif takes for an allocation
            stack = (*stack, BELOW if re.match(r"in \d+ place", text) else frame_of(text))
        held[stack] += size - sum(node(stack, held) for _ in range(children))
        return size

    for line in lines:
        name, _, value = line.partition("=")
        if name == "snapshot":
            number = int(value)
        elif name == "mem_heap_B":
            heap = int(value)
        elif name == "heap_tree" and value != "empty":
            held: Held = Counter()
            node((), held)
            yield Snapshot(number, value, heap, +held)


def read(path: Path) -> Profile:
    """What was held at the peak, and at the last snapshot that tells it where that is another.

    massif marks the peak; of a file without a mark it is the snapshot with the most, of those that have a tree.
    """
    found = list(snapshots(path))
    marked = [each for each in found if each.kind == "peak"]
    peak = marked[-1] if marked else max(found, key=lambda each: each.heap_bytes)
    of = {"peak_bytes": peak} if found[-1] is peak else {"peak_bytes": peak, "last_bytes": found[-1]}
    profile = Profile(list(of))
    for stack in {stack for each in found for stack in each.held}:
        profile.add(stack, [each.held[stack] for each in of.values()])
    return profile

"""massif's text (``massif/ms_main.c``): detailed snapshots have a tree of live bytes, callers below callees.

A node's bytes are those of all below it, so what is a node's own is what its children leave. Functions inlined at an
address are nodes of their own that repeat it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.python.replays.stacks import Frame, Profile
from tests.python.replays.valgrind import entered, frame_of

BELOW = Frame("(below massif's threshold)", "", 0)
"""Callers that massif merged because each is below its threshold."""

Held = Counter[tuple[Frame, ...]]
_NODE = re.compile(r" *n(\d+): (\d+) ?(.*)")


class Snapshot(NamedTuple):
    """A snapshot with a tree: ``kind`` is detailed or peak, ``held`` has each stack's bytes."""

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
        if not text.startswith("("):  # the root describes what massif counts as an allocation
            stack = (*stack, BELOW if re.match(r"in \d+ place", text) else frame_of(text))
        own = size - sum(node(stack, held) for _ in range(children))
        held[entered(stack)] += own
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


def highest_heap(path: Path) -> int:
    """The largest heap of all snapshots, including those without a tree."""
    return max(
        int(value) for value in re.findall(r"^mem_heap_B=(\d+)$", path.read_text("utf-8"), re.MULTILINE)
    )


def read(path: Path) -> Profile:
    """The live bytes at the peak, and at the last snapshot with a tree if that is another one.

    The peak is the snapshot with the largest heap. Where that one has no tree, the stacks are those of the highest
    that has one, and the rest has no stack. Among equals the one marked as the peak is meant.
    """
    trees = list(snapshots(path))
    tree = max(trees, key=lambda each: (each.heap_bytes, each.kind == "peak", each.number))
    of = {"peak_bytes": tree} if trees[-1] is tree else {"peak_bytes": tree, "last_bytes": trees[-1]}
    profile = Profile(list(of))
    for stack in {stack for each in trees for stack in each.held}:
        profile.add(stack, [each.held[stack] for each in of.values()])
    rest = highest_heap(path) - tree.heap_bytes
    if rest:
        profile.add((), [rest, *[0] * (len(of) - 1)])
    return profile

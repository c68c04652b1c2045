"""Helpers for tests of readers of heap dumps: a Graph as plain Python, and damaged files."""

import random
import tempfile
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tests.python.graphs import STRONG, WEAK, SmallGraph

from memlens.errors import MemlensError
from memlens.formats import read
from memlens.formats.containers import open_source
from memlens.formats.tools import Tools
from memlens.kernels.graph import dominators as kernel
from memlens.kernels.graph import reach, referrers
from memlens.kernels.graph.columns import References
from memlens.model.graph import Graph

Rows = npt.NDArray[Any]

_MAGIC_BYTES = 64

Edge = tuple[str, str, int]
"""Kind, name (or index) and the target's id."""


def load(path: Path, dump: int | None = None, folders: tuple[Path, ...] = ()) -> Graph:
    """Read a file as the ingest does; ``folders`` are those of the workspace."""
    with open_source(path, Path(tempfile.gettempdir()), lambda *_: None) as source:
        source.dump = dump
        source.tools = Tools(source_folders=folders)
        graph = read(source, Path(tempfile.gettempdir()), lambda *_: None)
    assert isinstance(graph, Graph)
    return graph


def type_names(graph: Graph) -> list[str]:
    """The name of each object's type."""
    names = [graph.texts[number] for number in graph.types.name.tolist()]
    return [names[number] for number in graph.objects.type.tolist()]


def edges(graph: Graph) -> list[list[Edge]]:
    """The references of each object, in order."""
    texts = [graph.texts[number] for number in range(len(graph.texts))]
    ids, kinds, starts = graph.objects.ids.tolist(), graph.reference_kinds, graph.references.start.tolist()
    targets, names = graph.references.target.tolist(), graph.references.name.tolist()
    whole: list[Edge] = []
    for target, kind, name in zip(targets, graph.references.kind.tolist(), names, strict=True):
        label = {"text": texts[name] if kinds[kind].naming == "text" else "", "index": str(name), "none": ""}
        whole.append((kinds[kind].name, label[kinds[kind].naming], ids[target]))
    return [whole[start:end] for start, end in pairwise(starts)]


def followed(graph: Graph, left_out: Collection[str]) -> Rows:
    """Which kinds of references keep their targets alive, without some of them; for the kernels."""
    follows = np.zeros(256, np.uint8)
    for number, each in enumerate(graph.reference_kinds):
        follows[number] = each.retains and each.name not in left_out
    return follows


def plainly(graph: Graph, follows: Rows) -> SmallGraph:
    """The graph of a small dump, for slow answers; only the references that are followed retain."""
    starts, targets = graph.references.start.tolist(), graph.references.target.tolist()
    kinds = [STRONG if follows[kind] else WEAK for kind in graph.references.kind.tolist()]
    edges = [list(zip(targets[start:end], kinds[start:end], strict=True)) for start, end in pairwise(starts)]
    return SmallGraph(edges, [], graph.objects.type.tolist(), graph.objects.shallow.tolist())


def dominated(
    graph: Graph, follows: Rows, roots: Rows, sizes: Rows, *, attached: bool
) -> tuple[Rows, Rows, Rows]:
    """The reachable heap (0 or 1), each object's dominator, and what it retains, by the rules of another tool.

    ``attached``: what is reachable and an unreachable object refers to as well is dominated by nothing.
    """
    start, target, kind = graph.references.start, graph.references.target, graph.references.kind
    count = len(graph.objects)
    reached = np.zeros(count, np.uint8)
    reach.reached_from(References(start, target, kind, follows), roots, reached)

    def turned() -> tuple[Rows, Rows, Rows]:
        back = np.empty_like(start), np.empty_like(target), np.empty_like(kind)
        referrers.referrers(start, target, kind, *back)
        return back

    vertices, _, order, idom, _ = kernel.dominators(
        References(start, target, kind, follows), True, roots, -1, attached, turned, np.empty
    )
    sums, retained = np.empty(vertices, np.uint64), np.empty(count, np.uint64)
    dominator = np.empty(count, np.uint32)
    kernel.retained_sizes(order[:vertices], idom[:vertices], vertices, sizes, sums)
    kernel.by_object(order[:vertices], idom[:vertices], sums, dominator, retained)
    return reached, dominator, retained


def roots(graph: Graph) -> list[tuple[str, int, str, str]]:
    """Kind, id of the object, detail, and the frame's place of each root."""
    frames = graph.frames.frames
    return [
        (
            graph.root_kinds[kind],
            int(graph.objects.ids[number]),
            graph.texts[detail],
            f"{frames[frame].file}:{frames[frame].line}" if frame < len(frames) else "",
        )
        for number, kind, detail, frame in graph.roots.tolist()
    ]


def damaged(whole: bytes, draw: random.Random) -> bytes:
    """The bytes truncated, or with some flipped, or both; those that identify the format are unchanged."""
    data = bytearray(whole[: draw.randrange(_MAGIC_BYTES + 1, len(whole))] if draw.random() < 0.5 else whole)
    for _ in range(draw.choice((0, 1, 4, 40))):
        data[draw.randrange(_MAGIC_BYTES, len(data))] = draw.randrange(256)
    return bytes(data)


def outcome(path: Path, data: bytes) -> str:
    """The result of reading these bytes: "" for a graph, else the error's sentence. Other exceptions propagate."""
    path.write_bytes(data)
    try:
        load(path)
    except MemlensError as error:
        return str(error)
    return ""

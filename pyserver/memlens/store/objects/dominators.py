"""The dominators of a heap dump's objects, and what each object retains."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.arrays import U8, U32, U64
from memlens.kernels.graph import dominators as kernel
from memlens.kernels.graph.columns import References
from memlens.model.graph import NONE, Graph
from memlens.store.objects.columns import OWNED_DTYPE, REACHED_DTYPE
from memlens.store.objects.room import Room

Rows = npt.NDArray[Any]


class Referrers(NamedTuple):
    """Reversed references: where those to each object begin, their sources and kinds."""

    start: U64
    source: U32
    kind: U8


class Dominators(NamedTuple):
    """Dominators and retained bytes by object."""

    dominator: U32
    retained: U64
    unreached: U32
    """Objects to which no chain of retaining references leads."""
    reached: Rows
    """Rows of REACHED_DTYPE."""
    owned: Rows
    """Rows of OWNED_DTYPE."""


def dominators_of_graph(
    graph: Graph, retains: U8, referrers: Callable[[], Referrers], room: Room
) -> Dominators:
    """Compute dominators along the references whose kind ``retains``; ``referrers`` returns these turned around."""
    references, count = graph.references, len(graph.objects)
    work: list[Rows] = []

    def working(items: int, kind: npt.DTypeLike) -> Rows:
        work.append(room(items, kind))
        return work[-1]

    by_kind = not retains[: len(graph.reference_kinds)].all()
    found, reachable, order, idom, alone = kernel.dominators(
        References(references.start, references.target, references.kind, retains), by_kind, entries(graph),
        -1 if graph.root is None else graph.root, graph.facts.unreachable_attached, referrers, working,
    )  # fmt: skip
    room.again(*(column for column in work if not any(column is each for each in (order, idom, alone))))
    of_vertex = room(found, np.uint64)
    kernel.retained_sizes(order[:found], idom[:found], found, graph.objects.shallow, of_vertex)
    dominator, retained = room(count, np.uint32), room(count, np.uint64)
    kernel.by_object(order[:found], idom[:found], of_vertex, dominator, retained)
    if graph.root is not None and not graph.facts.unreachable_attached:
        _detach(graph, order[reachable:found], idom[reachable:found], dominator, retained)
    rows = np.empty(0, REACHED_DTYPE)
    if alone is not None:
        sums = room(reachable, np.uint64)
        kernel.retained_sizes(order[:reachable], alone, reachable, graph.objects.shallow, sums)
        changed = np.flatnonzero((alone != idom[:reachable]) | (sums != of_vertex[:reachable]))
        changed = changed[changed > 0]
        rows = np.empty(len(changed), REACHED_DTYPE)
        rows["object"], rows["dominator"] = order[changed], order[alone[changed]]
        rows["retained"] = sums[changed]
        room.again(alone, sums)
    owned = _owned(graph, order[:found], idom[:found], of_vertex)
    unreached = order[reachable:found].copy()
    room.again(order, idom, of_vertex)
    return Dominators(dominator, retained, unreached, rows, owned)


def _detach(graph: Graph, unreached: U32, idom: U32, dominator: U32, retained: U64) -> None:
    """Take what no root reaches out of the graph's own root, which stands for all that none dominates."""
    dominator[unreached[idom == 0]] = NONE
    retained[graph.root] -= graph.objects.shallow[unreached].sum(dtype=np.uint64)


def _owned(graph: Graph, order: U32, idom: U32, work: U64) -> Rows:
    """Return rows of OWNED_DTYPE; ``work`` is overwritten."""
    count, natives = len(graph.objects), graph.natives
    if not len(natives):
        return np.empty(0, OWNED_DTYPE)
    # most of it stays untouched zeros, which take no memory
    own = np.zeros(count, np.uint64)
    own[natives["object"]] = natives["bytes"]
    kernel.retained_sizes(order, idom, len(order), own, work)
    holding = np.flatnonzero(work)
    holding = holding[order[holding] < count]
    rows = np.empty(len(holding), OWNED_DTYPE)
    rows["object"], rows["retained"] = order[holding], work[holding]
    rows["native"] = own[rows["object"]]
    return np.sort(rows, order="object")


def entries(graph: Graph) -> U32:
    """The objects at which reachability begins."""
    held = np.isin(graph.roots["kind"], np.array(graph.held_kinds, np.uint32))
    is_entry = np.zeros(len(graph.objects), np.bool_)
    is_entry[graph.roots["object"][~held]] = True
    if graph.root is not None:
        is_entry[graph.root] = True
    return np.flatnonzero(is_entry).astype(np.uint32)

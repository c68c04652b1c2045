"""Sums over all objects that an overview shows, made while their columns are in memory.

Summed up from an archive, they would take as long as unpacking these columns.
"""

from itertools import pairwise

import numpy as np

from memlens.arrays import U32, U64
from memlens.model.graph import Graph
from memlens.model.timeline import NEVER
from memlens.store.manifest import GraphShares, Share

_PART = 1 << 18


def shares_of(graph: Graph, distance: U32) -> GraphShares:
    """The shares of a graph's objects, which have a ``distance`` from the roots each."""
    objects = graph.objects
    unreachable = np.zeros(2, np.uint64)
    flags = np.zeros((len(graph.flags), 2), np.uint64)
    spaces = np.zeros((len(graph.spaces), 2), np.uint64)
    for at in range(0, len(objects), _PART):
        part = slice(at, at + _PART)
        shallow = objects.shallow[part]
        unreachable += _sums(shallow[distance[part] == NEVER])
        if objects.flags is not None:
            flagged = np.flatnonzero(objects.flags[part])
            for bit in range(len(flags)):
                flags[bit] += _sums(shallow[flagged[objects.flags[part][flagged] >> bit & 1 != 0]])
        if objects.space is not None:
            for number in range(len(spaces)):
                spaces[number] += _sums(shallow[objects.space[part] == number])
    return GraphShares(
        Share(*unreachable.tolist()), [Share(*row) for row in flags.tolist()],
        [Share(*row) for row in spaces.tolist()], _of_roots(graph),
    )  # fmt: skip


def _sums(shallow: U64) -> U64:
    return np.array((len(shallow), shallow.sum(dtype=np.uint64)), np.uint64)


def _of_roots(graph: Graph) -> list[Share]:
    """The roots of each kind; of several roots that are one object and kind one counts."""
    kind = graph.roots["kind"]
    rows = kind.astype(np.uint64) << np.uint64(32) | graph.roots["object"]
    # rows are nearly sorted by kind already, which a stable sort makes use of; small integers are sorted by radix
    rows = np.sort(rows[np.argsort(kind.astype(np.uint16), kind="stable")], kind="stable")
    # NumPy's unique builds a hash table, which takes many times as long
    rows = rows[np.append(True, rows[1:] != rows[:-1])[: len(rows)]]
    kinds, shallow = (rows >> np.uint64(32)).astype(np.int64), graph.objects.shallow[rows.astype(np.uint32)]
    ends = np.searchsorted(kinds, np.arange(len(graph.root_kinds) + 1))
    sums = np.append(np.uint64(0), np.cumsum(shallow, dtype=np.uint64))
    return [Share(int(last - first), int(sums[last] - sums[first])) for first, last in pairwise(ends)]

"""Small random graphs, and answers about them by the simplest algorithms, which tests compare with."""

import random
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.kernels.graph import referrers
from memlens.kernels.graph.columns import References

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]

STRONG, WEAK = 0, 1
RETAINS = np.array([1] + [0] * 255, np.uint8)


class SmallGraph(NamedTuple):
    """``edges`` are (target, kind) by source; kind WEAK doesn't retain."""

    edges: list[list[tuple[int, int]]]
    roots: list[int]
    types: list[int]
    shallow: list[int]

    @property
    def objects(self) -> range:
        """The numbers of all objects."""
        return range(len(self.edges))

    def columns(self) -> tuple[U64, U32, U8]:
        """Starts, targets and kinds."""
        starts = np.cumsum([0, *map(len, self.edges)]).astype(np.uint64)
        flat = [edge for edges in self.edges for edge in edges]
        targets = np.array([target for target, _ in flat], np.uint32)
        return starts, targets, np.array([kind for _, kind in flat], np.uint8)

    def references(self) -> References:
        """The references by source, of which those that retain are followed."""
        return References(*self.columns(), RETAINS)

    def referrers(self) -> References:
        """The same by target."""
        return References(*turned(*self.columns()), RETAINS)

    def strong(self, item: int) -> list[int]:
        """What an object refers to by retaining references."""
        return [target for target, kind in self.edges[item] if kind == STRONG]

    def reached(self, sources: Iterable[int], without: frozenset[int] = frozenset()) -> set[int]:
        """What can be reached from some objects without passing through others."""
        seen = {item for item in sources if item not in without}
        waiting = list(seen)
        while waiting:
            for target in self.strong(waiting.pop()):
                if target not in seen and target not in without:
                    seen.add(target)
                    waiting.append(target)
        return seen


def turned(start: U64, target: U32, kind: U8) -> tuple[U64, U32, U8]:
    """Reversed references, in the form that kernels take."""
    back_start, back, back_kind = np.empty_like(start), np.empty_like(target), np.empty_like(kind)
    referrers.referrers(start, target, kind, back_start, back, back_kind)
    return back_start, back, back_kind


def random_graph(seed: int, most: int = 24) -> SmallGraph:
    """A graph of up to ``most`` objects: cycles, parallel references, some to oneself, parts that nothing reaches."""
    rng = random.Random(seed)
    count = rng.randint(1, most)
    density = rng.choice((0.5, 1.0, 1.5, 3.0))
    edges: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for _ in range(int(count * density)):
        kind = WEAK if rng.random() < 0.1 else STRONG
        edges[rng.randrange(count)].append((rng.randrange(count), kind))
    roots = [rng.randrange(count) for _ in range(rng.randint(0, 3))]
    types = [rng.randrange(3) for _ in range(count)]
    return SmallGraph(edges, roots, types, [rng.randrange(100) for _ in range(count)])


def dominator_sets(graph: SmallGraph, roots: Iterable[int]) -> dict[int, set[int]]:
    """What becomes unreachable from ``roots`` without each of the objects that they reach: what that dominates."""
    reached = graph.reached(roots)
    return {item: reached - graph.reached(roots, frozenset((item,))) for item in reached}


def naive_dominators(graph: SmallGraph, roots: Iterable[int]) -> dict[int, int | None]:
    """The immediate dominator of each object that ``roots`` reach, None for what only the roots together dominate.

    Of an object's dominators, each of which is dominated by all before it, it is the one that dominates the fewest.
    """
    sets = dominator_sets(graph, roots)
    found: dict[int, int | None] = {}
    for item in sets:
        above = [other for other, below in sets.items() if item in below and other != item]
        found[item] = min(above, key=lambda other: len(sets[other]), default=None)
    return found


def rooted(graph: SmallGraph) -> SmallGraph:
    """The graph with an additional first object that refers to its roots, as in V8's heaps."""
    edges = [[(root + 1, STRONG) for root in graph.roots]]
    edges += [[(target + 1, kind) for target, kind in each] for each in graph.edges]
    return SmallGraph(edges, [0], [0, *graph.types], [0, *graph.shallow])


def attached(graph: SmallGraph) -> SmallGraph:
    """The graph with all that object 0 doesn't reach held by it: first what nothing refers to, then what is left."""
    rest = set(graph.objects) - graph.reached([0])
    referred = {target for item in rest for target in graph.strong(item) if target != item}
    roots = [0]
    for item in [*(each for each in graph.objects if each not in referred), *graph.objects]:
        if item not in graph.reached(roots):
            roots.append(item)
    edges = [list(each) for each in graph.edges]
    edges[0].extend((item, STRONG) for item in roots[1:])
    return graph._replace(edges=edges)


def native_of(graph: SmallGraph, *, known: bool = True) -> U64:
    """Memory outside of the heap that every third object owns; empty where none is known."""
    own = [size * 5 + 1 if item % 3 == 0 else 0 for item, size in enumerate(graph.shallow)]
    return np.array(own if known else [], np.uint64)

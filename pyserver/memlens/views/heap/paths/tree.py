"""The tree of the shortest paths to many objects, merged by types and names of references."""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from memlens.arrays import I64, U32, Mask
from memlens.errors import BadRequestError
from memlens.kernels.graph.steps import one_up
from memlens.model.graph import ENTRY, Strength
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.listing.lists import fitting
from memlens.views.heap.objects.reference_kinds import engine_s_own, kinds_where, named_by_text, names_of_both
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.reachable.from_roots import (
    distances_through,
    followed,
    incoming,
    outgoing,
    root_kinds,
)
from memlens.views.heap.retained.freed import Freed
from memlens.views.heap.retained.left_out import LeavesOut, Without, without

MOST_OBJECTS = 10_000
"""Limit on merged objects: those that retain most."""
MOST_LENGTH = 300
"""Limit on the length of a path; longer ones are left out."""
_MOST_REFERENCES = 30_000_000
"""Limit on the references examined for one step of all paths."""

ANY_INDEX, NO_NAME, INTERNAL = -1, -2, 1 << 32
"""Special labels of nodes; others are numbers of names."""


@dataclass(frozen=True, slots=True, eq=False)
class MergedPaths:
    """A tree, one row per node; node 0 is above all roots."""

    parent: I64
    label: I64
    type: I64
    objects: I64
    ends: I64
    bytes: I64
    targets: I64
    """The number of distinct objects that paths pass through."""
    example: I64
    left_out: int
    unreachable: int
    only_without: int
    """Objects held only by references that are left out."""
    without: Without | None
    steps: tuple["_Step", ...]
    """The levels of the tree; the first one has the roots."""
    freed: dict[int, Freed | None]
    """Bytes freed by cutting the references of a node, for nodes requested so far."""


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """One level of the paths: distinct objects, their nodes, and their predecessors."""

    node: U32
    item: U32
    above: U32


def merged_tree(
    snapshot: Snapshot,
    kind: int | None,
    group: int | None,
    filter_text: str,
    through: Collection[Strength],
    leaving_out: Collection[LeavesOut] = (),
) -> MergedPaths:
    """Return the whole tree. Raises as :func:`merged_paths` does."""
    return _merged_tree(snapshot, kind, group, filter_text, tuple(sorted(through)), tuple(leaving_out))


@kept
def _merged_tree(
    snapshot: Snapshot,
    kind: int | None,
    group: int | None,
    filter_text: str,
    through: tuple[Strength, ...],
    leaving_out: tuple[LeavesOut, ...],
) -> MergedPaths:
    ways = _Ways.of(snapshot, through, without(snapshot, leaving_out))
    return _merged(snapshot, fitting(snapshot, filter_text, kind, group), ways, is_ordered=kind is not None)


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """The references that paths follow."""

    follows: Numbers
    """A mask, one item per kind of reference."""
    distance: Numbers
    """The least number of these references from a root to each object."""
    before: Numbers
    """The same if nothing is left out."""
    without: Without | None

    @classmethod
    def of(cls, snapshot: Snapshot, through: Collection[Strength], left: Without | None) -> "_Ways":
        before = distances_through(snapshot, through)
        distance = before if left is None else left.distances(snapshot, through)
        return cls(followed(snapshot, through), distance, before, left)


def _merged(snapshot: Snapshot, numbers: Numbers, ways: _Ways, *, is_ordered: bool) -> MergedPaths:
    """Merge the paths to some objects. ``is_ordered``: they are ordered by retained size, as a type's instances are."""
    distance = ways.distance[numbers]
    unreachable = int(np.count_nonzero(ways.before[numbers] == NEVER))
    freed = int(np.count_nonzero(distance == NEVER)) - unreachable
    # unreachable objects have the greatest distance
    near = numbers[distance < MOST_LENGTH]
    chosen = (near[:MOST_OBJECTS] if is_ordered else _largest(snapshot, near)).astype(np.int64)
    retained = snapshot.objects.retained[chosen].astype(np.int64)
    sizes = np.where(_has_none_above(snapshot, chosen), retained, 0)
    tree = _tree(snapshot, chosen, sizes, ways)
    left_out = len(numbers) - unreachable - freed - len(chosen)
    return replace(tree, left_out=left_out, unreachable=unreachable, only_without=freed)


def _largest(snapshot: Snapshot, numbers: Numbers) -> Numbers:
    """Return the objects that retain most, the largest first, equal ones in the given order."""
    retained = snapshot.objects.retained[numbers].astype(np.int64)
    if len(numbers) > MOST_OBJECTS:
        # of millions, the few are selected before they are sorted
        least = np.partition(retained, -MOST_OBJECTS)[-MOST_OBJECTS]
        above = np.flatnonzero(retained > least)
        kept = np.concatenate((above, np.flatnonzero(retained == least)[: MOST_OBJECTS - len(above)]))
        numbers, retained = numbers[kept], retained[kept]
    found: Numbers = numbers[np.argsort(-retained, kind="stable")]
    return found


def _has_none_above(snapshot: Snapshot, chosen: Numbers) -> Mask:
    """Return a mask of the objects that no other one of them dominates."""
    dominator = snapshot.objects.dominator
    within = np.zeros(len(dominator) + 1, bool)
    within[chosen] = True
    alone = np.ones(len(chosen), bool)
    at = dominator[chosen].astype(np.int64)
    rows = np.flatnonzero(at != NEVER)
    # chains of dominators may be as long as the heap, but objects so far below others are rare
    for _ in range(MOST_LENGTH):
        if not len(rows):
            break
        inside = within[at[rows]]
        alone[rows[inside]] = False
        rows = rows[~inside]
        at[rows] = dominator[at[rows]]
        rows = rows[at[rows] != NEVER]
    return alone


def _tree(snapshot: Snapshot, chosen: Numbers, sizes: Numbers, ways: _Ways) -> MergedPaths:
    types = snapshot.objects.type
    # the columns of MergedPaths, in their order
    parts = [np.array([[0, 0, 0, len(chosen), 0, int(sizes.sum()), 0, 0]], np.int64)]
    steps: list[_Step] = []
    node, count = np.zeros(1, np.int64), 1
    for far, level in enumerate(_levels(snapshot, chosen, sizes, ways)):
        parents = node[level.above_at] if far else np.zeros(len(level.items), np.int64)
        label = level.labels if far else root_kinds(snapshot, level.items)
        keys = np.stack((parents, label, types[level.items].astype(np.int64)))
        first, inverse, counts = _distinct(keys)
        objects, ends, below = (
            np.bincount(inverse, figures, len(counts)).astype(np.int64)
            for figures in (level.objects, level.ends, level.bytes)
        )
        # of equal ones, the first among the explained objects is written last
        ordered = np.argsort(-level.first)
        example = np.empty(len(counts), np.int64)
        example[inverse[ordered]] = level.items[ordered]
        parts.append(np.stack((*keys[:, first], objects, ends, below, counts, example), axis=1))
        node = count + inverse
        steps.append(_Step(*(column.astype(np.uint32) for column in (node, level.items, level.above))))
        count += len(counts)
    parent, name, kind, objects, ending, retained, targets, example = np.concatenate(parts).T
    return MergedPaths(
        parent, name, kind, objects, ending, retained, targets, example, 0, 0, 0, ways.without, tuple(steps),
        {},
    )  # fmt: skip


def _distinct(keys: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the distinct columns of a table in order: first index of each, number of each column, and counts."""
    # NumPy's sort of whole columns takes several times as long
    order = np.lexsort(keys[::-1])
    ordered = keys[:, order]
    is_new = np.append(True, (ordered[:, 1:] != ordered[:, :-1]).any(axis=0))[: len(order)]
    begins = np.flatnonzero(is_new)
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.cumsum(is_new) - 1
    return order[begins], inverse, np.diff(np.append(begins, len(order)))


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The distinct objects on the paths at one distance from the roots; one row per object."""

    items: Numbers
    objects: Numbers
    """The number of explained objects whose paths pass through it, itself included."""
    ends: Numbers
    """1 if the object itself is explained."""
    bytes: Numbers
    first: Numbers
    """The least index of an explained object whose path passes through it."""
    above: Numbers
    """The previous object; itself at a root."""
    above_at: Numbers
    """The row of the previous object in the level before."""
    labels: Numbers
    """The label of the reference from the previous object."""


def _levels(snapshot: Snapshot, chosen: Numbers, sizes: Numbers, ways: _Ways) -> list[_Level]:
    """Return the levels of the paths to the chosen objects, roots first. Each object is visited once."""
    far = ways.distance[chosen].astype(np.int64)
    # explained objects, the nearest first
    order = np.argsort(far, kind="stable")
    begins = np.searchsorted(far[order], np.arange(int(far.max(initial=-1)) + 2))
    none = np.empty(0, np.int64)
    levels: list[_Level] = []
    below = (none, none, none, none)
    for step in range(len(begins) - 2, -1, -1):
        own = order[begins[step] : begins[step + 1]]
        mine = (chosen[own], np.ones(len(own), np.int64), sizes[own], own)
        both = [np.concatenate(each) for each in zip(mine, below, strict=True)]
        items, inverse = np.unique(both[0], return_inverse=True)
        objects, total = (np.bincount(inverse, each, len(items)).astype(np.int64) for each in both[1:3])
        first = np.full(len(items), len(chosen), np.int64)
        np.minimum.at(first, inverse, both[3])
        above, labels = _step(snapshot, items, ways) if step else (items, none)
        if levels:
            levels[-1] = replace(levels[-1], above_at=inverse[len(own) :])
        ends = np.bincount(inverse[: len(own)], minlength=len(items))
        levels.append(_Level(items, objects, ends, total, first, above, none, labels))
        below = (above, objects, total, first)
    return levels[::-1]


def _step(snapshot: Snapshot, at: Numbers, ways: _Ways) -> tuple[Numbers, Numbers]:
    """Return, for each of some objects, a referrer that is nearer to a root, and the label of the reference."""
    above, rows = np.empty(len(at), np.uint32), np.empty(len(at), np.uint64)
    looked_at = one_up(
        outgoing(snapshot, ways.follows), incoming(snapshot, ways.follows), ways.distance, at.astype(np.uint32),
        above, rows, _MOST_REFERENCES, None if ways.without is None else ways.without.left_out,
    )  # fmt: skip
    if looked_at is None:
        raise InconsistentError("An object has a distance, but nothing nearer to a root refers to it")
    if looked_at > _MOST_REFERENCES:
        raise BadRequestError(
            phrase("Too many references lead to these objects for their paths to be merged"),
            advice=phrase("Narrow them with a filter, or look at the paths of one object."),
        )
    return above.astype(np.int64), _labels(snapshot, rows.astype(np.int64))


def _labels(snapshot: Snapshot, rows: Numbers) -> Numbers:
    stored = snapshot.references
    by_text = named_by_text(snapshot)[stored.kind[rows]]
    by_index = kinds_where(snapshot, lambda kind: kind.naming == "index")[stored.kind[rows]]
    names = stored.name[rows]
    # engines number the slots of their tables in names
    by_index |= kinds_where(snapshot, lambda kind: kind.name == ENTRY)[stored.kind[rows]]
    by_index[by_text] |= snapshot.strings.where(names[by_text], lambda text: text[:1].isdigit())
    labels = np.where(by_text, names.astype(np.int64), NO_NAME)
    # an engine's own references aren't properties of the same name
    own = by_text & engine_s_own(snapshot)[stored.kind[rows]]
    own[own] = names_of_both(snapshot)[names[own]]
    labels[own] |= INTERNAL
    labels[by_index] = ANY_INDEX
    return labels

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
from memlens.views.heap.reachable.from_roots import distances_through, followed, root_kinds
from memlens.views.heap.retained.freed import Freed
from memlens.views.heap.retained.left_out import LeavesOut, Without, without

MOST_OBJECTS = 10_000
"""Of more objects the paths of those are merged that retain most."""
MOST_LENGTH = 300
"""A longer path is left out."""
_MOST_REFERENCES = 30_000_000
"""References that are looked at for one step of all paths."""

ANY_INDEX, NO_NAME, INTERNAL = -1, -2, 1 << 32
"""Labels of nodes besides the numbers of names."""


@dataclass(frozen=True, slots=True, eq=False)
class MergedPaths:
    """A tree, a row a node; node 0 is above all roots."""

    parent: I64
    label: I64
    type: I64
    objects: I64
    ends: I64
    bytes: I64
    targets: I64
    """The distinct objects that paths lead through there."""
    example: I64
    left_out: int
    unreachable: int
    only_without: int
    """Objects that nothing holds but what is left out."""
    without: Without | None
    steps: tuple["_Step", ...]
    """The first is of the roots."""
    freed: dict[int, Freed | None]
    """What cutting the references of a node frees, of nodes that were asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """What paths lead through after so many references: distinct objects, the node of each, and what is before it."""

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
    """The whole tree. Raises as :func:`merged_paths` does."""
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
    """Which references paths follow."""

    follows: Numbers
    """An item for each number of a byte, whether those of that kind."""
    distance: Numbers
    """The least number of these references from a root to each object."""
    before: Numbers
    """The same where nothing is left out."""
    without: Without | None

    @classmethod
    def of(cls, snapshot: Snapshot, through: Collection[Strength], left: Without | None) -> "_Ways":
        before = distances_through(snapshot, through)
        distance = before if left is None else left.distances(snapshot, through)
        return cls(followed(snapshot, through), distance, before, left)


def _merged(snapshot: Snapshot, numbers: Numbers, ways: _Ways, *, is_ordered: bool) -> MergedPaths:
    """``is_ordered`` says that they stand by retained size already, as a type's instances do."""
    distance = ways.distance[numbers]
    unreachable = int(np.count_nonzero(ways.before[numbers] == NEVER))
    freed = int(np.count_nonzero(distance == NEVER)) - unreachable
    # what isn't reached is further than any
    near = numbers[distance < MOST_LENGTH]
    chosen = (near[:MOST_OBJECTS] if is_ordered else _largest(snapshot, near)).astype(np.int64)
    retained = snapshot.objects.retained[chosen].astype(np.int64)
    sizes = np.where(_has_none_above(snapshot, chosen), retained, 0)
    tree = _tree(snapshot, chosen, sizes, ways)
    left_out = len(numbers) - unreachable - freed - len(chosen)
    return replace(tree, left_out=left_out, unreachable=unreachable, only_without=freed)


def _largest(snapshot: Snapshot, numbers: Numbers) -> Numbers:
    """Those of some objects that retain most, the largest first, and of the same size in the order given."""
    retained = snapshot.objects.retained[numbers].astype(np.int64)
    if len(numbers) > MOST_OBJECTS:
        # of millions all but the few are left out before they are sorted
        least = np.partition(retained, -MOST_OBJECTS)[-MOST_OBJECTS]
        above = np.flatnonzero(retained > least)
        kept = np.concatenate((above, np.flatnonzero(retained == least)[: MOST_OBJECTS - len(above)]))
        numbers, retained = numbers[kept], retained[kept]
    found: Numbers = numbers[np.argsort(-retained, kind="stable")]
    return found


def _has_none_above(snapshot: Snapshot, chosen: Numbers) -> Mask:
    """Which of some objects no other one of them dominates."""
    dominator = snapshot.objects.dominator
    within = np.zeros(len(dominator) + 1, bool)
    within[chosen] = True
    alone = np.ones(len(chosen), bool)
    at = dominator[chosen].astype(np.int64)
    rows = np.flatnonzero(at != NEVER)
    # a chain of dominators may be as long as the heap; what stands so far below others is rare
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
        # of several that say the same the one that stands first among what is explained is written last
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
    """Of the distinct columns of some rows, in their order: where each is first, which each column is, how many are."""
    # a sort of columns as such, which NumPy has, takes several times as long
    order = np.lexsort(keys[::-1])
    ordered = keys[:, order]
    is_new = np.append(True, (ordered[:, 1:] != ordered[:, :-1]).any(axis=0))[: len(order)]
    begins = np.flatnonzero(is_new)
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.cumsum(is_new) - 1
    return order[begins], inverse, np.diff(np.append(begins, len(order)))


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """The distinct objects that are so many references from a root, of those on the paths; a row an object."""

    items: Numbers
    objects: Numbers
    """How many of the explained objects' paths lead through it, it included."""
    ends: Numbers
    """1 for an object that is explained itself."""
    bytes: Numbers
    first: Numbers
    """The least number, among the explained, of one whose path leads through it."""
    above: Numbers
    """The object before it; itself at a root."""
    above_at: Numbers
    """That one's row in the level before."""
    labels: Numbers
    """Of the reference from there."""


def _levels(snapshot: Snapshot, chosen: Numbers, sizes: Numbers, ways: _Ways) -> list[_Level]:
    """What the paths to the chosen objects lead through, the roots first. Each object is looked at once."""
    far = ways.distance[chosen].astype(np.int64)
    # what is explained, the nearest first
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
    """What refers to each of some objects and is nearer to a root, and the label of the reference."""
    stored = snapshot.references
    above, rows = np.empty(len(at), np.uint32), np.empty(len(at), np.uint64)
    looked_at = one_up(
        stored.start, stored.target, stored.kind, stored.referrer_start, stored.referrer, stored.referrer_kind,
        ways.follows, ways.distance, at.astype(np.uint32), above, rows, _MOST_REFERENCES,
        None if ways.without is None else ways.without.left_out,
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

"""Why many objects are alive: the shortest paths to all of them, merged by types and names of references."""

from collections.abc import Collection

import msgspec
import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.model.graph import RETAINING, Strength
from memlens.packs import registry
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.objects.reference_kinds import internal_name
from memlens.views.heap.objects.rows import MOST_NAME, Numbers, ObjectRow, object_rows, page, type_names
from memlens.views.heap.paths.tree import ANY_INDEX, INTERNAL, NO_NAME, MergedPaths, merged_tree
from memlens.views.heap.retained.cuts import MOST_LOOKED_AT, freed_by_cuts
from memlens.views.heap.retained.freed import Freed, amounts
from memlens.views.heap.retained.left_out import LeavesOut, WithoutAnswer


class PathNode(Struct, frozen=True):
    """A step shared by paths: a reference named ``name`` to objects of a type.

    ``objects`` counts the explained objects whose paths pass here, ``ends`` those among its own targets.
    """

    node: int
    type: str
    name: str
    """The reference's name, ``[…]`` for any index; the kind of root in the first step.

    An engine's own reference with the name of a property is ``map (internal)``.
    """
    above_type: str
    """The type of the objects with the reference, or the class whose static field it is; empty for the first step."""
    objects: int
    ends: int
    bytes: int
    """What the explained objects retain; objects dominated by another explained one are included in it."""
    targets: int
    """The number of objects that paths pass through in this step."""
    example: ObjectRow
    """One of these objects."""
    children: int
    freed_bytes: int | None
    """What would be freed without the references on these paths from the previous step to this one. None for roots, and
    if not computed."""
    freed_native_bytes: int | None
    """The same outside of the heap; None also if the dump records no such memory."""


class PathNodesAnswer(Struct, frozen=True):
    """A node's children, the one with the most bytes below it first; and the number of explained objects."""

    rows: list[PathNode]
    offset: int
    children: int
    explained: int
    bytes: int
    left_out: int
    """Objects whose paths aren't merged: too many objects, or too long paths."""
    unreachable: int
    """Objects that are unreachable even if nothing is left out."""
    freed: int
    """Objects kept alive only by references that are left out."""
    without: WithoutAnswer | None


class PathBranch(PathNode, frozen=True):
    """A step and the number of the previous one, ``above``; 0 is above all roots."""

    above: int


class PathBranchesAnswer(Struct, frozen=True):
    """The largest ``rows`` of the ``steps`` of a tree, each after its previous step; otherwise as PathNodesAnswer."""

    rows: list[PathBranch]
    steps: int
    explained: int
    bytes: int
    left_out: int
    unreachable: int
    freed: int


def merged_paths(
    snapshot: Snapshot,
    kind: int | None,
    group: int | None,
    filter_text: str,
    node: int,
    offset: int,
    limit: int,
    through: Collection[Strength] = RETAINING,
    leaving_out: Collection[LeavesOut] = (),
) -> PathNodesAnswer:
    """Return a page of a node's children in the tree of paths to the matching objects of a type or group.

    Strong references and those of the strengths ``through`` are followed, except those of ``leaving_out``. Raises
    :class:`BadRequestError` and, if something is left out, :class:`CancelledError` when the snapshot's work is stopped.
    """
    rows = page(offset, limit)
    tree = merged_tree(snapshot, kind, group, filter_text, through, leaving_out)
    if not 0 <= node < len(tree.parent):
        raise BadRequestError(phrase("The tree of paths has no node {node}", node=node))
    # node 0 is its own parent
    children = 1 + np.flatnonzero(tree.parent[1:] == node)
    children = children[np.lexsort((children, -tree.objects[children], -tree.bytes[children]))]
    return PathNodesAnswer(
        _rows(snapshot, tree, children[rows]), offset, len(children), int(tree.objects[0]), int(tree.bytes[0]),
        tree.left_out, tree.unreachable, tree.only_without,
        None if tree.without is None else tree.without.answer(snapshot),
    )  # fmt: skip


def largest_branches(
    snapshot: Snapshot,
    filter_text: str,
    group: int | None,
    most: int,
    through: Collection[Strength] = RETAINING,
    leaving_out: Collection[LeavesOut] = (),
) -> tuple[PathBranchesAnswer, WithoutAnswer | None]:
    """Return at most ``most`` steps of the paths to matching objects, those with the most bytes below them.

    The answer about left-out references is None if there are none. Raises as :func:`merged_paths` does.
    """
    tree = merged_tree(snapshot, None, group, filter_text, through, leaving_out)
    # a step explains no more than its previous one, so the previous steps of the largest are among them
    largest = 1 + np.lexsort((np.arange(1, len(tree.parent)), -tree.objects[1:], -tree.bytes[1:]))[:most]
    numbers = np.sort(largest)
    answer = PathBranchesAnswer(
        [
            PathBranch(**msgspec.structs.asdict(row), above=int(tree.parent[row.node]))
            for row in _rows(snapshot, tree, numbers)
        ],
        len(tree.parent) - 1, int(tree.objects[0]), int(tree.bytes[0]), tree.left_out, tree.unreachable,
        tree.only_without,
    )  # fmt: skip
    return answer, None if tree.without is None else tree.without.answer(snapshot)


def _rows(snapshot: Snapshot, tree: MergedPaths, numbers: Numbers) -> list[PathNode]:
    names, examples = type_names(snapshot), object_rows(snapshot, tree.example[numbers])
    below = np.bincount(tree.parent[1:], minlength=len(tree.parent))
    return [
        PathNode(
            number, names[int(tree.type[number])], _label(snapshot, tree, number),
            _above_type(snapshot, tree, int(tree.parent[number])), int(tree.objects[number]),
            int(tree.ends[number]), int(tree.bytes[number]), int(tree.targets[number]), example, int(below[number]),
            *amounts(snapshot, freed),
        )
        for number, example, freed in zip(
            numbers.tolist(), examples, _freed(snapshot, tree, numbers.tolist()), strict=True
        )
    ]  # fmt: skip


def _above_type(snapshot: Snapshot, tree: MergedPaths, parent: int) -> str:
    if not parent:
        return ""
    name = type_names(snapshot)[int(tree.type[parent])]
    known = registry.objects_of(snapshot.info.kind)
    is_class = known.scopes.has_static_fields and name in known.classes.types
    if not is_class or int(tree.targets[parent]) != 1:
        return name
    # static fields are left out by the name of their class
    own = int(snapshot.objects.name[int(tree.example[parent])])
    return snapshot.strings.head(own, MOST_NAME) or name


def _freed(snapshot: Snapshot, tree: MergedPaths, numbers: list[int]) -> list[Freed | None]:
    """Return what cutting the references of each of some nodes frees."""
    left = MOST_LOOKED_AT
    for number in numbers:
        if number in tree.freed or not int(tree.parent[number]):
            continue
        step = next(each for each in tree.steps if len(each.node) and int(each.node.max()) >= number)
        rows = step.node == number
        both = step.above[rows], step.item[rows]
        if tree.without is None:
            freed, looked_at = freed_by_cuts(snapshot, *both, left)
        else:
            freed, looked_at = tree.without.freed_by_cuts(snapshot, *both, left)
        if freed is None and left < MOST_LOOKED_AT:
            # earlier rows used up the budget; requested alone, this row may succeed
            return [tree.freed.get(each) for each in numbers]
        tree.freed[number] = freed
        left = max(0, left - looked_at)
    return [tree.freed.get(each) for each in numbers]


def _label(snapshot: Snapshot, tree: MergedPaths, number: int) -> str:
    label = int(tree.label[number])
    if not int(tree.parent[number]):
        kinds = snapshot.graph_names.root_kinds
        return kinds[label] if 0 <= label < len(kinds) else "root"
    if label == ANY_INDEX:
        return "[…]"
    if label == NO_NAME:
        return ""
    name = snapshot.strings.head(label % INTERNAL, MOST_NAME)
    return internal_name(name) if label >= INTERNAL else name

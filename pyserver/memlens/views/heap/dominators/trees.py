"""The trees of a heap dump's objects, grouped at each level: by type, by package or by module.

There are two trees, of dominators and of shortest paths. Each has a *base*, grouped by type, with separate nodes at
each level: the store has that of dominators, and :mod:`memlens.views.heap.reachable.shortest_paths` makes the other.
The displayed trees merge nodes of the base, by type, package or module; that is possible because objects of one type
have one package. A node directly below a node of its own group is merged into that one, so that a linked list is one
box and not a box for each entry.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, assert_never, get_args

import numpy as np

from memlens.arrays import I64, U32, U64, Mask
from memlens.errors import BadRequestError
from memlens.model.graph import OWN_NODE
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.manifest import InconsistentError
from memlens.store.objects.compact import Dominated, compact_tree
from memlens.store.objects.room import Room
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.heap.objects.packages import packages_of
from memlens.views.heap.objects.rows import Numbers, type_names
from memlens.views.heap.reachable.shortest_paths import shortest_paths

Grouping = Literal["type", "package", "module"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
HeapTree = Literal["dominators", "paths"]
"""The parent of an object: its dominator, or its predecessor on a shortest path from a root."""
TREES: tuple[HeapTree, ...] = get_args(HeapTree)
NODES_OF_A_TREE = 2**32
"""Groups of all trees have numbers: node ``n`` of tree ``TREES[t]`` by ``GROUPINGS[g]`` is group
``(t * len(GROUPINGS) + g) * NODES_OF_A_TREE + n``.
"""
FIRST_OF_PATHS = TREES.index("paths") * len(GROUPINGS) * NODES_OF_A_TREE
"""The first group of the trees of shortest paths."""

UNREACHABLE = phrase("(unreachable)")
"""The name of the node above the unreachable objects."""
ROOTS = phrase("(roots)")
_NO_PACKAGE, _NO_MODULE = phrase("(no package)"), phrase("(no module)")


class Form(NamedTuple):
    """A tree, and what its objects are grouped by."""

    by: Grouping = "type"
    tree: HeapTree = "dominators"


DOMINATORS = Form()


class GroupedTree(NamedTuple):
    """A tree of objects grouped at each level, in columns of its nodes as ``snapshot.compact`` has them.

    ``key`` is the type of each node, or the number of its package or module; NEVER for nodes that are not objects.
    ``names`` has the name of each key. ``total`` is what a node's objects retain; in the tree of shortest paths, their
    own bytes and those of everything below them. ``node_of`` maps nodes of the base to nodes of this tree;
    ``outermost`` marks the nodes of the base with no other node of the same group above them. Both are None for the
    base itself. ``find_group`` returns :attr:`group`: pictures don't need it, and it is a column of all objects.
    """

    names: list[Text]
    key: U32
    parent: U32
    objects: U32
    shallow: U64
    total: U64
    first: U32
    last: U32
    find_group: Callable[[], U32]
    node_of: U32 | None
    outermost: Mask | None

    @property
    def group(self) -> U32:
        """The node of the base of each object."""
        return self.find_group()

    def name(self, node: int) -> Text:
        """Return the name of a node."""
        key = int(self.key[node])
        if key != NEVER:
            return self.names[key]
        return UNREACHABLE if node else ROOTS

    def summed(self, figures: Numbers) -> Numbers:
        """Return, for each node, the sum of a figure over its nodes in the base."""
        if self.node_of is None:
            return figures
        found = np.zeros(len(self.key), figures.dtype)
        np.add.at(found, self.node_of, figures)
        return found

    def summed_totals(self, figures: Numbers) -> Numbers:
        """Like :meth:`summed`, for figures that already include the nodes below: nothing is counted twice."""
        return figures if self.outermost is None else self.summed(np.where(self.outermost, figures, 0))


def number_of(form: Form, node: int) -> int:
    """Return the number of a node's group."""
    tree = TREES.index(form.tree) * len(GROUPINGS) + GROUPINGS.index(form.by)
    return tree * NODES_OF_A_TREE + node


def located(snapshot: Snapshot, group: int) -> tuple[Form, int]:
    """The tree and the node of a group. Raises :class:`BadRequestError` if there is no such group."""
    tree, node = divmod(group, NODES_OF_A_TREE)
    if 0 <= tree < len(TREES) * len(GROUPINGS):
        which, by = divmod(tree, len(GROUPINGS))
        form = Form(GROUPINGS[by], TREES[which])
        if node < len(grouped_tree(snapshot, form).key):
            return form, node
    raise BadRequestError(phrase("The heap dump has no group {group}", group=str(group)))


def is_in(snapshot: Snapshot, group: int, numbers: Numbers | None = None) -> Mask:
    """A mask of the objects, some or all, that are in a group. Raises :class:`BadRequestError`."""
    form, node = located(snapshot, group)
    tree = grouped_tree(snapshot, form)
    of_type = tree.group if numbers is None else tree.group[numbers]
    found: Mask = of_type == node if tree.node_of is None else (tree.node_of == node)[of_type]
    return found


def group_of(snapshot: Snapshot, number: int, form: Form) -> int:
    """The group of an object. Raises :class:`BadRequestError` for a grouping that the dump lacks."""
    tree = grouped_tree(snapshot, form)
    node = int(tree.group[number])
    return number_of(form, node if tree.node_of is None else int(tree.node_of[node]))


@kept
def grouped_tree(snapshot: Snapshot, form: Form) -> GroupedTree:
    """A tree, grouped. Raises :class:`BadRequestError` for modules where the dump has none."""
    of_type, names = keys_of_types(snapshot, form.by)
    whole = base_tree(snapshot, form.tree)
    # nodes that are not objects stay as they are: the roots, and the unreachable objects
    roots, unreachable = len(names), len(names) + 1
    of_node = np.append(of_type, np.uint32(unreachable))[np.minimum(whole.key, len(of_type))].astype(
        np.uint32
    )
    if whole.key[0] == NEVER:
        of_node[0] = roots
    top = _topmost(whole.parent, of_node)
    outermost = top == np.arange(len(top))
    if form.by == "type" and bool(outermost.all()):
        return whole
    nodes = np.flatnonzero(outermost)
    place = np.cumsum(outermost) - 1
    shallow = np.zeros(len(nodes), np.uint64)
    np.add.at(shallow, place[top], whole.shallow)
    # the children of a node are now those of all nodes merged into it, in their old order
    above = place[top[whole.parent[nodes[1:]]]]
    begin = np.zeros(len(nodes) + 1, np.uint32)
    np.cumsum(np.bincount(above, minlength=len(nodes)), out=begin[1:])
    below = Dominated(begin, (1 + np.argsort(above, kind="stable")).astype(np.uint32))
    columns, node_of = compact_tree(
        below,
        len(names) + 2,
        of_node[nodes],
        shallow,
        np.array(whole.total[nodes]),
        0,
        Room(Path(), sys.maxsize),
    )
    node_of = node_of[place[top]]
    key = columns["type"]
    key[key >= roots] = NEVER
    objects = np.bincount(node_of, whole.objects, len(key)).astype(np.uint32)
    return GroupedTree(
        names, key, columns["parent"], objects, columns["shallow"], columns["retained"], columns["first"],
        columns["last"], whole.find_group, node_of, outermost,
    )  # fmt: skip


def keys_of_types(snapshot: Snapshot, by: Grouping) -> tuple[Numbers, list[Text]]:
    """Return the key of each type, and the names of the keys. A type without a module is grouped by package.

    Raises :class:`BadRequestError`.
    """
    match by:
        case "type":
            names = [*map(Text, type_names(snapshot))]
            if (root := made_up_root(snapshot)) is not None:
                names[root] = ROOTS
            return np.arange(len(names), dtype=np.uint32), names
        case "package":
            packages = packages_of(snapshot)
            return packages.of_type, [Text(name) if name else _NO_PACKAGE for name in packages.names]
        case "module":
            if snapshot.types.module is None:
                raise BadRequestError(phrase("The dump doesn't say which modules types are of"))
            packages = packages_of(snapshot)
            # some dumps know the modules of only a few types: types of the boot loader have none
            numbers: dict[tuple[str, str], int] = {}
            of_type = [
                numbers.setdefault((name, "" if name else packages.names[package]), len(numbers))
                for name, package in zip(
                    snapshot.strings.texts(snapshot.types.module), packages.of_type.tolist(), strict=True
                )
            ]
            return np.array(of_type, np.uint32), [_module_name(*each) for each in numbers]
        case _:
            assert_never(by)


def made_up_root(snapshot: Snapshot) -> int | None:
    """Return the type of the artificial object under which a dump groups its roots; None if there is none."""
    root = snapshot.graph_names.root
    if root is None:
        return None
    kind = int(snapshot.objects.type[root])
    return kind if snapshot.graph_names.type_kinds[int(snapshot.types.kind[kind])] == OWN_NODE else None


def _module_name(module: str, package: str) -> Text:
    if module:
        return Text(module)
    return phrase("{package} (package)", package=package) if package else _NO_MODULE


def base_tree(snapshot: Snapshot, tree: HeapTree) -> GroupedTree:
    """Return the base of a tree: grouped by type, with nodes directly below their own type kept apart."""
    _, names = keys_of_types(snapshot, "type")
    match tree:
        case "dominators":
            compact = snapshot.compact
            return GroupedTree(
                names, compact.type, compact.parent, compact.objects, compact.shallow, compact.retained,
                compact.first, compact.last, partial(getattr, snapshot.objects, "group"), None, None,
            )  # fmt: skip
        case "paths":
            paths = shortest_paths(snapshot)
            return GroupedTree(
                names, paths.type, paths.parent, paths.objects, paths.shallow, paths.below, paths.first,
                paths.last, partial(getattr, paths, "group"), None, None,
            )  # fmt: skip
        case _:
            assert_never(tree)


def _topmost(parent: U32, key: U32) -> I64:
    """Return for each node the topmost node of the unbroken chain of its key above it. Node 0 is never in a chain."""
    top = np.arange(len(parent))
    above = parent[1:].astype(np.int64)
    is_same = (key[1:] == key[above]) & (above != 0)
    top[1:] = np.where(is_same, above, top[1:])
    for _ in range(len(parent).bit_length() + 1):
        # pointer doubling: chains may be as long as the heap
        further = top[top]
        if bool((further == top).all()):
            return top
        top = further
    raise InconsistentError("The parents of a tree have a circle")


def is_group_of_paths(group: int | None) -> bool:
    """Whether a group is one of the trees of shortest paths."""
    return group is not None and group >= FIRST_OF_PATHS


class _OfTree(Protocol):
    @property
    def tree(self) -> HeapTree: ...


def in_paths(asked: _OfTree) -> bool:
    """Whether a question is about the tree of shortest paths."""
    return asked.tree == "paths"

"""The dominator tree grouped by package or by module at each level, instead of by type.

Objects of one type and of one group's dominators are of one package as well, so these trees are made of the compact
tree, which is grouped by type: of its nodes, each as one object that stands for its group.
"""

import sys
from pathlib import Path
from typing import Literal, NamedTuple, assert_never, get_args

import numpy as np
import numpy.typing as npt

from memlens.errors import BadRequestError
from memlens.model.timeline import NEVER
from memlens.store.objects.compact import Dominated, compact_tree
from memlens.store.objects.room import Room
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.views.graph.packages import packages_of
from memlens.views.graph.rows import Numbers, type_names

Grouping = Literal["type", "package", "module"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)
NODES_OF_A_TREE = 2**32
"""Groups of all trees have numbers: node ``n`` of the tree by ``GROUPINGS[i]`` is group ``i * NODES_OF_A_TREE + n``."""

UNREACHABLE = phrase("(unreachable)")
"""The name of the node that unreachable objects are below."""
ROOTS = phrase("(roots)")
_NO_PACKAGE, _NO_MODULE = phrase("(no package)"), phrase("(no module)")

U32 = npt.NDArray[np.uint32]
U64 = npt.NDArray[np.uint64]


class GroupedTree(NamedTuple):
    """A dominator tree grouped at each level, in columns of its nodes as ``snapshot.compact`` has them.

    ``key`` is each node's type, or a number of its package or module; NEVER as for types. ``names`` are those of keys.
    ``node_of`` has the node of each node of the tree by type; None for that tree itself.
    """

    names: list[Text]
    key: U32
    parent: U32
    objects: U32
    shallow: U64
    retained: U64
    first: U32
    last: U32
    node_of: U32 | None

    def name(self, node: int) -> Text:
        """What a node is called."""
        key = int(self.key[node])
        if key != NEVER:
            return self.names[key]
        return UNREACHABLE if node else ROOTS

    def summed(self, figures: Numbers) -> Numbers:
        """For each node, the sum of what its nodes of the tree by type have."""
        if self.node_of is None:
            return figures
        found = np.zeros(len(self.key), figures.dtype)
        np.add.at(found, self.node_of, figures)
        return found


def number_of(by: Grouping, node: int) -> int:
    """The number of the group that a node is."""
    return GROUPINGS.index(by) * NODES_OF_A_TREE + node


def located(snapshot: Snapshot, group: int) -> tuple[Grouping, int]:
    """The tree and the node of a group. Raises :class:`BadRequestError` if there is no such group."""
    tree, node = divmod(group, NODES_OF_A_TREE)
    if not 0 <= tree < len(GROUPINGS) or node >= len(grouped_tree(snapshot, GROUPINGS[tree]).key):
        raise BadRequestError(phrase("The dominator tree has no group {group}", group=str(group)))
    return GROUPINGS[tree], node


def is_in(snapshot: Snapshot, group: int, numbers: Numbers | None = None) -> npt.NDArray[np.bool_]:
    """Which of some objects, or of all, are in a group. Raises :class:`BadRequestError`."""
    by, node = located(snapshot, group)
    of_type = snapshot.objects.group if numbers is None else snapshot.objects.group[numbers]
    node_of = grouped_tree(snapshot, by).node_of
    found: npt.NDArray[np.bool_] = of_type == node if node_of is None else (node_of == node)[of_type]
    return found


def group_of(snapshot: Snapshot, number: int, by: Grouping) -> int:
    """The group of an object. Raises :class:`BadRequestError` for a grouping that the dump lacks."""
    node = int(snapshot.objects.group[number])
    node_of = grouped_tree(snapshot, by).node_of
    return number_of(by, node if node_of is None else int(node_of[node]))


def grouped_tree(snapshot: Snapshot, by: Grouping) -> GroupedTree:
    """The dominator tree, grouped. Raises :class:`BadRequestError` for modules where the dump has none."""
    return snapshot.keep(("grouped tree", by), lambda: _made(snapshot, by))


def keys_of_types(snapshot: Snapshot, by: Grouping) -> tuple[Numbers, list[Text]]:
    """The key of each type, and the keys' names. Raises :class:`BadRequestError`."""
    match by:
        case "type":
            return np.arange(len(snapshot.types.name), dtype=np.uint32), [*map(Text, type_names(snapshot))]
        case "package":
            packages = packages_of(snapshot)
            return packages.of_type, [Text(name) if name else _NO_PACKAGE for name in packages.names]
        case "module":
            if snapshot.types.module is None:
                raise BadRequestError(phrase("The dump doesn't say which modules types are of"))
            numbers: dict[str, int] = {}
            of_type = [
                numbers.setdefault(name, len(numbers))
                for name in snapshot.strings.texts(snapshot.types.module)
            ]
            return np.array(of_type, np.uint32), [Text(name) if name else _NO_MODULE for name in numbers]
        case _:
            assert_never(by)


def _made(snapshot: Snapshot, by: Grouping) -> GroupedTree:
    compact = snapshot.compact
    of_type, names = keys_of_types(snapshot, by)
    if by == "type":
        return GroupedTree(
            names, compact.type, compact.parent, compact.objects, compact.shallow, compact.retained, compact.first,
            compact.last, None,
        )  # fmt: skip
    nodes = len(compact.type)
    # what is no object stays by itself: the roots together, and the unreachable objects
    roots, unreachable = len(names), len(names) + 1
    of_node = np.append(of_type, np.uint32(unreachable))[np.minimum(compact.type, len(of_type))].astype(
        np.uint32
    )
    if compact.type[0] == NEVER:
        of_node[0] = roots
    # the children of a node are adjacent, and so are those of nodes that follow each other
    begin = np.zeros(nodes + 1, np.uint32)
    np.cumsum(compact.last - compact.first, out=begin[1:])
    below = Dominated(begin, np.arange(1, nodes, dtype=np.uint32))
    columns, node_of = compact_tree(
        below, len(names) + 2, of_node, np.array(compact.shallow), np.array(compact.retained), 0,
        Room(Path(), sys.maxsize),
    )  # fmt: skip
    key = columns["type"]
    key[key >= roots] = NEVER
    objects = np.bincount(node_of, compact.objects, len(key)).astype(np.uint32)
    return GroupedTree(
        names, key, columns["parent"], objects, columns["shallow"], columns["retained"], columns["first"],
        columns["last"], node_of,
    )  # fmt: skip

"""The tree of shortest paths: a breadth-first tree from the roots.

Its figures are bytes of everything below a node. Unlike retained bytes, these would not be freed with it.
"""

import logging
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memlens.arrays import U32, U64
from memlens.errors import finished
from memlens.kernels.graph import tree
from memlens.kernels.graph.shortest import first_found, sum_below
from memlens.model.timeline import NEVER
from memlens.progress import Report
from memlens.store.artefacts import Artefact, write_columns
from memlens.store.kept import kept
from memlens.store.models import graph_of
from memlens.store.objects.columns import are_children_of_one
from memlens.store.objects.compact import Dominated, compact_tree
from memlens.store.objects.room import Room
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.rows import ObjectRow, check_object, object_rows, page
from memlens.views.heap.reachable.from_roots import entries, followed, outgoing

KEPT_FROM = 200_000
"""The number of objects from which the tree is kept in the archive; smaller ones take a tenth of a second."""

logger = logging.getLogger(__name__)


class ShortestPaths(NamedTuple):
    """The tree by object, and grouped by type at each level as ``snapshot.compact`` is.

    The children of object ``o`` are ``member[begin[o]:begin[o + 1]]``, the largest ``total`` first; the objects without
    a parent come last. Unreachable objects have no parent; if the dump's root represents everything, it is that root.
    """

    begin: U32
    member: U32
    total: U64
    """By object: its own bytes and those of everything below it."""
    group: U32
    """By object: its node."""
    type: U32
    parent: U32
    objects: U32
    shallow: U64
    below: U64
    """By node: the bytes of its objects and of everything below these."""
    first: U32
    last: U32

    def is_tree_of(self, snapshot: Snapshot) -> bool:
        """Whether the columns are a tree of a snapshot's objects, without cycles."""
        objects, nodes, types = len(snapshot.objects.type), len(self.type), len(snapshot.types.name)
        lengths = {"begin": objects + 2, "member": objects, "total": objects, "group": objects}
        for name, column in self._asdict().items():
            kind = np.uint64 if name in ("total", "shallow", "below") else np.uint32
            if column.dtype != kind or len(column) != lengths.get(name, nodes):
                return False
        if not nodes or not are_children_of_one(self.first, self.last):
            return False
        has_type = self.type != NEVER
        if (self.type[has_type] >= types).any() or (self.parent[1:] >= np.arange(1, nodes)).any():
            return False
        if int(self.begin[0]) or int(self.begin[-1]) != objects or (self.begin[1:] < self.begin[:-1]).any():
            return False
        if not objects:
            return True
        if int(self.member.max()) >= objects or int(self.group.max()) >= nodes:
            return False
        seen = np.zeros(objects, np.bool_)
        seen[self.member] = True
        # each object's parent is in a node with a lower number
        counts = np.diff(self.begin[: objects + 1]).astype(np.int64)
        below = self.member[: int(self.begin[objects])]
        return bool(seen.all() and (self.group[below] > np.repeat(self.group, counts)).all())


class _ByObject(NamedTuple):
    begin: U32
    member: U32
    total: U64
    unreached: U32


@kept
def shortest_paths(snapshot: Snapshot) -> ShortestPaths:
    """Return the tree, computed on first use. Raises :class:`CancelledError` when the snapshot's work is stopped."""
    return _read(snapshot) or _make(snapshot)


def is_ready(snapshot: Snapshot) -> bool:
    """True if the tree is in memory, or cheap to build."""
    return graph_of(snapshot.info).objects < KEPT_FROM or shortest_paths.is_known(snapshot)


def prepare(snapshot: Snapshot) -> None:
    """Write the tree into the archive, if possible. Raises :class:`CancelledError` when the work is stopped."""
    if SHORTEST_PATHS.find(snapshot.origin) is None:
        SHORTEST_PATHS.try_to_write(snapshot)


def take(snapshot: Snapshot) -> bool:
    """Map the prepared tree without verifying it again; return whether it is ready."""
    if not is_ready(snapshot) and SHORTEST_PATHS.is_current(snapshot.origin):
        found = _tree_in(snapshot, SHORTEST_PATHS.path(snapshot.archive))
        if found is not None:
            shortest_paths.put(snapshot, found)
    return is_ready(snapshot)


def below(
    snapshot: Snapshot, number: int | None, offset: int, limit: int
) -> tuple[list[ObjectRow], list[int], int]:
    """Return a page of an object's children, the largest first, their total bytes, and the number of children.

    Pass None for the topmost objects.
    """
    rows, paths = page(offset, limit), shortest_paths(snapshot)
    holder = len(paths.group) if number is None else check_object(snapshot, number)
    first, last = map(int, paths.begin[holder : holder + 2])
    members = paths.member[first:last][rows]
    return object_rows(snapshot, members), paths.total[members].tolist(), last - first


def _make(snapshot: Snapshot) -> ShortestPaths:
    work, count = snapshot.work, len(snapshot.objects.type)
    by_object = _by_object(snapshot)
    work.within(0.4, 0.9)
    has_root = int(snapshot.compact.type[0]) != NEVER
    columns, group = compact_tree(
        Dominated(by_object.begin, by_object.member), len(snapshot.types.name), snapshot.objects.type,
        snapshot.objects.shallow, by_object.total, snapshot.graph_names.root if has_root else None,
        Room(Path(), sys.maxsize), by_object.unreached, lambda made: snapshot.report(made / count),
    )  # fmt: skip
    return ShortestPaths(
        by_object.begin, by_object.member, by_object.total, group, columns["type"], columns["parent"],
        columns["objects"], columns["shallow"], columns["retained"], columns["first"], columns["last"],
    )  # fmt: skip


def _by_object(snapshot: Snapshot) -> _ByObject:
    objects, work = snapshot.objects, snapshot.work
    count = len(objects.type)
    order, parent, ordered, member = (np.empty(count, np.uint32) for _ in range(4))
    total, begin = np.empty(count, np.uint64), np.empty(count + 2, np.uint32)
    sources, root = entries(snapshot), snapshot.graph_names.root
    if root is not None:
        # if the root represents everything, other roots are below it
        sources = np.append(np.uint32(root), sources[sources != root])
    work.within(0, 0.4)
    reached = finished(first_found(outgoing(snapshot, followed(snapshot)), sources, order, parent, work))
    is_reached = np.zeros(count, np.bool_)
    is_reached[order[:reached]] = True
    unreached = np.flatnonzero(~is_reached).astype(np.uint32)
    if root is not None and int(snapshot.compact.type[0]) != NEVER:
        order[reached:] = unreached
        parent[sources[1:]], parent[unreached] = root, root
        reached, unreached = count, unreached[:0]
    sum_below(order[:reached], parent, objects.shallow, total)
    snapshot.report(0.6)
    tree.descending(total, ordered)
    snapshot.report(0.8)
    tree.grouped(parent, ordered, begin, member)
    return _ByObject(begin, member, total, unreached)


def _read(snapshot: Snapshot) -> ShortestPaths | None:
    path = SHORTEST_PATHS.find(snapshot.origin)
    return None if path is None else _tree_in(snapshot, path)


def _tree_in(snapshot: Snapshot, path: Path) -> ShortestPaths | None:
    """Return the tree in a file. Removes the file and returns None if it has something else."""
    found = SHORTEST_PATHS.columns(path, ShortestPaths)
    if found is None or found.is_tree_of(snapshot):
        return found
    logger.warning("%s of %s is no tree, and is made again", SHORTEST_PATHS.name, snapshot.archive.name)
    SHORTEST_PATHS.drop(snapshot.archive)
    return None


def _write(snapshot: Snapshot, path: Path, _report: Report) -> None:
    columns = _make(snapshot)._asdict()
    write_columns(path, columns, [])
    # freeing memory holds the interpreter lock: column by column, so that other threads run in between
    while columns:
        columns.popitem()


SHORTEST_PATHS = Artefact("shortest-paths.bin", version=1, make=_write, by_kinds=False)
"""Written for dumps of at least ``KEPT_FROM`` objects, at the first question about the tree."""

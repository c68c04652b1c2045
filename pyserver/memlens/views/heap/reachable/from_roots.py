"""Reachability: the references that are followed, the roots, and distances from them."""

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I32, U8, U32, Mask
from memlens.kernels.graph.columns import References
from memlens.kernels.graph.nearer import shorten
from memlens.kernels.graph.reach import distances
from memlens.model.graph import RETAINING, Strength
from memlens.model.timeline import NEVER
from memlens.progress import Report
from memlens.store.artefacts import Artefact, write_columns
from memlens.store.kept import kept
from memlens.store.objects.columns import ReferenceColumns
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.reference_kinds import kinds_where


def followed(snapshot: Snapshot, through: Collection[Strength] = RETAINING) -> U8:
    """Return a mask, one item per byte value: kinds of strong references that retain, and of some strengths."""
    return _followed(snapshot, tuple(sorted(through)))


@kept
def _followed(snapshot: Snapshot, through: tuple[Strength, ...]) -> U8:
    follows = kinds_where(
        snapshot, lambda kind: kind.retains if kind.strength == "strong" else kind.strength in through
    )
    return follows.view(np.uint8)


@kept
def entries(snapshot: Snapshot) -> U32:
    """Return the objects at which reachability begins."""
    return np.flatnonzero(is_entry(snapshot)).astype(np.uint32)


@kept
def kinds_of_roots(snapshot: Snapshot) -> tuple[U32, I32]:
    """Return the objects with root entries at which reachability begins, ascending, and the root kind of each."""
    rows = snapshot.objects.roots
    rows = rows[is_entry(snapshot)[rows["object"]] != 0]
    # if an object has several entries, the first wins
    roots, first = np.unique(rows["object"], return_index=True)
    return roots.astype(np.uint32), rows["kind"][first].astype(np.int32)


def root_kinds(snapshot: Snapshot, objects: npt.NDArray[np.integer[Any]]) -> I32:
    """Return the root kind of each of some objects; -1 without a root entry."""
    roots, kinds = kinds_of_roots(snapshot)
    if not len(roots):
        return np.full(len(objects), -1, np.int32)
    at = np.minimum(np.searchsorted(roots, objects), len(roots) - 1)
    return np.where(roots[at] == objects, kinds[at], np.int32(-1))


def outgoing(snapshot: Snapshot, follows: U8) -> References:
    """Return all references by their sources, for kernels that follow those of some kinds."""
    stored = snapshot.references
    return References(stored.start, stored.target, stored.kind, follows)


def incoming(snapshot: Snapshot, follows: U8) -> References:
    """Return all references by their targets, likewise."""
    stored = snapshot.references
    return References(stored.referrer_start, stored.referrer, stored.referrer_kind, follows)


def unchecked_outgoing(snapshot: Snapshot, follows: U8) -> References:
    """Return what :func:`outgoing` does without reading all of it, for kernels that check each number they use."""
    stored, column = snapshot.references, ReferenceColumns
    return References(stored.unchecked(column.start), stored.unchecked(column.target), stored.kind, follows)


def unchecked_incoming(snapshot: Snapshot, follows: U8) -> References:
    """Return what :func:`incoming` does, likewise."""
    stored, column = snapshot.references, ReferenceColumns
    start, source = stored.unchecked(column.referrer_start), stored.unchecked(column.referrer)
    return References(start, source, stored.referrer_kind, follows)


def holders(snapshot: Snapshot) -> U32:
    """Return the objects that hold all others: the graph's own root if it has one, else the entries.

    The graph's own root also has references to roots that don't retain: some dumps exclude from dominators what the
    engine's stack and handles refer to in a page.
    """
    root = snapshot.graph_names.root
    return entries(snapshot) if root is None else np.array([root], np.uint32)


def held_distances(snapshot: Snapshot) -> U32:
    """Return each object's distance from :func:`holders` by retaining references; NEVER if they don't hold it.

    Without a root of the graph's own, these are the stored distances.
    """
    return snapshot.objects.distance if snapshot.graph_names.root is None else _held_distances(snapshot)


def softly_reachable(snapshot: Snapshot) -> Mask:
    """A mask of the softly reachable objects, one item per object."""
    strongly = distances_through(snapshot, ())
    found: Mask = (snapshot.objects.distance != NEVER) & (strongly == NEVER)
    return found


@kept
def _held_distances(snapshot: Snapshot) -> U32:
    path = HELD_DISTANCES.find(snapshot.origin)
    known = None if path is None else HELD_DISTANCES.columns(path, partial(_checked, snapshot))
    if known is not None:
        return known
    distance = np.empty(len(snapshot.objects.type), np.uint32)
    distances(outgoing(snapshot, followed(snapshot)), holders(snapshot), distance)
    return distance


def _checked(snapshot: Snapshot, distance: npt.NDArray[Any]) -> U32:
    if distance.dtype != np.uint32 or len(distance) != len(snapshot.objects.type):
        raise ValueError("distances of other objects")
    return distance


def _write(snapshot: Snapshot, path: Path, _report: Report) -> None:
    write_columns(path, {"distance": held_distances(snapshot)}, [])


HELD_DISTANCES = Artefact("held-distances.bin", version=1, make=_write, by_kinds=False)
"""Written for large dumps with a root of their own, where visiting all references takes long."""


@kept
def is_entry(snapshot: Snapshot) -> U8:
    """Return a mask of the objects at which reachability begins."""
    rows, names = snapshot.objects.roots, snapshot.graph_names
    is_held = np.zeros(len(names.root_kinds), np.bool_)
    is_held[names.held_kinds] = True
    found = np.zeros(len(snapshot.objects.type), np.uint8)
    entering = ~is_held[rows["kind"]]
    found[rows["object"][entering]] = 1
    if names.root is not None:
        found[names.root] = 1
    return found


def distances_through(snapshot: Snapshot, through: Collection[Strength]) -> U32:
    """Return each object's distance from a root by strong references and those of some strengths."""
    follows, retaining = followed(snapshot, through), followed(snapshot)
    if bool((follows == retaining).all()):
        return snapshot.objects.distance
    return _distances_by(snapshot, follows.tobytes())


@kept
def _distances_by(snapshot: Snapshot, follows: bytes) -> U32:
    """Return the distances; ``follows`` has a byte for each kind of reference, 1 for those that are followed."""
    followed_kinds, retaining = np.frombuffer(follows, np.uint8), followed(snapshot)
    more, fewer = followed_kinds & ~retaining, retaining & ~followed_kinds
    if fewer.any():
        distance = np.empty(len(snapshot.objects.type), np.uint32)
        distances(outgoing(snapshot, followed_kinds), entries(snapshot), distance)
        return distance

    # few distances change: much faster than visiting all references
    distance = snapshot.objects.distance.copy()
    shorten(unchecked_outgoing(snapshot, followed_kinds), more, distance)
    return distance

"""Memory outside of the heap that objects own and retain. Few dumps record it, for few objects."""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import U64
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.objects.places import first_at_least
from memlens.store.snapshot import Snapshot

Numbers = npt.NDArray[Any]


def has_native(snapshot: Snapshot) -> bool:
    """Whether the dump records such memory of any object."""
    return len(snapshot.objects.owned) > 0


def native_bytes(snapshot: Snapshot, chosen: Numbers) -> tuple[Numbers, Numbers]:
    """Return the memory that each of some objects owns, and what it retains."""
    owned = snapshot.objects.owned
    own, retained = np.zeros(len(chosen), np.uint64), np.zeros(len(chosen), np.uint64)
    if len(owned):
        at = np.minimum(first_at_least(owned["object"], chosen), len(owned) - 1)
        known = owned["object"][at] == chosen
        own[known], retained[known] = owned["native"][at[known]], owned["retained"][at[known]]
    return own, retained


@kept
def own_native(snapshot: Snapshot) -> U64:
    """Return the memory that each object owns, for kernels that add it up; empty if the dump records none."""
    if not has_native(snapshot):
        return np.empty(0, np.uint64)
    # pages of zeros take no memory until they are written to
    own = np.zeros(len(snapshot.objects.type), np.uint64)
    own[snapshot.objects.owned["object"]] = snapshot.objects.owned["native"]
    return own


def native_or_none(snapshot: Snapshot, amount: int) -> int | None:
    """Return an amount for an answer: None if the dump records no such memory."""
    return amount if has_native(snapshot) else None


@kept
def native_of_nodes(snapshot: Snapshot) -> tuple[Numbers, Numbers]:
    """Return the memory that the objects of each node of the compact tree own, and what they retain.

    No object of a node dominates another one of the same node.
    """
    owned, count = snapshot.objects.owned, len(snapshot.compact.type)
    own, retained = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    of = snapshot.objects.group[owned["object"]]
    np.add.at(own, of, owned["native"])
    np.add.at(retained, of, owned["retained"])
    # nodes that aren't objects (the roots, the unreachable objects) retain what the nodes below them do
    compact = snapshot.compact
    is_object = compact.type != NEVER
    below = np.flatnonzero(is_object[1:] & ~is_object[compact.parent[1:]]) + 1
    np.add.at(retained, compact.parent[below], retained[below])
    return own, retained


def native_columns(snapshot: Snapshot) -> tuple[Numbers, Numbers]:
    """Return the memory that each object owns, and what it retains, as two columns."""
    owned, count = snapshot.objects.owned, len(snapshot.objects.type)
    own, retained = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    own[owned["object"]], retained[owned["object"]] = owned["native"], owned["retained"]
    return own, retained

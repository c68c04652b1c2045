"""Paths to objects, with the least cut that would free them, for the command line and language models."""

from collections.abc import Collection

import numpy as np
from msgspec.structs import asdict

from memlens.model.graph import Strength
from memlens.store.snapshot import Snapshot
from memlens.views.heap.listing.lists import fitting
from memlens.views.heap.paths.least_cut import LeastCutAnswer, is_asked, least_cut
from memlens.views.heap.paths.merged import PathBranchesAnswer, largest_branches
from memlens.views.heap.paths.to_object import PathsAnswer, paths
from memlens.views.heap.retained.left_out import LeavesOut, WithoutAnswer


class PathsToObject(PathsAnswer, frozen=True, kw_only=True):
    """Paths to an object, and the least cut that frees it, if computed."""

    least_cut: LeastCutAnswer | None


class PathsToObjects(PathBranchesAnswer, frozen=True, kw_only=True):
    """Merged paths to objects, what leaving out references would free, and the least cut that frees the objects."""

    without: WithoutAnswer | None
    least_cut: LeastCutAnswer | None


def paths_to_object(
    snapshot: Snapshot,
    number: int,
    most: int,
    through: Collection[Strength],
    left_out: Collection[LeavesOut] = (),
) -> PathsToObject:
    """Return at most ``most`` paths to an object."""
    cut = least_cut(snapshot, np.array([number])) if is_asked(through, left_out) else None
    return PathsToObject(**asdict(paths(snapshot, number, most, through, left_out)), least_cut=cut)


def paths_to_objects(
    snapshot: Snapshot,
    filter_: str,
    most: int,
    through: Collection[Strength],
    left_out: Collection[LeavesOut] = (),
) -> PathsToObjects:
    """Return the largest branches of the merged paths to all objects that match a filter."""
    branches, without = largest_branches(snapshot, filter_, None, most, through, left_out)
    cut = least_cut(snapshot, fitting(snapshot, filter_, None, None)) if is_asked(through, left_out) else None
    return PathsToObjects(**asdict(branches), without=without, least_cut=cut)

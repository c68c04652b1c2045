"""The tree of the flame graph that a snapshot opens with, kept in its archive once it was made.

It is what is live at the peak of the default device, or a profile's default value, from the top down, by bytes and by
function. The archive keeps what its picture needs, of each node its name, how many children it has, its bytes and
their count; all else follows from these, or from the archive's own columns when somebody asks for it. So do the names
of its frames: their words stay where they are.
"""

from pathlib import Path
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from memlens.kernels.tree import calltree as kernel
from memlens.model.info import ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.store.artefacts import read_columns, write_columns
from memlens.store.snapshot import Snapshot
from memlens.views.flame.calltree import MOST_VALUE, CallTree, FlameOptions, Later
from memlens.views.naming.frame_names import FrameNames, words_of
from memlens.views.selection.columns import NEVER
from memlens.views.selection.sets import AllocationSet

OPTIONS = FlameOptions()
BYTES, COUNT = 0, 1

Unsigned = npt.NDArray[np.unsignedinteger[Any]]


def opening_set(info: SnapshotInfo) -> AllocationSet:
    """The set that a snapshot opens with."""
    match info:
        case TimelineInfo():
            return AllocationSet(info.default_device)
        case ProfileInfo():
            return AllocationSet(0)
        case _:
            assert_never(info)


def is_first(info: SnapshotInfo, of: AllocationSet, options: FlameOptions) -> bool:
    """Whether a set, by bytes, is the one that a snapshot opens with."""
    if options != OPTIONS or of.filter or of.to_moment is not None:
        return False
    match info:
        case TimelineInfo():
            if of.device != info.default_device:
                return False
            peaks = [device.peak_moment for device in info.devices if device.device == of.device]
            return of.from_moment is None or of.from_moment in peaks
        case ProfileInfo():
            first = info.default_value
            # of negative values a tree has two sides, which are not kept
            return of.from_moment is None and of.value in (None, first) and not info.values[first].negative
        case _:
            assert_never(info)


def write(path: Path, tree: CallTree) -> None:
    """Write the tree, and the names of its frames."""
    write_columns(path, _columns(tree), tree.names.packages)


def read(path: Path, snapshot: Snapshot) -> CallTree:
    """The tree as written. Raises OSError, ValueError, TypeError, KeyError and OverflowError for something else."""
    return _tree(snapshot, *read_columns(path))


def _columns(tree: CallTree) -> dict[str, Unsigned]:
    name = tree.name.copy()
    name[0] = 0
    names = tree.names
    columns = {
        "name": name,
        "children": np.diff(tree.offsets),
        "bytes": tree.widths[: tree.placed],
        "count": tree.inclusive[COUNT],
        "loose_parent": tree.parents[tree.placed :],
        "frame_kind": names.kind,
        "frame_package": names.package,
        "frame_function": names.of_function(),
    }
    return {
        key: column.astype(np.min_scalar_type(int(column.max(initial=0)))) for key, column in columns.items()
    }


def _tree(snapshot: Snapshot, columns: dict[str, Unsigned], packages: list[str]) -> CallTree:
    """Raises ValueError, TypeError and KeyError for what no tree is kept as."""
    frames = [columns[f"frame_{each}"] for each in ("kind", "package", "function")]
    if len(frames[0]) != len(snapshot.frames):
        raise ValueError("its frames are not the archive's")
    names = FrameNames.told(
        frames[0].astype(np.uint8, casting="safe"),
        frames[1].astype(np.uint32, casting="safe"),
        packages,
        words_of(snapshot),
        frames[2].astype(np.uint32, casting="safe"),
        snapshot.info.model,
    )
    name = columns["name"].astype(np.uint32, casting="safe")
    children, counts, loose = columns["children"], columns["count"], columns["loose_parent"]
    nodes, placed = len(name), len(children)
    widths = np.zeros(nodes, np.int64)
    if not 1 <= placed <= nodes or len(columns["bytes"]) != placed or len(counts) != nodes:
        raise ValueError("its columns don't fit each other")
    widths[:placed] = columns["bytes"]
    if len(loose) != nodes - placed or bool((loose >= np.arange(placed, nodes)).any()):
        raise ValueError("a node stands before its parent")
    if int(name.max()) >= names.count or int(children.max()) >= placed:
        raise ValueError("a node has an unknown name or too many children")
    if not 0 <= widths[0] < MOST_VALUE:
        raise ValueError("it is too large")
    name[0] = NEVER
    offsets = np.zeros(placed + 1, np.uint32)
    offsets[1:] = children
    # what goes beyond 32 bits gets less by that, which no arranged tree's does
    np.cumsum(offsets, dtype=np.uint32, out=offsets)
    left = np.zeros(nodes, np.int64)
    kernel.place(offsets, widths, left)

    def parents() -> npt.NDArray[np.uint32]:
        above = np.repeat(np.arange(placed, dtype=np.uint32), children)
        return np.concatenate((np.array([NEVER], np.uint32), above, loose.astype(np.uint32)))

    def inclusive() -> npt.NDArray[np.int64]:
        return np.stack((widths, counts.astype(np.int64)))

    known = snapshot.keep("frame_names", lambda: names)
    if known.packages != names.packages:
        raise ValueError("its packages are not the archive's")
    later = Later(parents, inclusive, lambda: None)
    return CallTree(OPTIONS, known, BYTES, 2, name, offsets, widths, left, later)

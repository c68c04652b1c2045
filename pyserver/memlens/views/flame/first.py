"""The flame graph that a snapshot opens with: its largest boxes, stored in the archive after they were first drawn.

It shows what is live at the peak of the default device, or a profile's default value, top-down, by bytes and by
function, with libraries collapsed if stacks are mixed. The archive stores what a picture of the whole needs: nodes that
are wide enough for it, the sum of their other children, and the packages of frames. Everything else, including the
texts of frames, is made on demand.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from memlens.kernels.tree import calltree as kernel
from memlens.kernels.tree.flame import Layout
from memlens.model.info import GraphInfo, ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.store.artefacts import read_columns, write_columns
from memlens.store.models import profile_of
from memlens.store.snapshot import Snapshot
from memlens.views.flame.calltree import MOST_VALUE, CallTree, FlameOptions, Nodes, Outline
from memlens.views.naming.frame_names import ALL_LIBRARIES, FrameNames, frame_names
from memlens.views.selection.columns import NEVER
from memlens.views.selection.items import meaning_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import AMOUNT

FINEST = 2**13
"""Nodes of at least this share of the whole are stored: enough for a view of half as many pixels."""

Unsigned = npt.NDArray[np.unsignedinteger[Any]]


def opening_set(info: SnapshotInfo) -> AllocationSet:
    """The set that a snapshot opens with."""
    match info:
        case TimelineInfo():
            return AllocationSet(info.default_device)
        case ProfileInfo() | GraphInfo():
            return AllocationSet(0)
        case _:
            assert_never(info)


def opening_options(info: SnapshotInfo) -> FlameOptions:
    """How stacks are shown at first."""
    match info:
        case TimelineInfo(mixed_stacks=mixed) | ProfileInfo(mixed_stacks=mixed):
            return FlameOptions(collapse=(ALL_LIBRARIES,)) if mixed else FlameOptions()
        case GraphInfo():
            return FlameOptions()
        case _:
            assert_never(info)


def is_first(info: SnapshotInfo, of: AllocationSet, options: FlameOptions) -> bool:
    """Whether a set, by bytes, is the one that a snapshot opens with."""
    if options != opening_options(info) or of.filter or of.to_moment is not None:
        return False
    match info:
        case TimelineInfo():
            if of.device != info.default_device:
                return False
            peaks = [device.peak_moment for device in info.devices if device.device == of.device]
            return of.from_moment is None or of.from_moment in peaks
        case ProfileInfo() | GraphInfo():
            profile = profile_of(info)
            first = profile.default_value
            # a tree of negative values has two sides, which are not stored
            return of.from_moment is None and of.value in (None, first) and not profile.values[first].negative
        case _:
            assert_never(info)


def write(path: Path, tree: CallTree, names: FrameNames) -> None:
    """Write the largest nodes, and the packages of frames."""
    write_columns(path, _columns(tree, names), names.packages)


def read(path: Path, snapshot: Snapshot, make: Callable[[], Nodes]) -> CallTree:
    """The tree whose largest nodes were written; ``make`` makes all of them.

    Raises OSError, ValueError, TypeError, KeyError and OverflowError for any other file.
    """
    return _tree(snapshot, *read_columns(path), make)


def _columns(tree: CallTree, names: FrameNames) -> dict[str, Unsigned]:
    widths, parents = tree.widths, tree.parents
    large = widths >= _least(tree.total)
    large[0] = True
    numbers = np.flatnonzero(large)
    smaller = np.flatnonzero((widths > 0) & ~large)
    smaller = smaller[large[parents[smaller]]]
    above = np.searchsorted(numbers, parents[smaller])
    more_width = np.zeros((1, len(numbers)), np.int64)
    kernel.add_by(above.astype(np.uint32), widths[np.newaxis, smaller], more_width)
    columns = {
        "number": numbers,
        "parent": np.searchsorted(numbers, parents[numbers[1:]]),
        "name": tree.name[numbers[1:]],
        "bytes": widths[numbers],
        "more": np.bincount(above, minlength=len(numbers)),
        "more_bytes": more_width[0],
        "deepest": np.array([tree.deepest]),
        "frame_package": names.package,
        "frame_function": names.of_function(),
    }
    return {
        key: column.astype(np.min_scalar_type(int(column.max(initial=0)))) for key, column in columns.items()
    }


def _least(total: int) -> int:
    """The width from which on nodes are stored."""
    return max(-(-total // FINEST), 1)


def _tree(
    snapshot: Snapshot, columns: dict[str, Unsigned], packages: list[str], make: Callable[[], Nodes]
) -> CallTree:
    """Raises ValueError, TypeError and KeyError if the columns can't have been written like this."""
    frames = [columns[f"frame_{each}"] for each in ("package", "function")]
    if len(frames[0]) != len(snapshot.frames):
        raise ValueError("its frames are not the archive's")
    package, function = (frame.astype(np.uint32, casting="safe") for frame in frames)
    names = FrameNames(
        snapshot.frames, {"function": function}, model=snapshot.info.model, packages=(package, packages)
    )
    root = np.array([NEVER], np.uint32)
    parents, name = (
        np.concatenate((root, columns[each].astype(np.uint32, casting="safe"))) for each in ("parent", "name")
    )
    numbers, more, deepest = (
        columns[each].astype(np.uint32, casting="safe") for each in ("number", "more", "deepest")
    )
    nodes, total = len(parents), int(columns["bytes"].max(initial=0))
    if (
        not len(name)
        == len(numbers)
        == len(more)
        == len(columns["bytes"])
        == len(columns["more_bytes"])
        == nodes
    ):
        raise ValueError("its columns don't fit each other")
    if not total < MOST_VALUE or int(columns["more_bytes"].max()) > total or len(deepest) != 1:
        raise ValueError("it is too large")
    if bool((parents[1:] >= np.arange(1, nodes)).any()) or int(name[1:].max(initial=0)) >= names.count:
        raise ValueError("a node stands before its parent, or has an unknown name")
    widths, more_width = columns["bytes"].astype(np.int64), columns["more_bytes"].astype(np.int64)
    inside = more_width[np.newaxis].copy()
    kernel.add_by(parents, widths[np.newaxis], inside)
    if bool((inside[0] > widths).any()):
        raise ValueError("a node is wider than what holds it")
    child, sibling = np.empty_like(parents), np.empty_like(parents)
    kernel.families(parents, child, sibling)
    layout = Layout(parents, name, child, sibling, widths, numbers=numbers, more=more, more_width=more_width)
    known = frame_names.put(snapshot, names)
    if known.packages != names.packages:
        raise ValueError("its packages are not the archive's")
    least = _least(total)
    # widths are whole numbers
    outline = Outline(layout, least - 0.5 if least > 1 else 0, total, int(deepest[0]))
    meaning = meaning_of(snapshot, opening_set(snapshot.info))
    options = opening_options(snapshot.info)
    return CallTree(options, known.by(options.merge), AMOUNT, meaning, make, outline)

"""Allocations that keep mostly free segments reserved: a segment with any block in it can't be returned."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32
from memlens.kernels.trace.allocator import EXPANDABLE
from memlens.kernels.trace.timeline import BEFORE_TRACE as BEFORE_FLAG
from memlens.model.distinct import distinct
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text
from memlens.views.answers import Frame
from memlens.views.naming.frame_names import BEFORE_TRACE, SPECIAL_NAMES
from memlens.views.selection.columns import NEVER, frame, operator_of_stack
from memlens.views.trace.allocator.state import INACTIVE, AllocatorState
from memlens.views.trace.oom.answers import PinningLine

# instead of a frame, for memory allocated before recording, which has no stack
_EARLY = np.uint32(NEVER - 1)


class Pin(NamedTuple):
    """The blocks with one label, and the segments that they are in."""

    label: int
    blocks: npt.NDArray[np.intp]
    """Indexes of the blocks."""
    segments: int
    free_bytes: int
    """Free bytes in these segments."""
    alone_bytes: int
    """Free bytes in segments with blocks of this label only."""


def split_segments(state: AllocatorState) -> npt.NDArray[np.intp]:
    """Return the segments with blocks and free pieces, except expandable ones, whose free pages can be returned."""
    segments = state.segments
    used = (segments["active"] > 0) & (segments["active"] < segments["size"])
    return np.flatnonzero(used & (segments["flags"] & EXPANDABLE == 0))


def held_blocks(state: AllocatorState, segments: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Return the blocks in use in some segments."""
    return state.blocks[(state.blocks["state"] != INACTIVE) & np.isin(state.blocks["segment"], segments)]


def pins(state: AllocatorState, held: npt.NDArray[Any], labels: I64, most: int) -> Iterator[Pin]:
    """Group blocks by label, those in the segments with the most free bytes first."""
    free = state.segments["size"] - state.segments["active"]
    pairs = np.unique(np.stack((labels, held["segment"].astype(np.int64))), axis=1)
    owners, labels_in = np.unique(pairs[1], return_counts=True)
    alone = np.isin(pairs[1], owners[labels_in == 1])
    distinct, group = np.unique(pairs[0], return_inverse=True)
    sums, sums_alone = np.zeros((2, len(distinct)), np.int64)
    np.add.at(sums, group, free[pairs[1]])
    np.add.at(sums_alone, group, np.where(alone, free[pairs[1]], 0))
    counts = np.bincount(group, minlength=len(distinct))
    for each in np.argsort(-sums, kind="stable")[:most].tolist():
        label = int(distinct[each])
        yield Pin(
            label, np.flatnonzero(labels == label), int(counts[each]), int(sums[each]), int(sums_alone[each])
        )


def labels_of_rows(snapshot: Snapshot, device: Device, rows: U32) -> U32:
    """The frame that represents each allocation, for :func:`line_of`."""
    labels: U32 = snapshot.stacks.label[device.stack[rows]]
    early = (device.flags[rows] & BEFORE_FLAG) != 0
    return np.where(early & (labels == NEVER), _EARLY, labels)


def line_of(snapshot: Snapshot, label: int, stack: int) -> tuple[Frame | None, Text | None]:
    """Return the frame of a label, and the operator if its stack has no line of Python."""
    if label == NEVER:
        return None, None
    if label == _EARLY:
        return None, SPECIAL_NAMES[BEFORE_TRACE]
    line = frame(snapshot.frames.rows([label])[label], int(snapshot.frames.source[label]))
    operator = operator_of_stack(snapshot, stack) if line.kind == "native" else None
    return line, Text(operator) if operator else None


def pinning_lines(
    snapshot: Snapshot, device: Device, state: AllocatorState, segments: npt.NDArray[np.intp], most: int
) -> list[PinningLine]:
    """Return the lines with blocks in some segments, those in the segments with the most free bytes first."""
    held = held_blocks(state, segments)
    found = []
    for pin in pins(state, held, labels_of_rows(snapshot, device, held["row"]).astype(np.int64), most):
        mine = held[pin.blocks]
        largest = int(mine["row"][int(np.argmax(mine["size"]))])
        line, operator = line_of(snapshot, pin.label, int(device.stack[largest]))
        found.append(
            PinningLine(
                frame=line,
                operator=operator,
                count=len(mine),
                bytes=int(mine["size"].sum()),
                segments=pin.segments,
                pinned_bytes=pin.free_bytes,
                alone_bytes=pin.alone_bytes,
                largest_allocation=int(device.allocations(np.asarray([largest]))[0]),
                stacks=distinct(mine["stack"]).tolist(),
            )
        )
    return found

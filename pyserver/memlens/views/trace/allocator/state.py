"""The allocator's state at a moment.

It is computed from what is live at the moment, which is found without a replay by the tables of largest ends (see
``kernels/trace/stacked.pyx``), which serve as a checkpoint at every moment. There are so few segments, compared to
events, that all of them are checked.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import U32, U64
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.selection.columns import NEVER, check_moment, device_of, live_rows
from memlens.views.trace.allocator.blocks import block_sizes, pending_moments
from memlens.views.trace.allocator.segments import joined, segments_of, walls_of

INACTIVE, ALLOCATED, PENDING_FREE = 0, 1, 2
STATES = ("inactive", "active_allocated", "active_pending_free")
"""Names of a block's states, as in the file's ``segments``."""

SEGMENT = np.dtype(
    [
        ("address", "<u8"), ("size", "<i8"), ("allocated", "<i8"), ("active", "<i8"), ("requested", "<i8"),
        ("first_block", "<u4"), ("blocks", "<u4"), ("start", "<u4"), ("stack", "<u4"), ("stream", "<u2"),
        ("pool", "<u2"), ("flags", "u1"),
    ],
    align=True,
)  # fmt: skip
BLOCK = np.dtype(
    [
        ("address", "<u8"), ("size", "<i8"), ("requested", "<i8"), ("row", "<u4"), ("stack", "<u4"),
        ("segment", "<u4"), ("state", "u1"),
    ],
    align=True,
)  # fmt: skip


@dataclass(slots=True)
class AllocatorState:
    """Segments by address and the blocks that tile them, at one moment. Sizes are bytes.

    ``segments``: ``allocated`` and ``active`` are sums of block sizes without and with pending ones, ``requested`` the
    requested bytes of the allocated ones; its ``blocks`` are those from ``first_block`` on; ``start`` is the moment at
    which its oldest piece was reserved; ``stack``, ``stream``, ``pool`` and ``flags`` as in
    :func:`memlens.views.trace.allocator.segments.segments_of`.

    ``blocks``: ``row`` is the allocation's row on its device, NEVER for an inactive one; ``segment`` a row of
    ``segments``; ``state`` a number of ``STATES``.

    ``outside``: rows of allocations that are live but in no segment of the file.
    """

    moment: int
    segments: npt.NDArray[Any]
    blocks: npt.NDArray[Any]
    outside: U32

    @property
    def reserved_bytes(self) -> int:
        """Reserved bytes."""
        return int(self.segments["size"].sum())

    @property
    def allocated_bytes(self) -> int:
        """Blocks in use, rounding included."""
        return int(self.segments["allocated"].sum())

    @property
    def active_bytes(self) -> int:
        """Blocks in use or waiting for their free to complete, rounding included."""
        return int(self.segments["active"].sum())

    @property
    def requested_bytes(self) -> int:
        """The requested bytes of the blocks in use."""
        return int(self.segments["requested"].sum())

    @property
    def inactive_split_bytes(self) -> int:
        """Reserved and free in segments with active parts, which therefore can't be released."""
        used = self.segments[self.segments["active"] > 0]
        return int(used["size"].sum() - used["active"].sum())


def state_at(snapshot: Snapshot, device: int, moment: int) -> AllocatorState:
    """The segments and blocks of a device at a moment. Raises BadRequestError."""
    own = device_of(snapshot, device)
    check_moment(own, moment)
    segments = _segments_at(snapshot, device, moment)
    rows = live_rows(own, moment)
    rows = rows[np.argsort(own.address[rows], kind="stable")]
    stops = segments["address"] + segments["size"].astype(np.uint64)
    segment = np.searchsorted(segments["address"], own.address[rows], "right") - 1
    inside = segment >= 0
    inside[inside] = own.address[rows[inside]] < stops[segment[inside]]
    outside, rows, segment = rows[~inside], rows[inside], segment[inside]
    active = _active_blocks(snapshot, own, rows, segment, stops, moment)
    blocks = _tiled(segments, stops, active)
    numbers = np.arange(len(segments), dtype=np.uint32)
    first = np.searchsorted(blocks["segment"], numbers)
    segments["first_block"] = first
    segments["blocks"] = np.searchsorted(blocks["segment"], numbers, "right") - first
    for column, size, states in (
        ("allocated", "size", (ALLOCATED,)),
        ("active", "size", (ALLOCATED, PENDING_FREE)),
        ("requested", "requested", (ALLOCATED,)),
    ):
        counted = np.where(np.isin(blocks["state"], states), blocks[size], 0)
        if len(blocks):
            # every segment has at least one block, so no range is empty
            segments[column] = np.add.reduceat(counted, segments["first_block"])
    return AllocatorState(moment, segments, blocks, outside)


def _segments_at(snapshot: Snapshot, device: int, moment: int) -> npt.NDArray[Any]:
    spans = segments_of(snapshot, device)
    spans = spans[(spans["start"] <= moment) & (spans["end"] > moment)]
    firsts = joined(spans, walls_of(snapshot, device))
    found = np.zeros(len(firsts), SEGMENT)
    if len(firsts):
        for name in ("address", "stack", "stream", "flags"):
            found[name] = spans[name][firsts]
        found["size"] = np.add.reduceat(spans["size"], firsts)
        found["start"] = np.minimum.reduceat(spans["start"], firsts)
        # a piece with a known pool determines that of its neighbours
        found["pool"] = np.maximum.reduceat(spans["pool"], firsts)
    return found


def _active_blocks(
    snapshot: Snapshot,
    own: Device,
    rows: U32,
    segment: npt.NDArray[np.intp],
    stops: U64,
    moment: int,
) -> npt.NDArray[Any]:
    number = own.info.device
    found = np.zeros(len(rows), BLOCK)
    found["address"], found["requested"] = own.address[rows], own.size[rows]
    found["row"], found["segment"], found["stack"] = rows, segment, own.stack[rows]
    found["state"] = np.where(pending_moments(snapshot, number)[rows] <= moment, PENDING_FREE, ALLOCATED)
    if len(rows):
        # a block ends where the next one begins, even if the file contradicts itself
        next_address = np.append(found["address"][1:], np.uint64(0))
        last = np.append(found["segment"][1:] != found["segment"][:-1], True)
        room = np.where(last, stops[segment], next_address) - found["address"]
        found["size"] = np.minimum(block_sizes(snapshot, number)[rows].astype(np.uint64), room)
    return found


def _tiled(segments: npt.NDArray[Any], stops: U64, active: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The active blocks and, as inactive ones, the gaps between them."""
    ends = active["address"] + active["size"].astype(np.uint64)
    numbers = np.arange(len(segments), dtype=np.uint32)
    # a gap begins with the segment or after a block, and ends at the next block or the segment's end
    first = np.searchsorted(active["segment"], numbers)
    after_last = np.searchsorted(active["segment"], numbers, "right")
    begins = np.insert(ends, first, segments["address"])
    stop = np.insert(active["address"], after_last, stops)
    owner = np.insert(active["segment"], first, numbers)
    open_ = stop > begins
    holes = np.zeros(int(open_.sum()), BLOCK)
    holes["address"], holes["size"] = begins[open_], (stop - begins)[open_]
    holes["segment"], holes["row"] = owner[open_], NEVER
    tiles = np.concatenate((active, holes))
    return tiles[np.argsort(tiles["address"], kind="stable")]

"""The answer about the allocator's state: its figures, and a page of its segments with the blocks that tile them."""

import base64
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import I64, U8, U32, Mask
from memlens.errors import BadRequestError
from memlens.kernels.trace import allocator as kernel
from memlens.model.spans import spans
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import phrase
from memlens.views.answers import Area
from memlens.views.selection.columns import NEVER, device_of, time_of_moment
from memlens.views.trace.allocator.blocks import block_sizes
from memlens.views.trace.allocator.state import BLOCK, SEGMENT, AllocatorState, state_at

MOST_SEGMENTS = 500
MOST_BLOCKS = 20_000
_PART_GAP = 16 << 20
_LEFT_OUT = 4
_NO_AREA = 255
_COLUMNS = SEGMENT.names or ()

SegmentOrder = Literal["size", "address", "free"]


class TraceEvent(Struct, frozen=True):
    """An event of the trace as recorded in the file."""

    action: str
    address: str
    """Hexadecimal."""
    size_bytes: int
    stream: str
    allocation: int | None
    """The allocation that the event starts or frees."""


class SegmentState(Struct, frozen=True):
    """A segment at a moment. ``allocated`` and ``active`` count whole blocks, without and with those pending."""

    address: str
    """Hexadecimal."""
    size_bytes: int
    allocated_bytes: int
    active_bytes: int
    requested_bytes: int
    largest_free_bytes: int
    pool_type: Literal["small", "large", "unknown"]
    expandable: bool
    stream: str
    pool: str | None
    """The private pool's id, ``"0, 1"``; None for the default pool and where the file does not say."""
    reserved_at_moment: int | None
    """None if it was reserved before the trace."""
    first_block: int
    block_count: int
    known: bool
    """False for live allocations that are in no segment of the file."""


class AllocatorStateAnswer(Struct, frozen=True):
    """The state after an event. Segments are rows ``offset … offset + len(segments)`` of ``segment_count``.

    ``blocks`` is base64 of columns, little-endian, ``n`` items each: ``f64`` offset in the segment, ``f64`` size and
    ``f64`` requested (bytes), ``u32`` allocation, ``u32`` stack (2**32 - 1 for none), ``u8`` state: 0 inactive,
    1 allocated, 2 pending free, plus 4 for one that the filter excludes or that is not highlighted, ``u8`` which of
    ``areas`` it is in (255 for none).
    """

    moment: int
    time_us: float | None
    event: TraceEvent | None
    reserved_bytes: int
    allocated_bytes: int
    active_bytes: int
    requested_bytes: int
    inactive_split_bytes: int
    """Free bytes in segments that also have active parts."""
    outside_bytes: int
    """Live bytes outside of the file's segments."""
    segment_count: int
    offset: int
    segments: list[SegmentState]
    block_count: int
    blocks: str
    areas: list[Area]
    """The requested groups, the same as in the picture of the device."""
    truncated: bool
    """Whether a segment has more blocks than fit into an answer: then only the first ones are sent."""


def allocator_state(
    snapshot: Snapshot,
    device: int,
    moment: int,
    order: SegmentOrder,
    offset: int,
    limit: int,
    filter_text: str = "",
    highlighted: Mask | None = None,
    areas: tuple[list[Area], U8] | None = None,
) -> AllocatorStateAnswer:
    """Segments ``offset … offset + limit`` at a moment, fewer when they have very many blocks.

    ``highlighted`` flags the highlighted rows of the filtered device; ``areas`` are the groups, and which one each of
    these rows is in. Raises BadRequestError.
    """
    if offset < 0 or not 0 < limit <= MOST_SEGMENTS:
        raise BadRequestError(phrase("A page must have 1 to {most} segments", most=MOST_SEGMENTS))
    own = device_of(snapshot, device, filter_text)
    state = state_at(snapshot, device, moment)
    outside, outside_blocks = _outside(own.whole, state, block_sizes(snapshot, device))
    segments = np.concatenate((state.segments, outside))
    blocks = np.concatenate((state.blocks, outside_blocks))
    counts: U32 = segments["blocks"]
    segments["first_block"] = np.cumsum(counts) - counts
    known = np.arange(len(segments)) < len(state.segments)
    free = segments["size"] - segments["active"]
    keys = {"size": -segments["size"], "address": segments["address"], "free": -free}
    page = np.lexsort((segments["address"], keys[order], ~known))[offset : offset + limit]
    room = np.cumsum(counts[page]) <= MOST_BLOCKS
    page = page[: max(int(room.sum()), 1)]
    fitting = np.minimum(counts[page], MOST_BLOCKS)
    rows = spans(segments["first_block"][page], fitting)
    shown = blocks[rows]
    largest = _largest_free(segments, blocks, page)
    firsts = np.cumsum(fitting) - fitting
    return AllocatorStateAnswer(
        moment=moment,
        time_us=time_of_moment(own, moment),
        event=_event(snapshot, own.whole, moment),
        reserved_bytes=state.reserved_bytes,
        allocated_bytes=state.allocated_bytes,
        active_bytes=state.active_bytes,
        requested_bytes=state.requested_bytes,
        inactive_split_bytes=state.inactive_split_bytes,
        outside_bytes=int(own.whole.size[state.outside].sum()),
        segment_count=len(segments),
        offset=offset,
        segments=[
            # reading items of a dict is much faster than reading those of a row
            _segment(snapshot, dict(zip(_COLUMNS, row, strict=True)), free_bytes, first, known=is_known)
            for row, free_bytes, first, is_known in zip(
                segments[page].tolist(), largest, firsts.tolist(), known[page].tolist(), strict=True
            )
        ],
        block_count=len(shown),
        blocks=_packed(own, segments, shown, highlighted, areas[1] if areas else None),
        areas=areas[0] if areas else [],
        truncated=bool(len(page)) and int(segments["blocks"][page[0]]) > MOST_BLOCKS,
    )


def _outside(own: Device, state: AllocatorState, sizes: I64) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Live allocations in no known segment, grouped by proximity into artificial segments."""
    rows = state.outside
    blocks = np.zeros(len(rows), BLOCK)
    blocks["address"], blocks["requested"] = own.address[rows], own.size[rows]
    blocks["size"], blocks["row"], blocks["stack"] = sizes[rows], rows, own.stack[rows]
    blocks["state"] = 1
    stops = blocks["address"] + np.minimum(blocks["size"].astype(np.uint64), ~blocks["address"])
    reach = np.maximum.accumulate(stops) if len(rows) else stops
    begins = np.ones(len(rows), bool)
    begins[1:] = (blocks["address"][1:] > reach[:-1]) & (blocks["address"][1:] - reach[:-1] > _PART_GAP)
    firsts = np.flatnonzero(begins)
    found = np.zeros(len(firsts), SEGMENT)
    if len(firsts):
        lasts = np.append(firsts[1:], len(rows)) - 1
        found["address"], found["size"] = blocks["address"][firsts], reach[lasts] - blocks["address"][firsts]
        found["blocks"] = lasts - firsts + 1
        for name, column in (("allocated", "size"), ("active", "size"), ("requested", "requested")):
            found[name] = np.add.reduceat(blocks[column], firsts)
        found["stream"] = own.stream[rows[firsts]]
        blocks["segment"] = len(state.segments) + np.cumsum(begins) - 1
    return found, blocks


def _largest_free(
    segments: npt.NDArray[Any], blocks: npt.NDArray[Any], page: npt.NDArray[np.intp]
) -> list[int]:
    if not len(blocks):
        return []
    sizes = np.where(blocks["state"] == 0, blocks["size"], 0)
    most: list[int] = np.maximum.reduceat(sizes, segments["first_block"])[page].tolist()
    return most


def _segment(
    snapshot: Snapshot, row: dict[str, int], largest_free: int, first_block: int, *, known: bool
) -> SegmentState:
    flags = row["flags"]
    pool = snapshot.manifest.pools[row["pool"]] if known and row["pool"] else (0, 0)
    return SegmentState(
        address=hex(row["address"]),
        size_bytes=row["size"],
        allocated_bytes=row["allocated"],
        active_bytes=row["active"],
        requested_bytes=row["requested"],
        largest_free_bytes=largest_free,
        pool_type=("small" if flags & kernel.SMALL else "large") if known else "unknown",
        expandable=bool(flags & kernel.EXPANDABLE),
        stream=str(snapshot.manifest.streams[row["stream"]]),
        pool=None if tuple(pool) == (0, 0) else f"{pool[0]}, {pool[1]}",
        reserved_at_moment=row["start"] or None,
        first_block=first_block,
        block_count=min(row["blocks"], MOST_BLOCKS),
        known=known,
    )


def _event(snapshot: Snapshot, own: Device, moment: int) -> TraceEvent | None:
    if moment == 0:
        return None
    event = moment - 1
    owner = int(own.event_owner[event])
    return TraceEvent(
        action=snapshot.manifest.actions[int(own.event_action[event])],
        address=hex(int(own.event_address[event])),
        size_bytes=int(own.event_size[event]),
        stream=str(snapshot.manifest.streams[int(own.event_stream[event])]),
        allocation=own.first_allocation + owner if owner != NEVER else None,
    )


def _packed(
    own: Device,
    segments: npt.NDArray[Any],
    blocks: npt.NDArray[Any],
    highlighted: Mask | None,
    area_of: U8 | None,
) -> str:
    whole = own.whole
    active = blocks["row"] != NEVER
    allocation = np.full(len(blocks), NEVER, np.uint32)
    owners: U32 = blocks["row"][active]
    allocation[active] = whole.allocations(owners)
    stack = np.where(active, blocks["stack"], np.uint32(NEVER))
    state = blocks["state"].astype(np.uint8)
    if own.rows is not None or highlighted is not None:
        shown = (
            np.ones(whole.info.allocations, bool)
            if own.rows is None
            else np.zeros(whole.info.allocations, bool)
        )
        shown[slice(None) if own.rows is None else own.rows] = True if highlighted is None else highlighted
        left_out = np.flatnonzero(active)[~shown[owners]]
        state[left_out] += _LEFT_OUT
    area = np.full(len(blocks), _NO_AREA, np.uint8)
    if area_of is not None:
        of_rows = np.full(whole.info.allocations, _NO_AREA, np.uint8)
        of_rows[slice(None) if own.rows is None else own.rows] = area_of
        area[active] = of_rows[owners]
    offset = blocks["address"] - segments["address"][blocks["segment"]]
    columns = (
        offset.astype("<f8"),
        blocks["size"].astype("<f8"),
        blocks["requested"].astype("<f8"),
        allocation.astype("<u4"),
        stack.astype("<u4"),
        state,
        area,
    )
    return base64.b64encode(b"".join(column.tobytes() for column in columns)).decode("ascii")

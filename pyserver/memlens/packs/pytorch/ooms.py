"""Out-of-memory events, explained by the state of the allocator when they happened.

According to ``c10/cuda/CUDACachingAllocator.cpp`` a request may be served by a free block of the same stream, the same
memory pool and the same size class (requests up to 1 MiB, and larger ones). Before it fails, the allocator releases all
segments without blocks and asks the driver once more.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U8, U32, Mask
from memlens.errors import BadRequestError
from memlens.kernels.trace import allocator as flags
from memlens.model.distinct import distinct
from memlens.model.info import device_phrase
from memlens.model.timeline import ACTIONS, NOTE_KINDS
from memlens.packs.pytorch import oom_sentences as oom_words
from memlens.packs.pytorch.oom_replays import peak_with, replays
from memlens.packs.pytorch.oom_sentences import helps
from memlens.packs.pytorch.replay_settings import recorded_settings
from memlens.store.models import devices_of
from memlens.store.snapshot import Snapshot
from memlens.store.stacks.frames import FrameRow
from memlens.store.trace.device import Device
from memlens.texts import phrase
from memlens.views.answers import Frame
from memlens.views.lines.stack import stack_frames
from memlens.views.selection.columns import (
    NEVER,
    device_of,
    frame,
    live_rows,
    summaries,
    time_of_moment,
)
from memlens.views.trace.allocator.blocks import divisions_of, rounded_up
from memlens.views.trace.allocator.segments import GOES, reserved_at
from memlens.views.trace.allocator.state import INACTIVE, AllocatorState, state_at
from memlens.views.trace.oom.answers import (
    FreePlace,
    HoldingLine,
    Mark,
    MarkKind,
    MarksAnswer,
    OomAnswer,
    PinnedSegment,
    PinningLine,
    ReplayBudget,
    Retry,
    Why,
)
from memlens.views.trace.oom.pinning import labels_of_rows, line_of, pinning_lines
from memlens.views.trace.picture.reserved import gap_at, usage_of

__all__ = ("helps", "marks", "oom")

# kSmallSize, kMinLargeAlloc, kSmallBuffer and kRoundLarge of CUDACachingAllocator.cpp
SMALL_BYTES, LEAST_LARGE_BYTES = 1 << 20, 10 << 20
SMALL_BUFFER_BYTES, LARGE_STEP_BYTES = 2 << 20, 2 << 20

MOST_MARKS, MOST_SEGMENTS, MOST_BLOCKS, MOST_LINES = 1000, 50, 8, 50
_ALLOC, _OOM, _SNAPSHOT = (ACTIONS.index(name) for name in ("alloc", "oom", "snapshot"))
_WHYS: tuple[Why, ...] = ("usable", "rest", "other_size_class", "other_pool", "other_stream")
_USABLE, _REST, _SIZE_CLASS, _POOL, _STREAM = range(len(_WHYS))


def marks(snapshot: Snapshot) -> MarksAnswer:
    """The events of all devices that are marked on the time axis."""
    found: list[Mark] = []
    count = 0
    kinds: tuple[tuple[MarkKind, int], ...] = (("oom", _OOM), ("snapshot", _SNAPSHOT))
    for kind, action in kinds:
        for info in devices_of(snapshot.info):
            device = device_of(snapshot, info.device)
            events = np.flatnonzero(device.event_action == action)
            count += len(events)
            found += [
                Mark(
                    kind, info.device, event, event + 1, time_of_moment(device, event + 1),
                    _size_of(device, event),
                    device_free(device, event) if kind == "oom" else None,
                )
                for event in events[: MOST_MARKS - len(found)].tolist()
            ]  # fmt: skip
    return MarksAnswer(found, count)


def oom(snapshot: Snapshot, number: int, event: int, budget: ReplayBudget | None = None) -> OomAnswer:
    """An out-of-memory event of a device, by its number there. Raises :class:`BadRequestError`."""
    device = device_of(snapshot, number)
    if not 0 <= event < device.info.events or device.event_action[event] != _OOM:
        raise BadRequestError(
            phrase(
                "Event {event} of {device} is not an out-of-memory event",
                event=event,
                device=device_phrase(number),
            )
        )
    state = state_at(snapshot, number, event + 1)
    usage = usage_of(snapshot, number)
    case = _Case(snapshot, device, event, state)
    places, pinned = case.places(), case.pinned()
    lines, pinning = case.lines(), case.pinning()
    gap = gap_at(usage, event + 1)
    returned_segments, returned_bytes = case.returned()
    pool = int(case.pool)
    free = device_free(device, event)
    request_stack = int(device.event_stack[event])
    asked_at = _asked_at(snapshot, request_stack)
    retry = case.retry() if case.size_known else None
    capacity = case.capacity_bytes(free)
    wording = oom_words.Case(
        size_bytes=case.size,
        size_known=case.size_known,
        driver_bytes=case.driver_bytes,
        device_free_bytes=free,
        gap=gap,
        places={place.why: place for place in places},
        shared_free_bytes=case.shared_free_bytes(),
        private_idle_bytes=case.private_idle_bytes(),
        pinned=pinned,
        pinning=pinning,
        lines=lines,
        returned_bytes=returned_bytes,
        returned_segments=returned_segments,
        retry=retry,
        events_after=device.info.events - event - 1,
        segments_known=usage.known,
        expandable=True
        if case.expandable
        else _switch(snapshot.manifest.settings.get("expandable_segments")),
        device=number,
        event=event,
        event_pool_known=pool != 0,
        replays=lambda settings: replays(snapshot, number, event, capacity, settings),
        peak_with=lambda changes: peak_with(snapshot, number, event, capacity, changes, budget),
    )
    return OomAnswer(
        device=number,
        event=event,
        moment=event + 1,
        time_us=time_of_moment(device, event + 1),
        requested_bytes=case.size,
        driver_bytes=case.driver_bytes,
        device_free_bytes=free,
        stream=str(snapshot.manifest.streams[case.stream]),
        pool=_pool_name(snapshot, pool),
        frames=stack_frames(snapshot, request_stack),
        asked_at=asked_at,
        asked_by=oom_words.asked_by(asked_at, [row[2] for row in _rows_of(snapshot, request_stack)]),
        gap=gap,
        segments_known=usage.known,
        verdict=wording.verdict,
        headline=oom_words.headline(wording),
        findings=oom_words.findings(wording),
        places=places,
        shared_free_bytes=wording.shared_free_bytes,
        pinned=pinned[:MOST_SEGMENTS],
        pinned_count=len(pinned),
        pinning=pinning,
        lines=lines,
        returned_segments=returned_segments,
        returned_bytes=returned_bytes,
        events_after=device.info.events - event - 1,
        retry=retry,
    )


def driver_bytes(size: int, *, expandable: bool, large_segment: int) -> int:
    """What a request makes the allocator request from the driver.

    This is ``get_allocation_size``, or pages of expandable segments; less if such a segment ends with a free block.
    """
    if expandable:
        page = SMALL_BUFFER_BYTES if size <= SMALL_BYTES else large_segment
        return max(-(-size // page), 1) * page
    if size <= SMALL_BYTES:
        return SMALL_BUFFER_BYTES
    if size < LEAST_LARGE_BYTES:
        return large_segment
    return -(-size // LARGE_STEP_BYTES) * LARGE_STEP_BYTES


def shared_pools(snapshot: Snapshot) -> list[int]:
    """The numbers of the shared pool and of an unknown one."""
    return [0] + [row for row, pool in enumerate(snapshot.manifest.pools) if tuple(pool) == (0, 0)]


def _switch(value: Any) -> bool | None:
    """A setting that is on or off, None if the file doesn't say."""
    return value if isinstance(value, bool) else None


def _size_of(device: Device, event: int) -> int:
    # sizes of events that aren't allocations are those of the file
    return max(int(device.event_size[event]), 0)


def _rows_of(snapshot: Snapshot, stack: int) -> list[FrameRow]:
    """The frames of a stack, innermost first."""
    ids = snapshot.stack_frame_ids(stack)
    rows = snapshot.frames.rows(ids)
    return [rows[number] for number in ids]


def _asked_at(snapshot: Snapshot, stack: int) -> Frame | None:
    """The Python line that represents a stack; None if no Python frame was recorded."""
    label = int(snapshot.stacks.label[stack])
    if label == NEVER:
        return None
    line = frame(snapshot.frames.rows([label])[label], int(snapshot.frames.source[label]))
    return None if line.kind == "native" else line


def device_free(device: Device, event: int) -> int | None:
    """What the device had free at an event, in bytes; None if the file doesn't say."""
    notes = device.notes
    at = int(np.searchsorted(notes["event"], np.uint32(event)))
    mine = notes[at : int(np.searchsorted(notes["event"], np.uint32(event), "right"))]
    values: list[int] = mine["value"][mine["kind"] == NOTE_KINDS.index("device_free")].tolist()
    return values[0] if values else None


def _pool_name(snapshot: Snapshot, pool: int) -> str | None:
    if pool == 0:
        return None
    return "({}, {})".format(*snapshot.manifest.pools[pool])


class _Case:
    """A request that failed, and what prevented it."""

    def __init__(self, snapshot: Snapshot, device: Device, event: int, state: AllocatorState) -> None:
        self.snapshot, self.device, self.event, self.state = snapshot, device, event, state
        self.size = _size_of(device, event)
        self.size_known = int(device.event_size[event]) >= 0
        self.expandable = bool((state.segments["flags"] & flags.EXPANDABLE).any())
        self.driver_bytes = driver_bytes(
            self.size,
            expandable=self.expandable,
            large_segment=recorded_settings(snapshot, device.whole).large_segment_bytes,
        )
        self.stream = int(device.event_stream[event])
        self.pool = int(device.event_pool[event])
        self.why = self._why()
        free = state.blocks["state"] == INACTIVE
        self.free = state.blocks[free]
        owners = state.segments[self.free["segment"]]
        self.free_why = self.why[self.free["segment"]]
        large = owners["flags"] & (flags.SMALL | flags.EXPANDABLE) == 0
        # a block of a large segment is only split if more than this is left, so up to this much belongs to a block
        rest = large & (self.free["size"] <= SMALL_BYTES) & (owners["active"] > 0)
        self.free_why[rest & (self.free_why == _USABLE)] = _REST

    def _why(self) -> U8:
        """For each segment, whether it may serve the request, or why not."""
        segments = self.state.segments
        why = np.full(len(segments), _USABLE, np.uint8)
        small = segments["flags"] & flags.SMALL != 0
        why[small != (self.size <= SMALL_BYTES)] = _SIZE_CLASS
        private = self._private()
        if self.pool == 0:
            why[private] = _POOL
        else:
            why[(segments["pool"] != self.pool) & (segments["pool"] != 0)] = _POOL
        why[segments["stream"] != self.stream] = _STREAM
        return why

    def _private(self) -> Mask:
        """Mask of the segments that belong to a private pool."""
        shared = shared_pools(self.snapshot)
        return ~np.isin(self.state.segments["pool"], shared)

    def shared_free_bytes(self) -> int:
        """Free bytes in segments outside of private pools."""
        shared = ~self._private()
        return int(self.free["size"][shared[self.free["segment"]]].sum())

    def private_idle_bytes(self) -> int:
        """The bytes of private pools' segments without blocks."""
        segments = self.state.segments[self._private()]
        idle = (segments["active"] == 0) & (segments["flags"] & flags.EXPANDABLE == 0)
        return int(segments["size"][idle].sum())

    def places(self) -> list[FreePlace]:
        """Free blocks by what they could serve, those for the request first."""
        found = []
        for number, why in enumerate(_WHYS):
            mine = self.free[self.free_why == number]
            if not len(mine):
                continue
            largest = mine[int(np.argmax(mine["size"]))]
            found.append(
                FreePlace(
                    why, int(mine["size"].sum()), len(mine), len(distinct(mine["segment"])),
                    int(largest["size"]), hex(int(largest["address"])),
                )
            )  # fmt: skip
        return found

    def _split(self) -> npt.NDArray[np.intp]:
        """The segments that could serve the request, hold blocks, and have usable free pieces; most free first."""
        segments = self.state.segments
        free = np.zeros(len(segments), np.int64)
        mine = self.free_why == _USABLE
        np.add.at(free, self.free["segment"][mine], self.free["size"][mine])
        split = np.flatnonzero((free > 0) & (segments["active"] > 0))
        # first those in which the request would fit
        fits = segments["size"][split] >= self.size
        return split[np.lexsort((segments["address"][split], -free[split], ~fits))]

    def pinned(self) -> list[PinnedSegment]:
        """All of these segments; blocks are listed only for the first ones."""
        blocks = self.state.blocks
        found = []
        for place, row in enumerate(self._split().tolist()):
            segment = self.state.segments[row]
            first = int(segment["first_block"])
            own = blocks[first : first + int(segment["blocks"])]
            held, holes = own[own["state"] != INACTIVE], own[own["state"] == INACTIVE]
            listed: U32 = np.empty(0, np.uint32)
            if place < MOST_SEGMENTS:
                listed = held["row"][np.argsort(-held["size"], kind="stable")[:MOST_BLOCKS]]
            found.append(
                PinnedSegment(
                    address=hex(int(segment["address"])),
                    size_bytes=int(segment["size"]),
                    free_bytes=int(holes["size"].sum()),
                    largest_free_bytes=int(holes["size"].max()),
                    stream=str(self.snapshot.manifest.streams[int(segment["stream"])]),
                    pool=_pool_name(self.snapshot, int(segment["pool"])),
                    expandable=bool(segment["flags"] & flags.EXPANDABLE),
                    large_enough=int(segment["size"]) >= self.size,
                    block_count=len(held),
                    block_bytes=int(held["size"].sum()),
                    blocks=summaries(self.snapshot, self.device, listed),
                )
            )
        return found

    def lines(self) -> list[HoldingLine]:
        """What was live at the event, by line, the most bytes first."""
        rows = live_rows(self.device, self.event + 1)
        labels, groups = _grouped(labels_of_rows(self.snapshot, self.device, rows), self.device.size[rows])
        found = []
        for label, members in zip(labels, groups, strict=True):
            mine = rows[members]
            sizes = self.device.size[mine]
            largest = int(np.argmax(sizes))
            line, operator = line_of(self.snapshot, label, int(self.device.stack[mine[largest]]))
            found.append(
                HoldingLine(
                    line, operator, len(mine), int(sizes.sum()), int(sizes[largest]),
                    self._number(int(mine[largest])), distinct(self.device.stack[mine]).tolist(),
                )
            )  # fmt: skip
        return found

    def pinning(self) -> list[PinningLine]:
        """The lines with blocks in split segments, by the free bytes in these."""
        return pinning_lines(self.snapshot, self.device, self.state, self._split(), MOST_LINES)

    def _number(self, row: int) -> int:
        """The number of an allocation in the snapshot."""
        return int(self.device.allocations(np.asarray([row]))[0])

    def capacity_bytes(self, free: int | None) -> int | None:
        """The memory that could be reserved at the event; None if unknown. It failed, so less was free than needed."""
        if free is None or not self.size:
            return None
        return reserved_at(self.snapshot, self.device.info.device, self.event) + min(
            free, self.driver_bytes - 1
        )

    def returned(self) -> tuple[int, int]:
        """The number of segments that the allocator released right before the event, and their bytes."""
        kept = np.flatnonzero(~np.isin(self.device.event_action[: self.event], GOES))
        first = int(kept[-1]) + 1 if len(kept) else 0
        sizes = self.device.event_size[first : self.event]
        return len(sizes), int(np.clip(sizes, 0, 1 << 50).sum())

    def retry(self) -> Retry | None:
        """The next allocation of the same size on the same stream, if the trace has one."""
        start = self.event + 1
        actions = self.device.event_action[start:]
        same = self.device.event_stream[start:] == self.stream
        divisions = divisions_of(self.snapshot)
        sizes = self.device.event_size[start:]
        same &= rounded_up(sizes, divisions) == rounded_up(np.asarray([self.size], np.int64), divisions)
        found = np.flatnonzero(same & (actions == _ALLOC))
        if not len(found):
            return None
        first = int(found[0])
        event = start + first
        owner = int(self.device.event_owner[event])
        return Retry(
            event,
            event + 1,
            None if owner == NEVER else self._number(owner),
            bool(self.device.event_stack[event] == self.device.event_stack[self.event]),
            int(np.count_nonzero(same[:first] & (actions[:first] == _OOM))),
        )


def _grouped(labels: U32, weights: I64) -> tuple[list[int], list[npt.NDArray[np.intp]]]:
    """The distinct labels with the most weight, and the rows of each."""
    distinct, group = np.unique(labels, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, group, weights)
    best = np.argsort(-sums, kind="stable")[:MOST_LINES]
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(distinct) + 1))
    return distinct[best].tolist(), [order[starts[row] : starts[row + 1]] for row in best.tolist()]

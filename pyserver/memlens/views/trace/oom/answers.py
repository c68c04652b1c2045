"""The explanation of an out-of-memory event, as plain data. Terms and units are those of ``views/answers.py``."""

from typing import Literal

from msgspec import Struct

from memlens.texts import Text
from memlens.views.answers import AllocationSummary, Frame, Gap

Verdict = Literal["too_large", "fragmented", "elsewhere", "driver_step", "limit", "unexplained", "unknown"]
Why = Literal["usable", "rest", "other_size_class", "other_pool", "other_stream"]
MarkKind = Literal["oom", "snapshot"]


class ReplayBudget:
    """How many replays may be made to explain several events, of which each may ask for some of its own."""

    def __init__(self, left: int) -> None:
        self._left = left

    def allow(self) -> bool:
        """Counts one more replay; False once the limit is passed."""
        self._left -= 1
        return self._left >= 0


class Mark(Struct, frozen=True):
    """An event that is marked on the time axis; ``moment`` is the state after it."""

    kind: MarkKind
    device: int
    event: int
    moment: int
    x_time_us: float | None
    size_bytes: int
    """The request (``oom``) or what was reserved (``snapshot``), as recorded in the event."""
    device_free_bytes: int | None


class MarksAnswer(Struct, frozen=True):
    """Out-of-memory events first, then snapshots, each in the order of devices and events."""

    marks: list[Mark]
    count: int
    """The number of all marks; ``marks`` may have fewer."""


class FreePlace(Struct, frozen=True):
    """Free pieces within segments, by which requests they could serve.

    ``usable``: of the request's stream, pool and size class. ``rest``: at most 1 MiB after a block of a large
    segment, which the allocator doesn't split off. The others belong to segments that can't serve the request.
    """

    why: Why
    bytes: int
    pieces: int
    segments: int
    largest_bytes: int
    largest_address: str


class PinnedSegment(Struct, frozen=True):
    """A segment that could serve the request without the blocks in it, the largest of which are listed."""

    address: str
    size_bytes: int
    free_bytes: int
    largest_free_bytes: int
    stream: str
    pool: str | None
    expandable: bool
    large_enough: bool
    """Whether the request would fit if it had no blocks."""
    block_count: int
    block_bytes: int
    blocks: list[AllocationSummary]


class HoldingLine(Struct, frozen=True):
    """A line and its live allocations at the event.

    ``frame`` is None if the file has no stack; then ``operator`` says whether it was allocated before recording.
    """

    frame: Frame | None
    operator: Text | None
    count: int
    bytes: int
    largest_bytes: int
    largest_allocation: int
    stacks: list[int]


class PinningLine(Struct, frozen=True):
    """A line with blocks in split segments of the request's kind."""

    frame: Frame | None
    operator: Text | None
    count: int
    bytes: int
    """The bytes of its blocks there."""
    segments: int
    pinned_bytes: int
    """Free bytes in these segments."""
    alone_bytes: int
    """Free bytes in those segments in which no other line has a block."""
    largest_allocation: int
    stacks: list[int]


class Finding(Struct, frozen=True):
    """A sentence with its figures. ``code`` is stable; the frame or the allocation is the evidence."""

    code: str
    text: Text
    advice: bool
    """Whether the sentence says what would have helped, rather than what happened."""
    frame: Frame | None = None
    allocation: int | None = None


class Retry(Struct, frozen=True):
    """The next allocation of the same size on the same stream, after the event."""

    event: int
    moment: int
    allocation: int | None
    same_stack: bool
    failures_between: int
    """Further failures of that size before it."""


class OomAnswer(Struct, frozen=True):
    """One out-of-memory event, explained by the allocator's state at it."""

    device: int
    event: int
    moment: int
    time_us: float | None
    requested_bytes: int
    """The request as the allocator recorded it, rounded up to whole blocks; 0 if unknown, as the headline says."""
    driver_bytes: int
    """What the allocator would have requested from the driver by its default rules."""
    device_free_bytes: int | None
    stream: str
    pool: str | None
    frames: list[Frame]
    asked_at: Frame | None
    """The Python line of the request, the user's if there is one; None if none was recorded."""
    asked_by: Text
    """Where the request came from, as text; if unknown, why, and what is known instead."""
    gap: Gap
    segments_known: bool
    verdict: Verdict
    headline: Text
    findings: list[Finding]
    places: list[FreePlace]
    shared_free_bytes: int
    """Free bytes in segments that belong to no private pool."""
    pinned: list[PinnedSegment]
    pinned_count: int
    pinning: list[PinningLine]
    lines: list[HoldingLine]
    returned_segments: int
    """Segments (or pieces of them) that the allocator released right before it failed."""
    returned_bytes: int
    events_after: int
    retry: Retry | None

"""What is known of an out-of-memory event, as plain data. Terms and units as in ``views/answers.py``."""

from typing import Literal

from msgspec import Struct

from memlens.texts import Text
from memlens.views.answers import AllocationSummary, Frame, Gap

Verdict = Literal["too_large", "fragmented", "elsewhere", "driver_step", "limit", "unexplained", "unknown"]
Why = Literal["usable", "rest", "other_size_class", "other_pool", "other_stream"]
MarkKind = Literal["oom", "snapshot"]


class Mark(Struct, frozen=True):
    """An event that is worth a mark on the time axis; ``moment`` is the state after it."""

    kind: MarkKind
    device: int
    event: int
    moment: int
    x_time_us: float | None
    size_bytes: int
    """What was asked for (``oom``); what was reserved (``snapshot``), as the event has it."""
    device_free_bytes: int | None


class MarksAnswer(Struct, frozen=True):
    """Out-of-memory events first, then snapshots, each in the order of devices and events."""

    marks: list[Mark]
    count: int
    """All there are; ``marks`` may hold fewer."""


class FreePlace(Struct, frozen=True):
    """Free pieces within segments, by what they could serve.

    ``usable``: of the request's stream, pool and size class. ``rest``: at most 1 MiB after a block of a large
    segment, which the allocator doesn't split off. The others belong to segments that may not serve the request.
    """

    why: Why
    bytes: int
    pieces: int
    segments: int
    largest_bytes: int
    largest_address: str


class PinnedSegment(Struct, frozen=True):
    """A segment that could serve the request but for the blocks in it, the largest of which are listed."""

    address: str
    size_bytes: int
    free_bytes: int
    largest_free_bytes: int
    stream: str
    pool: str | None
    expandable: bool
    large_enough: bool
    """Whether the request would fit if no block lay in it."""
    block_count: int
    block_bytes: int
    blocks: list[AllocationSummary]


class HoldingLine(Struct, frozen=True):
    """A line and what it held at the event.

    ``frame`` is None where the file has no stack; ``operator`` then says if it was allocated before recording.
    """

    frame: Frame | None
    operator: str | None
    count: int
    bytes: int
    largest_bytes: int
    largest_allocation: int
    stacks: list[int]


class PinningLine(Struct, frozen=True):
    """A line whose blocks lie in split segments of the request's kind."""

    frame: Frame | None
    operator: str | None
    count: int
    bytes: int
    """Its blocks there."""
    segments: int
    pinned_bytes: int
    """What is free in these segments."""
    alone_bytes: int
    """What is free in those of them in which no other line has a block."""
    largest_allocation: int
    stacks: list[int]


class Finding(Struct, frozen=True):
    """A sentence with its figures. ``code`` is stable; the frame or the allocation is where to look."""

    code: str
    text: Text
    advice: bool
    """Whether it says what would have helped, rather than what was."""
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
    """As the allocator recorded it: rounded up to its blocks. 0 where the file doesn't say; the headline says so."""
    driver_bytes: int
    """What the allocator would have asked the driver for by its default rules."""
    device_free_bytes: int | None
    stream: str
    pool: str | None
    frames: list[Frame]
    asked_at: Frame | None
    """The line of Python that the request came from: the user's where there is one; None where none was recorded."""
    asked_by: Text
    """The same in words: where it was asked for, or why that isn't known and what is."""
    gap: Gap
    segments_known: bool
    verdict: Verdict
    headline: Text
    findings: list[Finding]
    places: list[FreePlace]
    shared_free_bytes: int
    """What is free in segments that belong to no private pool."""
    pinned: list[PinnedSegment]
    pinned_count: int
    pinning: list[PinningLine]
    lines: list[HoldingLine]
    returned_segments: int
    """Segments (or pieces of them) that the allocator gave back right before it failed."""
    returned_bytes: int
    events_after: int
    retry: Retry | None

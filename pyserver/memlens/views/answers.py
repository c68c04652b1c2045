"""The views' answers, both for the command line and for the wire.

Every struct here is plain data: sizes are bytes, times are microseconds. ``allocation``, ``stack`` and ``moment``
are row numbers in the archive:

* ``allocation`` counts a snapshot's allocations, device after device, each device in the order of its stacked
  picture (oldest at the bottom).
* ``moment`` ``m`` of a device is the state after its first ``m`` events, so ``0`` is the state before the trace.
* Coordinates on the x axis are moments (axis ``"event"``) or microseconds since the device's first event
  (axis ``"time"``).
"""

from typing import Literal

from msgspec import Struct

from memlens.model.attribution import FrameKind
from memlens.model.info import DeviceInfo
from memlens.texts import Text

Axis = Literal["time", "event"]
AllocationState = Literal["freed", "live", "pending_free"]


FrameSource = Literal["recorded", "forward", "fx", "inferred"]
"""How a line is known: from the recorded stack, from the ``forward_frames`` of a backward operator, from the trace of
an FX node, or inferred by operator name and order, which may be wrong and must be marked wherever it is shown."""


class Frame(Struct, frozen=True):
    """A stack frame. ``line`` is 0 when the file has none."""

    file: str
    line: int
    function: str
    kind: FrameKind
    source: FrameSource = "recorded"


class AllocationSummary(Struct, frozen=True):
    """One allocation. ``rounded_bytes`` is the allocator's block size where the file has it."""

    allocation: int
    device: int
    address: str
    """Hexadecimal: addresses do not fit in a number of JSON."""
    size_bytes: int
    rounded_bytes: int | None
    start_moment: int
    end_moment: int | None
    """None if it was never freed."""
    start_time_us: float | None
    """On the time axis; None without times or when it was live before the trace began."""
    end_time_us: float | None
    lifetime_us: float | None
    state: AllocationState
    before_trace: bool
    """It was allocated before recording, so its true start is not in the file."""
    stream: str
    stack: int
    category: str | None
    label: Frame | None
    """The frame to show first: the innermost user frame, else the innermost Python frame, else the forward line that
    was inferred for it (its ``source`` says so), else the innermost frame."""
    operator: str | None
    """The operator that allocated it, if native frames name one (``aten::mm``)."""


class Totals(Struct, frozen=True):
    """Sums over a set of allocations; ``live_at_peak_bytes`` is at each device's own peak."""

    total_bytes: int
    count: int
    live_at_peak_bytes: int
    live_at_peak_count: int
    live_at_end_bytes: int
    largest_bytes: int
    largest_allocation: int | None


class FxTrace(Struct, frozen=True):
    """The code that a frame of generated code was generated from: its FX node's original trace, innermost first."""

    of: Frame
    frames: list[Frame]


class StackAnswer(Struct, frozen=True):
    """An allocation with its frames, innermost first.

    ``frames`` called each other. What was recorded beside them is separate: ``fx_traces``, in the order of the
    generated code among the frames, and ``forward_frames``, the stack of the forward call that a backward operator
    belongs to. Their lines count like those of frames.

    ``freed_frames`` is the stack of its free, if that is recorded; it counts for no line. ``inferred_module`` is the
    path of the module that memory from before recording was inferred to belong to. ``stack_of_free`` says that
    ``frames`` are inferred: the stack of the free, which repeats the allocation's. ``inferred_block_bytes`` is the
    size of its block by the allocator's rules, where the file doesn't have it (``rounded_bytes`` is None).
    """

    allocation: AllocationSummary
    frames: list[Frame]
    fx_traces: list[FxTrace]
    forward_frames: list[Frame]
    freed_frames: list[Frame]
    same_stack: Totals
    inferred_module: str | None
    stack_of_free: bool
    inferred_block_bytes: int | None = None


class MomentAnswer(Struct, frozen=True):
    """A moment: the state after its first ``moment`` events. ``time_us`` is None before the trace and without times."""

    moment: int
    time_us: float | None
    live_bytes: int
    live_count: int
    is_peak: bool


class HitAnswer(Struct, frozen=True):
    """The allocation at a point in the stacked picture. ``allocation`` is None above the stack."""

    moment: int
    time_us: float | None
    live_bytes: int
    live_count: int
    allocation: AllocationSummary | None


class LiveAnswer(Struct, frozen=True):
    """The allocations live at a moment, as rows ``offset … offset + len(rows)`` of ``live_count``."""

    moment: int
    time_us: float | None
    live_bytes: int
    live_count: int
    offset: int
    rows: list[AllocationSummary]


class LocateAnswer(Struct, frozen=True):
    """The box of an allocation on its device: its whole life, and its height at ``moment``."""

    device: int
    allocation: int
    moment: int
    x0: float
    x1: float
    y0: float
    y1: float


class OverviewAnswer(Struct, frozen=True):
    """The height of the whole run, in even columns over ``[x0, x1]``."""

    x0: float
    x1: float
    columns: int
    peak_bytes: int
    highest: str
    """base64 of ``float64[columns]``, little-endian: the maximum of what was live within each column, in bytes."""
    lowest: str
    """base64 of ``float64[columns]``, little-endian: the minimum of what was live within each column, in bytes."""


class FilterAnswer(Struct, frozen=True):
    """The figures of a device, filtered. ``of_allocations`` is the number without the filter."""

    info: DeviceInfo
    of_allocations: int


class SourceLine(Struct, frozen=True):
    """Totals of one source line; ``self_*`` are what is charged to it, see :mod:`memlens.model.attribution`.

    ``source`` is "forward" or "fx" if no recorded stack has the line. What the line freed is known of traces whose
    frees have stacks; a line that only frees has no other figures.
    """

    file: str
    line: int
    function: str
    kind: FrameKind
    source: FrameSource
    total_bytes: int
    count: int
    live_at_peak_bytes: int
    live_at_end_bytes: int
    largest_bytes: int
    self_total_bytes: int
    self_count: int
    self_live_at_peak_bytes: int
    freed_bytes: int = 0
    freed_count: int = 0


class LineAnswer(Struct, frozen=True):
    """The allocations of a source line, to be highlighted: every stack that contains the line."""

    file: str
    line: int
    totals: Totals
    stacks: list[int]


class Area(Struct, frozen=True):
    """A group with a separate area.

    ``key`` is the group's key in a tree table with the same grouping, or -1 for everything that is in no other area;
    then ``groups`` is the number of its groups. ``colour`` is the number of a colour: one of the largest groups of the
    whole device has the same colour with every filter. ``peak_bytes`` are its bytes at the peak of what matches the
    filter.
    """

    key: int
    name: Text
    detail: Text
    place: Frame | None
    filter: str
    colour: int
    groups: int
    peak_bytes: int


class Gap(Struct, frozen=True):
    """What the reserved memory of a moment consists of, in bytes.

    ``reserved`` is the sum of ``requested``, ``rounding``, ``pending``, ``inactive_split``, ``expandable_free`` and
    ``wholly_free``; ``allocated`` is the sum of the first two, ``active`` of the first three.
    """

    reserved_bytes: int
    """What the allocator held, with ``outside_bytes``."""
    active_bytes: int
    allocated_bytes: int
    requested_bytes: int
    rounding_bytes: int
    """What rounding adds to what was requested; a lower bound for blocks whose true size isn't in the file."""
    pending_bytes: int
    """Blocks whose free was requested and not completed."""
    inactive_split_bytes: int
    """Free in segments that can't be released, because other blocks are in them."""
    expandable_free_bytes: int
    """Free in expandable segments, whose whole pages can be released."""
    wholly_free_bytes: int
    """Segments without blocks, which could be released."""
    outside_bytes: int
    """In blocks that are in no segment of the file; included in the other figures."""


class GapAnswer(Struct, frozen=True):
    """The gap at a moment. ``time_us`` is None before the trace and without times."""

    moment: int
    time_us: float | None
    gap: Gap
    fitting_bytes: int | None = None
    """With a filter, the part of what was requested that matches it."""


class ReservedAnswer(Struct, frozen=True):
    """Reserved memory over ``[x0, x1]`` in even columns."""

    x0: float
    x1: float
    columns: int
    known: bool
    """Whether the file has segments; otherwise only blocks are known to be reserved."""
    peak_reserved_bytes: int
    peak_reserved_moment: int
    bytes: str
    """base64 of ``float64[8][columns]``, little-endian: the maximum and minimum of reserved memory within each column,
    then those of active, allocated and requested memory. With a filter ``float64[10][columns]``: at the end the part of
    requested memory that matches it.
    """
    first: str
    """base64 of ``uint32[columns]``: the first moment of each column."""
    last: str
    """base64 of ``uint32[columns]``: the last moment of each column."""

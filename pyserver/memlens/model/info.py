"""The summary of a snapshot or profile: its figures, and warnings of what is missing.

It is part of the archive's manifest and, unchanged, of the answers on the wire. :mod:`memlens.views.answers` explains
the terms.
"""

from typing import ClassVar, Literal

from msgspec import Struct

from memlens.texts import Text, phrase

HOST_DEVICE = 65_536
"""The device number of pinned host memory, which is shown as a separate device; devices in files have lower numbers."""


def device_name(device: int) -> Text:
    """Return the name of a device for people."""
    return phrase("Pinned host memory") if device == HOST_DEVICE else phrase("Device {n}", n=str(device))


def device_phrase(device: int) -> Text:
    """Return the name of a device for use within a sentence."""
    return phrase("pinned host memory") if device == HOST_DEVICE else phrase("device {n}", n=str(device))


class FileWarning(Struct, frozen=True, rename={"said": "message"}):
    """A message for people about something that the file lacks. ``code`` is stable."""

    code: str
    said: Text
    device: int | None = None

    @property
    def message(self) -> str:
        """The message in English."""
        return self.said.text


class AxisRange(Struct, frozen=True):
    """The extent of a device on one axis, including the states before the first and after the last event.

    On the time axis the first event is at 0, so ``x0`` is negative.
    """

    x0: float
    x1: float


class DeviceInfo(Struct, frozen=True):
    """One device's figures. ``peak_moment`` is the first moment at which ``peak_bytes`` were live."""

    device: int
    name: Text
    """``Device 0``, or ``Pinned host memory``."""
    events: int
    allocations: int
    peak_bytes: int
    peak_moment: int
    peak_time_us: int | None
    """When that moment begins, since the first event; 0 for what was live before it. None if the file has no times."""
    live_at_start_bytes: int
    live_at_end_bytes: int
    live_at_end_count: int
    reserved_at_end_bytes: int | None
    """The size of its segments in bytes; None if unknown."""
    ooms: int
    event_axis: AxisRange
    time_axis: AxisRange | None
    """None if the file has no times, or the same for all events."""
    time_origin_us: int | None
    """Unix time of the first event, which is at 0 on the time axis; None if the file has no times."""


ValueMeaning = Literal["live", "peak", "total", "end", "temporary", "other"]


class ValueType(Struct, frozen=True):
    """One of the values that a profile's stacks have.

    ``meaning`` is what it measures, whatever the profile calls it: what was live when it was taken ("live"), live at
    the peak ("peak"), allocated altogether ("total"), live at the end and perhaps leaked ("end"), freed before the next
    allocation ("temporary"), or something else.
    """

    name: str
    """The profile's own term if it has one, as ``inuse_space``."""
    unit: str
    """``bytes``, ``count``, ``nanoseconds`` or another unit of the file."""
    meaning: ValueMeaning
    title: Text
    """The name for people, as "Live at the peak"."""


class ProfileValue(Struct, frozen=True):
    """A value of a profile: its type, and the sum of all samples."""

    name: str
    unit: str
    meaning: ValueMeaning
    title: Text
    total: int
    count: int | None
    """The number of the value that counts the same allocations; None if there is none."""
    negative: bool
    """Whether samples have negative values, as those of a difference do."""


class CommonInfo(Struct, frozen=True):
    """The fields that all models have."""

    kind: str
    path: str
    file_bytes: int
    warnings: list[FileWarning]


class TimelineInfo(CommonInfo, frozen=True, tag_field="model", tag="timeline"):
    """A trace of events on devices."""

    model: ClassVar[Literal["timeline"]] = "timeline"
    devices: list[DeviceInfo]
    default_device: int
    """The device to show first: one with an out-of-memory event, else the one with the highest peak."""
    categories: list[str]
    """Names of the category numbers in geometry; empty if there are no categories."""
    mixed_stacks: bool
    """Whether stacks have both native code and the user's own, so that flame graphs collapse libraries at first."""


class ProfileInfo(CommonInfo, frozen=True, tag_field="model", tag="profile"):
    """Samples of stacks with values; a value's number is its index in ``values``."""

    model: ClassVar[Literal["profile"]] = "profile"
    values: list[ProfileValue]
    default_value: int
    samples: int
    stacks: int
    mixed_stacks: bool
    """Whether stacks have both native code and the user's own, so that flame graphs collapse libraries at first."""
    has_sizes: bool
    """Whether the sizes of blocks are known, so that a histogram can be shown."""
    labels: list[str]
    """The keys of the samples' labels."""
    bins: int
    """The number of time bins; 0 if the profile has no times."""
    end: float
    """When the last bin ends, in ``time_unit`` since the start."""
    time_unit: str
    """``microseconds``, or what the profile has instead of time, as ``instructions`` or ``bytes``."""
    series: list[str]
    """Names of the lines over time, as ``live_bytes`` and ``rss_bytes``."""
    has_flow: bool
    """Whether it is known what was allocated and freed within a bin, not only what was live at its ends."""
    has_short_lived: bool = True
    """Whether that includes what was both allocated and freed within one bin."""
    has_frees: bool = True
    """Whether it is known what was freed, and so what was live at a moment; otherwise only what was allocated when."""
    written_ms: int | None = None
    """When the profile was taken, in milliseconds since 1970; None if the file doesn't say."""


class GraphInfo(CommonInfo, frozen=True, tag_field="model", tag="graph"):
    """The objects and references of a heap at one moment. Bytes are shallow sizes."""

    model: ClassVar[Literal["graph"]] = "graph"
    objects: int
    references: int
    types: int
    roots: int
    threads: int
    """Threads whose stacks or objects the file has."""
    shallow_bytes: int
    """The sum over all objects."""
    reachable_objects: int
    """Objects that are reachable through references that keep their targets alive."""
    reachable_bytes: int
    compact_nodes: int
    """The number of groups in the dominator tree when it is grouped by type at each level."""
    id_bytes: int
    """The size of an id or a pointer in the file."""
    count_multiplier: float
    """How many objects of the program each object in the file represents on average: 1 unless the dump is sampled."""
    size_multiplier: float
    """The same for bytes."""
    capped: bool
    """Whether the recorder stopped at a limit of objects."""
    sizes_inferred: bool
    """Whether shallow sizes are computed by a rule, because the file has none."""
    truncated: bool
    """Whether the file is truncated."""
    native_bytes: int
    """Memory outside of the heap that objects own, as far as the file says so; no shallow or retained size has it."""
    image_types: list[int]
    """The numbers of the types with objects that are images."""
    moments: int
    """The times at which a recording looked at the heap; 0 where it isn't known when objects were allocated."""
    has_modules: bool
    """Whether types have modules: the assembly, package or class loader that they are of."""
    allocations: ProfileInfo | None
    """The objects by the stack that allocated them, as a profile; None if these stacks aren't known."""
    outside: bool = False
    """Whether ``allocations`` has samples of memory outside of the heap in place of the objects."""
    written_ms: int | None = None
    """When the dump was taken, in milliseconds since 1970; None if the file doesn't say."""


SnapshotInfo = TimelineInfo | ProfileInfo | GraphInfo
"""The summary that ``memlens info`` prints and that a view needs first.

Its ``model`` is the tag. Code that differs by model is a ``match`` that ends in ``assert_never``, so that a type
checker finds every place that a new model affects.
"""

_END_OF_TIME_MS = 32_503_680_000_000
"""The year 3000."""


def plausible_time(milliseconds: object) -> int | None:
    """Return a file's time in milliseconds since 1970, or None if it has none; a damaged file may have any number."""
    if isinstance(milliseconds, int) and 0 < milliseconds < _END_OF_TIME_MS:
        return milliseconds
    return None


Model = Literal["timeline", "profile", "graph"]

"""What a snapshot or a profile says of itself: its figures and what it could not tell.

Part of the archive's manifest and, unchanged, of the answers on the wire; the terms are explained in
:mod:`memlens.views.answers`.
"""

from typing import ClassVar, Literal

from msgspec import Struct

HOST_DEVICE = 65_536
"""The number of pinned host memory, which is shown as a device of its own; no file may name a device so high."""

HOST_NAME = "Pinned host memory"


def device_name(device: int) -> str:
    """What a device is called in words."""
    return HOST_NAME if device == HOST_DEVICE else f"Device {device}"


class Notice(Struct, frozen=True):
    """Something that the file could not tell, in a sentence for people. ``code`` is stable for tests."""

    code: str
    message: str
    device: int | None = None


class AxisRange(Struct, frozen=True):
    """The whole extent of a device on one axis, the states before the first and after the last event included.

    On the time axis the first event is at 0, so ``x0`` is negative there.
    """

    x0: float
    x1: float


class DeviceInfo(Struct, frozen=True):
    """One device's figures. ``peak_moment`` is the first moment at which ``peak_bytes`` were live."""

    device: int
    name: str
    """``Device 0``, or ``Pinned host memory``."""
    events: int
    allocations: int
    peak_bytes: int
    peak_moment: int
    peak_time_us: int | None
    """When that moment begins, since the first event as all times but ``time_origin_us``; 0 for what was live before.

    None when the file has no times.
    """
    live_at_start_bytes: int
    live_at_end_bytes: int
    live_at_end_count: int
    reserved_at_end_bytes: int | None
    """What its segments held; None when the file doesn't say."""
    ooms: int
    event_axis: AxisRange
    time_axis: AxisRange | None
    """None when the file has no times, or one for all events."""
    time_origin_us: int | None
    """Unix time of the first event, which is at 0 on the time axis; None when the file has no times."""


ValueMeaning = Literal["live", "peak", "total", "end", "temporary", "other"]


class ValueType(Struct, frozen=True):
    """One of the values that a profile's stacks have.

    ``meaning`` says what it measures, whatever the profile calls it: what was live when it was taken ("live"), at the
    peak, allocated in all ("total"), live at the end (a leak, perhaps), freed before the next allocation
    ("temporary"), or something else.
    """

    name: str
    """The profile's own term where it has one, as ``inuse_space``."""
    unit: str
    """``bytes``, ``count``, ``nanoseconds`` or what else the file says."""
    meaning: ValueMeaning
    title: str
    """For people: Live at the peak."""


class ProfileValue(Struct, frozen=True):
    """A value of a profile: its type, and what all samples come to."""

    name: str
    unit: str
    meaning: ValueMeaning
    title: str
    total: int
    count: int | None
    """The number of the value that counts the same allocations; None where there is none."""
    negative: bool
    """Whether samples have negative values, as those of a difference do."""


class CommonInfo(Struct, frozen=True):
    """What the information about every snapshot has, whatever its model."""

    kind: str
    path: str
    file_bytes: int
    warnings: list[Notice]


class TimelineInfo(CommonInfo, frozen=True, tag_field="model", tag="timeline"):
    """A trace of events on devices, as PyTorch records it."""

    model: ClassVar[Literal["timeline"]] = "timeline"
    devices: list[DeviceInfo]
    default_device: int
    """The device to show first: one with an out-of-memory event, else the one with the highest peak."""
    categories: list[str]
    """Names of the category numbers in geometry; empty when the file has no categories."""


class ProfileInfo(CommonInfo, frozen=True, tag_field="model", tag="profile"):
    """Samples of stacks with values, which are numbered by their places in ``values``."""

    model: ClassVar[Literal["profile"]] = "profile"
    values: list[ProfileValue]
    default_value: int
    samples: int
    stacks: int
    has_sizes: bool
    """Whether the sizes of blocks are known, so that there is a histogram."""
    labels: list[str]
    """The keys of the samples' labels."""
    bins: int
    """How many stretches of time the profile has; 0 when it tells of none."""
    end: float
    """When the last one ends, in ``time_unit`` since the start."""
    time_unit: str
    """``microseconds``; or what else stands for time, as ``instructions`` or ``bytes``."""
    series: list[str]
    """Names of the lines over time, as ``live_bytes`` and ``rss_bytes``."""
    tells_flow: bool
    """Whether what was allocated and freed in a stretch is known, not only what was live at its ends."""
    tells_all: bool = True
    """Whether all of that is known: where not, what was made and freed within one bin is missing from it."""


SnapshotInfo = TimelineInfo | ProfileInfo
"""What ``memlens info`` prints and what a view needs before its first picture.

Its ``model`` says which one it is. What differs by model is a ``match`` that ends in ``assert_never``, so that a type
checker finds every place that a new model has to answer.
"""

Model = Literal["timeline", "profile"]

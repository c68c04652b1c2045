"""What a snapshot says of itself: its devices' figures and what it could not tell.

Part of the archive's manifest and, unchanged, of the answers on the wire; the terms are explained in
:mod:`memlens.views.answers`.
"""

from typing import Literal

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
    """One device's figures. ``peak_moment`` is the first moment at which ``peak_bytes`` were live.

    ``peak_time_us`` and ``time_origin_us`` are Unix times as the file has them; all other times are on the axis.
    """

    device: int
    name: str
    """``Device 0``, or ``Pinned host memory``."""
    events: int
    allocations: int
    peak_bytes: int
    peak_moment: int
    peak_time_us: int | None
    live_at_start_bytes: int
    live_at_end_bytes: int
    live_at_end_count: int
    reserved_at_end_bytes: int
    ooms: int
    event_axis: AxisRange
    time_axis: AxisRange | None
    """None when the file has no times."""
    time_origin_us: int | None
    """Unix time of ``x = 0`` on the time axis."""


class SnapshotInfo(Struct, frozen=True):
    """What ``memlens info`` prints and what a view needs before its first picture."""

    kind: str
    model: Literal["timeline"]
    path: str
    file_bytes: int
    devices: list[DeviceInfo]
    default_device: int
    """The device to show first: one with an out-of-memory event, else the one with the highest peak."""
    categories: list[str]
    """Names of the category numbers in geometry; empty when the file has no categories."""
    warnings: list[Notice]

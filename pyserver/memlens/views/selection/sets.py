"""Sets of allocations, which tables, trees, flame graphs and comparisons show."""

from typing import Literal

import numpy as np
from msgspec import Struct

from memlens.arrays import U32
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.answers import MomentAnswer
from memlens.views.selection.columns import check_moment, device_of, live_rows, time_of_moment

SetKind = Literal["live", "allocated", "freed", "survived"]


class AllocationSet(Struct, frozen=True):
    """Some allocations of one device.

    With ``to_moment`` None it is what is live at ``from_moment`` (None: the peak of what matches ``filter``), for any
    ``kind``. Otherwise it is about the events after ``from_moment`` up to ``to_moment``: what was ``live`` at any
    moment of that range, ``allocated`` in it, ``freed`` in it, or allocated in it and live at its end: ``survived``.

    ``filter`` narrows it, see :mod:`memlens.views.selection.filters`; empty for all.

    For a profile it is some of its samples: ``device`` has no meaning, and ``value`` is the number of the requested
    value (None: the profile's default). If the profile has times, moments are the edges of its bins; what was live,
    allocated or freed then is in bytes and counts, whatever the value. "survived" is what each sample allocated in the
    range minus what it freed.
    """

    device: int
    kind: SetKind = "live"
    from_moment: int | None = None
    to_moment: int | None = None
    filter: str = ""
    value: int | None = None


def rows_of(snapshot: Snapshot, of: AllocationSet) -> tuple[Device, U32]:
    """The set's device (narrowed by its filter) and the set's rows there, oldest first.

    Raises :class:`BadRequestError` for a device or a moment that the snapshot doesn't have.
    """
    device = device_of(snapshot, of.device, of.filter)
    first = check_moment(device, device.info.peak_moment if of.from_moment is None else of.from_moment)
    if of.to_moment is None:
        return device, live_rows(device, first)
    last = check_moment(device, of.to_moment)
    first, last = min(first, last), max(first, last)
    # in the column's own type, or NumPy would convert the whole column
    moments = np.array([first, last], np.uint32)
    started: list[int] = np.searchsorted(device.start, moments, "right").tolist()
    if of.kind == "allocated":
        return device, np.arange(*started, dtype=np.uint32)
    end = device.end[: started[1]]
    if of.kind == "freed":
        return device, np.flatnonzero((end > first) & (end <= last)).astype(np.uint32)
    if of.kind == "survived":
        born = np.flatnonzero(end[started[0] :] > last).astype(np.uint32)
        return device, born + np.uint32(started[0])
    # live at some moment: started before the end, and not freed before the beginning
    return device, np.flatnonzero(end > first).astype(np.uint32)


def moment(snapshot: Snapshot, device: int, number: int | None, filter_text: str = "") -> MomentAnswer:
    """Resolve a moment (None: the peak). Numbers beyond the trace mean its ends."""
    found = device_of(snapshot, device, filter_text)
    number = found.info.peak_moment if number is None else min(max(number, 0), found.info.events)
    return MomentAnswer(
        number,
        time_of_moment(found, number),
        int(found.live[number]),
        int(found.live_count[number]),
        found.info.peak_moment == number,
    )

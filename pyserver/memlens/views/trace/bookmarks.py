"""Bookmarks for display: the moment, what was live then, and the selected allocation."""

import numpy as np
from msgspec import Struct

from memlens.store import bookmarks as kept
from memlens.store.bookmarks import Bookmark, MomentPlace
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text
from memlens.units import format_bytes, format_time
from memlens.views.answers import AllocationSummary, MomentAnswer
from memlens.views.selection.columns import check_moment, device_of, summaries
from memlens.views.selection.sets import moment as moment_of


class PlacedBookmark(Struct, frozen=True):
    """A bookmark with the state at its moment. ``allocation`` is None if none was selected."""

    bookmark: int
    device: int
    device_name: Text
    note: str
    at: MomentAnswer
    x_time_us: float | None
    """The moment's position on the time axis; None without times."""
    allocation: AllocationSummary | None


class BookmarksAnswer(Struct, frozen=True):
    """All bookmarks of a snapshot, by device and moment."""

    bookmarks: list[PlacedBookmark]


def bookmarks(snapshot: Snapshot) -> BookmarksAnswer:
    """The bookmarks of a trace. Raises LackingError for another model, and :class:`kept.BookmarksError`."""
    names = {each.device: each.name for each in timeline_of(snapshot.info, "events").devices}
    # people can edit the file, so bookmarks that don't fit this trace are ignored
    found = [
        _place(snapshot, each, at, names[at.device])
        for each in kept.bookmarks(snapshot)
        if isinstance(at := each.place, MomentPlace) and at.device in names
    ]
    return BookmarksAnswer(sorted(found, key=lambda each: (each.device, each.at.moment, each.bookmark)))


def check_place(snapshot: Snapshot, place: MomentPlace) -> None:
    """Raise LackingError for other models, BadRequestError for places that the trace doesn't have."""
    timeline_of(snapshot.info, "events")
    check_moment(device_of(snapshot, place.device), place.moment)
    if place.allocation is not None:
        snapshot.device_of(place.allocation)


def moment_name(one: PlacedBookmark) -> str:
    """Return a bookmark's moment as text: "1.20 s, event 1,204"."""
    event = f"event {one.at.moment:,}"
    return event if one.x_time_us is None else f"{format_time(one.x_time_us)}, {event}"


def allocation_name(one: PlacedBookmark) -> str:
    """The selected allocation as text: "512 MiB, train.py:31"; empty for none."""
    if one.allocation is None:
        return ""
    label, size = one.allocation.label, format_bytes(one.allocation.size_bytes)
    if label is None:
        return f"{size}, allocation {one.allocation.allocation}"
    name = label.file.replace("\\", "/").rsplit("/", 1)[-1]
    return f"{size}, {name}:{label.line}" if label.line else f"{size}, {label.function}"


def _place(snapshot: Snapshot, one: Bookmark, place: MomentPlace, name: Text) -> PlacedBookmark:
    at = moment_of(snapshot, place.device, place.moment)
    # the moment before the first event begins at the start of the axis
    has_times = device_of(snapshot, place.device).time is not None
    x_time_us = (0.0 if at.time_us is None else at.time_us) if has_times else None
    allocation = None
    if place.allocation is not None and 0 <= place.allocation < snapshot.manifest.first_allocations[-1]:
        device = snapshot.device_of(place.allocation)
        row = device.row_of(place.allocation)
        if row is not None:
            (allocation,) = summaries(snapshot, device, np.asarray([row], np.uint32))
    return PlacedBookmark(one.bookmark, place.device, name, one.note, at, x_time_us, allocation)

"""A run's annotations: annotated ranges, notes on events, and user metadata, as lanes.

``external_annotations`` of the file come as START and END entries; an END closes the last START of its name and
device that is still open (a stack, as ``record_function`` nests). One without the other is kept and marked: it began
before the trace or never ended. Those of a device without memory in the file are shown on every device.

*Noise* is left out by default: ``pad_mm_benchmark`` (the compiler's timing of matrix shapes, thousands a run),
names that end in ``(dynamo_timed)`` (the compiler timing itself), and any name that occurs more than 500 times on the
device where each occurrence lasts less than a two-thousandth of the trace, unless it ends in ``#`` and a number.
"""

import re
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct

from memlens.arrays import F64, I64, U8, Mask
from memlens.errors import BadRequestError
from memlens.kernels.trace import timeline as kernel
from memlens.model.timeline import ACTIONS, NOTE_KINDS
from memlens.store.kept import kept
from memlens.store.models import devices_of
from memlens.store.snapshot import Column, Snapshot
from memlens.store.trace.device import Device
from memlens.texts import phrase
from memlens.views.answers import Axis
from memlens.views.selection.columns import axis_range, check_columns, device_of

LaneKind = Literal["annotations", "annotate", "user_metadata", "compile_context"]
Unmatched = Literal["start", "end"]

MOST_LANES = 8
"""Lanes of nested annotations; deeper ones share the last."""

_ANNOTATE = ACTIONS.index("annotate")
_NOISE = re.compile(r"pad_mm_benchmark|\(dynamo_timed\)\s*$")
_NUMBERED = re.compile(r"#\d+$")
_OFTEN, _SHARE = 500, 2000


class AnnotationItem(Struct, frozen=True):
    """A range of the run, or several, given by ``count``, that are too narrow to be drawn separately.

    ``from_moment`` and ``to_moment`` are the moments before its first and after its last event. ``unmatched`` says
    which of its two ends the file lacks, so that it extends to the end of the axis there.
    """

    name: str
    x0: float
    x1: float
    from_moment: int
    to_moment: int
    count: int
    unmatched: Unmatched | None


class AnnotationLane(Struct, frozen=True):
    """A row of items in order, which don't overlap except in the deepest lane."""

    kind: LaneKind
    depth: int
    items: list[AnnotationItem]


class AnnotationsAnswer(Struct, frozen=True):
    """The lanes within ``[x0, x1]``.

    ``shown`` and ``noise`` count those of the whole device; ``noise_names`` are names that were left out, at most ten.
    ``unmatched`` counts annotations with only one end in the file.
    """

    lanes: list[AnnotationLane]
    shown: int
    noise: int
    noise_names: list[str]
    unmatched: int


class Intervals(NamedTuple):
    """Ranges of one device, sorted by start, longer ones first. Names index ``texts``."""

    kind: LaneKind
    texts: list[str]
    name: I64
    first: I64
    """The moment before its first event."""
    last: I64
    """The moment after its last event."""
    start_us: I64 | None
    """On the time axis; None for ranges of events."""
    end_us: I64 | None
    unmatched: U8
    """1: it has no start, 2: it has no end."""

    def chosen(self, which: Mask | I64) -> "Intervals":
        """Some of them, in order."""
        return Intervals(
            self.kind, self.texts, self.name[which], self.first[which], self.last[which],
            None if self.start_us is None else self.start_us[which],
            None if self.end_us is None else self.end_us[which],
            self.unmatched[which],
        )  # fmt: skip


NO_START, NO_END = 1, 2


def annotations(
    snapshot: Snapshot, number: int, axis: Axis, x0: float, x1: float, columns: int, *, noise: bool = False
) -> AnnotationsAnswer:
    """The lanes of a device over ``[x0, x1]`` in ``columns`` pixels. Raises :class:`BadRequestError`."""
    if not (np.isfinite([x0, x1]).all() and x0 < x1):
        raise BadRequestError(phrase("The time range is empty"))
    check_columns(columns)
    device = device_of(snapshot, number)
    axis_range(device, axis)
    found = annotated_ranges(snapshot, device)
    noisy = noise_of(device, found)
    kept = found if noise else found.chosen(~noisy)
    depths = _depths(kept)
    pixel = (x1 - x0) / columns
    rows = [
        (kept.chosen(depths == depth), depth) for depth in range(int(depths.max()) + 1 if len(depths) else 0)
    ]
    rows += [(annotated_ranges, 0) for annotated_ranges in event_lanes(snapshot, device)]
    lanes = [_lane(device, axis, annotated_ranges, depth, x0, x1, pixel) for annotated_ranges, depth in rows]
    names = [found.texts[name] for name in dict.fromkeys(found.name[noisy].tolist())]
    return AnnotationsAnswer(
        lanes,
        len(kept.name),
        int(noisy.sum()),
        names[:10],
        int(np.count_nonzero(kept.unmatched)),
    )


def annotated_ranges(snapshot: Snapshot, device: Device) -> Intervals:
    """The device's annotations. They have only times, so there are none if events have no times."""
    return _ranges(snapshot, device.info.device)


@kept
def _ranges(snapshot: Snapshot, number: int) -> Intervals:
    device = snapshot.device(number)
    nothing = np.empty(0, np.int64)
    origin, time = device.info.time_origin_us, device.time
    extent = device.info.time_axis
    if origin is None or time is None or extent is None or not len(snapshot.trace.annotations):
        return Intervals(
            "annotations", [], nothing, nothing, nothing, nothing, nothing, np.empty(0, np.uint8)
        )
    rows = snapshot.trace.annotations
    devices = [info.device for info in devices_of(snapshot.info)]
    mine = rows[(rows["device"] == device.info.device) | ~np.isin(rows["device"], devices)]
    mine = mine[np.argsort(mine["time_us"], kind="stable")]
    texts = snapshot.strings.some(np.concatenate((mine["name"], mine["stage"])))
    starts_at = {number for number, text in texts.items() if text == "START"}
    ends_at = {number for number, text in texts.items() if text == "END"}
    is_start = np.isin(mine["stage"], list(starts_at))
    mine = mine[is_start | np.isin(mine["stage"], list(ends_at))]
    is_start = np.isin(mine["stage"], list(starts_at))
    ids, name = np.unique(mine["name"], return_inverse=True)
    opened, closed = match_stack(name.astype(np.int64), is_start)
    at = mine["time_us"].astype(np.int64) - origin
    start = np.where(opened >= 0, at[opened], int(np.floor(extent.x0)))
    end = np.where(closed >= 0, at[closed], int(np.ceil(extent.x1)))
    end = np.maximum(start, end)
    # what lies before or after the trace has no place on its axis
    inside = (end >= extent.x0) & (start <= extent.x1)
    opened, closed, start, end = opened[inside], closed[inside], start[inside], end[inside]
    names = name.astype(np.int64)[np.where(opened >= 0, opened, closed)]
    order = np.lexsort((-end, start))
    start, end = start[order], end[order]
    unmatched = np.where(opened < 0, NO_START, np.where(closed < 0, NO_END, 0)).astype(np.uint8)[order]
    return Intervals(
        "annotations",
        [texts[number] for number in ids.tolist()],
        names[order],
        np.searchsorted(time, start, "left").astype(np.int64),
        np.searchsorted(time, end, "right").astype(np.int64),
        start,
        end,
        unmatched,
    )


def match_stack(name: I64, is_start: Mask) -> tuple[I64, I64]:
    """Pair each END with the last open START of its name; entries are in the order of time.

    Returns the entries that open and close each pair, -1 for a missing end.
    """
    order = np.argsort(name, kind="stable")
    group = name[order]
    step = np.where(is_start[order], 1, -1)
    firsts = np.flatnonzero(np.append(True, group[1:] != group[:-1])) if len(group) else np.empty(0, np.int64)
    sizes = np.diff(np.append(firsts, len(group)))
    level = np.cumsum(step)
    level -= np.repeat(level[firsts] - step[firsts], sizes)
    # the lowest level so far within the group: an END below it has no START
    spread = np.repeat(np.arange(len(firsts)), sizes) * (2 * len(group) + 2)
    lowest = np.minimum.accumulate(np.minimum(level, 0) - spread) + spread
    before = np.empty_like(lowest)
    before[1:] = lowest[:-1]
    before[firsts] = 0
    lone = (step < 0) & (level < before)
    depth = level - lowest + (step < 0)
    kept = np.flatnonzero(~lone)
    paired = kept[np.lexsort((kept, depth[kept], group[kept]))]
    starts = step[paired] > 0
    followed = np.zeros(len(paired), bool)
    # within a depth START and END alternate, so the next entry closes a START if it has the same depth
    if len(paired) > 1:
        followed[:-1] = (
            starts[:-1]
            & ~starts[1:]
            & (group[paired[1:]] == group[paired[:-1]])
            & (depth[paired[1:]] == depth[paired[:-1]])
        )
    places = np.flatnonzero(starts)
    closed = np.full(len(places), -1, np.int64)
    has_end = followed[places]
    closed[has_end] = order[paired[places[has_end] + 1]]
    lonely = order[np.flatnonzero(lone)]
    return (
        np.concatenate((order[paired[places]], np.full(len(lonely), -1, np.int64))),
        np.concatenate((closed, lonely)),
    )


def noise_of(device: Device, found: Intervals) -> Mask:
    """Mask of the annotations that are noise, see the module's docstring."""
    if not len(found.name) or found.start_us is None or found.end_us is None or device.time is None:
        return np.zeros(len(found.name), bool)
    named = np.array([bool(_NOISE.search(text)) for text in found.texts], bool)
    counts = np.bincount(found.name, minlength=len(found.texts))
    longest = np.zeros(len(found.texts), np.int64)
    np.maximum.at(longest, found.name, found.end_us - found.start_us)
    numbered = np.array([bool(_NUMBERED.search(text)) for text in found.texts], bool)
    short = longest * _SHARE < max(int(device.time[-1]), 1)
    noisy: Mask = (named | ((counts > _OFTEN) & short & ~numbered))[found.name]
    return noisy


def _depths(found: Intervals) -> U8:
    depths = np.zeros(len(found.name), np.uint8)
    if found.start_us is not None and found.end_us is not None:
        # an item without width still occupies its position
        kernel.lay_in_lanes(found.start_us, np.maximum(found.end_us, found.start_us + 1), depths, MOST_LANES)
    return depths


def event_lanes(snapshot: Snapshot, device: Device) -> list[Intervals]:
    """``annotate`` events, and the ranges with the same ``user_metadata`` and the same ``compile_context``."""
    notes = device.notes
    annotate = device.event_action == _ANNOTATE
    found = []
    for kind in ("user_metadata", "compile_context"):
        chosen = notes[notes["kind"] == NOTE_KINDS.index(kind)]
        if not len(chosen):
            continue
        marks = annotate[chosen["event"]]
        if kind == "user_metadata" and marks.any():
            found.append(_points(snapshot, chosen[marks]))
        if not marks.all():
            found.append(
                _runs(
                    snapshot,
                    "user_metadata" if kind == "user_metadata" else "compile_context",
                    chosen[~marks],
                    annotate,
                )
            )
    return found


def _points(snapshot: Snapshot, notes: Column) -> Intervals:
    texts, name = _named(snapshot, notes["value"])
    events = notes["event"].astype(np.int64)
    return Intervals("annotate", texts, name, events, events + 1, None, None, np.zeros(len(name), np.uint8))


def _runs(snapshot: Snapshot, kind: LaneKind, notes: Column, annotate: Mask) -> Intervals:
    """Ranges in which every event has the same text; ``annotate`` events, whose text means something else, don't
    count.
    """
    texts, name = _named(snapshot, notes["value"])
    events = notes["event"].astype(np.int64)
    place = events - np.cumsum(annotate)[events]
    begins = np.flatnonzero(np.append(True, (name[1:] != name[:-1]) | (place[1:] != place[:-1] + 1)))
    ends = np.append(begins[1:], len(events)) - 1
    return Intervals(
        kind,
        texts,
        name[begins],
        events[begins],
        events[ends] + 1,
        None,
        None,
        np.zeros(len(begins), np.uint8),
    )


def _named(snapshot: Snapshot, values: Column) -> tuple[list[str], I64]:
    ids, name = np.unique(values.astype(np.int64), return_inverse=True)
    texts = snapshot.strings.some(ids)
    return [texts.get(number, "") for number in ids.tolist()], name.astype(np.int64)


def _lane(
    device: Device, axis: Axis, found: Intervals, depth: int, x0: float, x1: float, pixel: float
) -> AnnotationLane:
    """The items in view; neighbours narrower than a pixel are merged if they are within a pixel of each other."""
    left, right = _edges(device, axis, found)
    seen = np.flatnonzero((right >= x0) & (left <= x1))
    order = seen[np.argsort(left[seen], kind="stable")]
    left, right = left[order], right[order]
    thin = right - left < pixel
    # a merged item continues while thin ones follow in the same pixel; each has its own pixel, so they are few
    column = np.floor((left - x0) / pixel)
    crowded = depth == MOST_LANES - 1
    merged = (column[1:] == column[:-1]) & ((thin[1:] & thin[:-1]) | crowded)
    begins = np.append(True, ~merged)[: len(order)]
    first = np.flatnonzero(begins)
    counts = np.diff(np.append(first, len(order)))
    stops = np.maximum.reduceat(right, first) if len(first) else right
    items = []
    chosen = found.chosen(order)
    froms = np.minimum.reduceat(chosen.first, first) if len(first) else chosen.first
    tos = np.maximum.reduceat(chosen.last, first) if len(first) else chosen.last
    lowest = np.minimum.reduceat(chosen.name, first) if len(first) else chosen.name
    highest = np.maximum.reduceat(chosen.name, first) if len(first) else chosen.name
    for place, at, count, stop, begin, end, low, high in zip(
        first.tolist(), left[first].tolist(), counts.tolist(), stops.tolist(), froms.tolist(), tos.tolist(),
        lowest.tolist(), highest.tolist(), strict=True,
    ):  # fmt: skip
        name = found.texts[low] if low == high else f"{count:,} annotations"
        missing = int(chosen.unmatched[place])
        items.append(
            AnnotationItem(
                name, at, stop, begin, end, count,
                None if not missing or count > 1 else "start" if missing == NO_START else "end",
            )
        )  # fmt: skip
    return AnnotationLane(found.kind, depth, items)


def _edges(device: Device, axis: Axis, found: Intervals) -> tuple[F64, F64]:
    if axis == "event":
        return found.first.astype(np.float64), found.last.astype(np.float64)
    if found.start_us is not None and found.end_us is not None:
        return found.start_us.astype(np.float64), found.end_us.astype(np.float64)
    assert device.time is not None  # noqa: S101 - axis_range has refused the time axis without times
    # from its first event to its last, so that a single event has no width
    last = np.maximum(found.last - 1, 0)
    return device.time[found.first].astype(np.float64), device.time[last].astype(np.float64)

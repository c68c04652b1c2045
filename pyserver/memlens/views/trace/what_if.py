"""Replays: a trace's requests served again, with other settings or with some requests changed."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from msgspec import Struct

from memlens.arrays import I64, U32
from memlens.errors import BadRequestError
from memlens.kernels.trace.timeline import BEFORE_TRACE
from memlens.model.info import AxisRange
from memlens.packs import registry
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text, phrase
from memlens.units import format_bytes
from memlens.views.answers import Axis
from memlens.views.naming.frame_names import BEFORE_TRACE as ALLOCATED_EARLIER
from memlens.views.naming.frame_names import NO_STACK, SPECIAL_NAMES
from memlens.views.naming.labels import labels_of
from memlens.views.selection.changes import ChangedRows, Changes, changed_rows
from memlens.views.selection.columns import NEVER, axis_range, device_of, frame, live_rows, moments_between
from memlens.views.selection.filters import narrowed
from memlens.views.trace.allocator.segments import COMES, reserved_steps
from memlens.views.trace.allocator.state import state_at
from memlens.views.trace.oom.answers import PinningLine
from memlens.views.trace.oom.pinning import pinning_lines, split_segments
from memlens.views.trace.oom.places import place_name

MOST_SETTINGS = 64
"""Limit on the settings of one question."""
MOST_LARGEST = 3
MOST_LINES = 20
"""Limit on listed lines with blocks in partly free segments."""
NOTICEABLE = 0.01
"""Settings that change the peak by a smaller share aren't worth a sentence."""


class Calibration(Struct, frozen=True, kw_only=True):
    """How exactly a replay with the recorded settings reproduces the trace."""

    exact: bool
    segments: int
    """Segments and mapped parts of segments that the trace reserved."""
    segments_equal: int
    """The number of them that the replay reserved for the same request, with the same size."""
    addresses: int
    """Allocations of the trace."""
    addresses_equal: int
    peak_reserved_bytes: int
    recorded_peak_reserved_bytes: int
    reason: Text | None
    """Why the trace can't be replayed; None if it can."""
    assumed: str | None = None
    """Settings that the file doesn't say and that reproduce the trace; None if it is replayed as the file says."""

    @property
    def uncertain_bytes(self) -> int:
        """By how much the replay misses the recorded peak: a smaller difference between replays says nothing."""
        return abs(self.peak_reserved_bytes - self.recorded_peak_reserved_bytes)


class Failure(Struct, frozen=True, kw_only=True):
    """A request that got no memory."""

    event: int
    """The device's events count from 0; -1 if what was live before the first event doesn't fit."""
    asked_bytes: int
    """As the trace has them, not as these settings round them; 0 before the first event."""
    missing_bytes: int | None
    """The memory that the device lacks; None if its memory isn't known."""


class Largest(Struct, frozen=True):
    """A line's live bytes at a peak."""

    name: Text
    bytes: int


class Again(Struct, frozen=True):
    """Recomputation: the numbers of recomputed and of requested allocations, and of their layers."""

    allocations: int
    of_allocations: int
    layers: int


class Run(Struct, frozen=True, kw_only=True):
    """The outcome of a replay, or the trace itself."""

    settings: str
    """The settings as requested; ``recorded`` for the trace's own."""
    changes: Changes
    peak_allocated_bytes: int
    """The most that was live at one moment, up to the failure if there is one.

    A request that failed in the trace never counts, whether or not a replay has memory for it.
    """
    peak_reserved_bytes: int
    live_when_most_reserved_bytes: int
    """Live bytes when that much was first reserved: an allocator without gaps would have reserved these."""
    largest: list[Largest]
    """The lines with the most live bytes at the peak, the largest first."""
    reserved: list[int]
    """The most reserved bytes in each column of the curves, up to the failure if there is one."""
    out_of_memory: Failure | None
    """The first failure; None if there is none, or if the device's memory isn't known."""
    laid_out_anew: bool = False
    """Whether it assumes that memory live before the first event was allocated by these settings as well.

    Its requests aren't in the trace, so they are replayed in the order of addresses.
    """


class Curves(Struct, frozen=True):
    """The most live bytes in even columns of an axis, as recorded and with the changes."""

    x0: float
    x1: float
    recorded: list[int]
    changed: list[int]


When = Literal["out of memory", "most reserved", "peak"]


class Fragmentation(Struct, frozen=True, kw_only=True):
    """Reserved memory outside of blocks, at the moment when it mattered most."""

    moment: int
    when: When
    """The moment: when memory ran out; else when the most was first reserved; else, if that was before the first event,
    the peak of allocated memory."""
    reserved_bytes: int
    active_bytes: int
    """Bytes in blocks, rounding included: an allocator without gaps would reserve these."""
    split_bytes: int
    """Free bytes in segments with blocks; whole free pages of expandable segments can be returned."""
    cached_bytes: int
    """Bytes in segments without a block, which are returned before memory runs out."""
    pinning: list[PinningLine]
    """Lines with blocks in partly free segments, those with the most free bytes first; without expandable segments."""


class WhatIf(Struct, frozen=True, kw_only=True):
    """The answer. Only the recorded row exists if the trace can't be replayed."""

    device: int
    calibration: Calibration
    capacity_bytes: int | None
    """The memory that could be reserved: as requested, else by the first out-of-memory event; None if unknown."""
    reserved_before_bytes: int
    """Bytes reserved before the first event: no peak is lower, whatever was requested then."""
    laid_out_anew: bool
    """True if any row is: see :attr:`Run.laid_out_anew`."""
    again: Again | None
    """None unless something is to be computed again."""
    curves: Curves | None
    """None if no columns were requested, or if the trace can't be replayed."""
    fragmentation: Fragmentation | None
    """None if the trace can't be replayed."""
    rows: list[Run]
    """The recorded trace comes first."""
    anew_peak_reserved_bytes: int | None = None
    """What the trace itself reserves if memory live before its first event is laid out as in rows that are
    ``laid_out_anew``: what was cached then is gone, by no setting. None if there are no such rows."""

    def reserved_without(self, row: Run) -> int:
        """The peak of reserved bytes to which that of a row compares: without its settings and changes."""
        recorded = self.rows[0].peak_reserved_bytes
        if not row.laid_out_anew or self.anew_peak_reserved_bytes is None:
            return recorded
        return min(recorded, self.anew_peak_reserved_bytes)


_NOTHING = Changes()
LARGEST_BYTES = 1 << 50
"""Larger than any device's memory."""


class Outcome(NamedTuple):
    """The outcome of a replay."""

    events: int
    """The number of events served."""
    peak_reserved_bytes: int
    reserved: I64
    """The reserved bytes at each moment; 0 after the last event served."""
    failure: Failure | None
    """The first failure."""


class Requested(Protocol):
    """The requests to a trace's allocator, changed or not. Its events and moments may differ from the trace's."""

    @property
    def live(self) -> I64:
        """The live bytes at each moment."""

    @property
    def source(self) -> I64:
        """The device's event for each event, or the one before which an event is inserted."""

    def live_at(self, moment: int) -> tuple[U32, I64]:
        """The device's rows that are live at a moment, and their bytes."""


class Replayed(Protocol):
    """A device's trace that a pack can replay."""

    reason: Text | None
    """Why it certainly can't be replayed; None where :meth:`calibrate` says that."""
    candidates: Sequence[str]
    """Settings that are tried if none are requested."""
    combinations: Sequence[str]
    """Combinations of them: the best one is reported if it is better than each setting alone."""
    reserved_before_bytes: int
    """Bytes reserved before the first event."""

    def check(self, settings: str) -> None:
        """Raises BadRequestError for settings that can't be replayed."""

    def calibrate(self) -> Calibration:
        """Replay with the recorded settings, and compare."""

    def limit_bytes(self) -> int | None:
        """The bytes that could be reserved, by the first out-of-memory event; None if unknown."""

    def failure(self) -> Failure | None:
        """The first request that failed in the trace."""

    def changed(self, changes: ChangedRows) -> tuple[Any, Again | None]:
        """Return the changed requests, and what is computed again, if requested.

        Raises BadRequestError if the trace doesn't show what would be requested.
        """

    def resized(self, sizes: I64) -> Any:
        """Return the requests with other bytes for the device's rows."""

    def is_laid_out_anew(self, settings: str, requested: Any) -> bool:
        """Whether the memory from before the first event is laid out differently."""

    def anew_peak_reserved_bytes(self) -> int | None:
        """Return what the trace itself reserves if the memory from before the first event is laid out anew.

        None if it can't be laid out.
        """

    def run(self, settings: str, limit_bytes: int | None, requested: Any) -> Outcome | None:
        """Replay; None if the memory from before the first event can't be laid out."""


def what_if(
    snapshot: Snapshot,
    number: int | None = None,
    *,
    settings: Sequence[str] = (),
    changes: Changes = _NOTHING,
    capacity_bytes: int | None = None,
    helpful: bool = False,
    columns: int = 0,
    axis: Axis = "event",
) -> WhatIf:
    """Replay a device's trace; ``number`` None means the device to show first.

    There is a row for each of ``settings`` with the ``changes``, and one with the recorded settings; with ``helpful``,
    or without settings and changes, also rows for settings that may help. Curves have ``columns`` columns. Raises
    :class:`BadRequestError`.
    """
    device, trace = replayed(snapshot, number)
    if capacity_bytes is not None and capacity_bytes > LARGEST_BYTES:
        raise BadRequestError(phrase("No device has {size}", size=format_bytes(capacity_bytes)))
    if len(settings) > MOST_SETTINGS:
        raise BadRequestError(phrase("At most {most} settings can be tried at once", most=MOST_SETTINGS))
    for each in settings:
        trace.check(each)
    rows = changed_rows(device, changes, lambda text: narrowed(snapshot, device.info.device, text))
    calibration = trace.calibrate()
    limit = trace.limit_bytes() if capacity_bytes is None else capacity_bytes
    reserved = _reserved(snapshot, device)
    extent = axis_range(device, axis)
    edges = _edges(device, axis, extent, columns)
    recorded = Run(
        settings="recorded",
        changes=_NOTHING,
        peak_allocated_bytes=device.info.peak_bytes,
        peak_reserved_bytes=calibration.recorded_peak_reserved_bytes,
        live_when_most_reserved_bytes=int(device.live[_most_reserved(device, reserved)]),
        largest=_largest(snapshot, device, *_live_at(device, device.info.peak_moment)),
        reserved=_columns(reserved, edges),
        out_of_memory=trace.failure(),
    )
    runs, again, curves, fragmentation = [recorded], None, None, None
    anew_bytes = None
    if calibration.reason is None:
        wanted = [*settings, *(trace.candidates if helpful or not (settings or changes.kinds) else ())]
        # the recorded settings again if the memory or the allocations differ
        tried = ["recorded", *wanted] if changes.kinds or capacity_bytes is not None else wanted
        requested, again = trace.changed(rows)
        live = requested.live
        inner = _inner(requested, edges)
        if columns:
            curves = _curves(device, requested, extent, edges)
        fragmentation = _fragmentation(snapshot, device, recorded, reserved)

        def row(words: str, done: Outcome) -> Run:
            peak = int(np.argmax(live[: done.events + 1]))
            return Run(
                settings=words,
                changes=changes,
                peak_allocated_bytes=int(live[peak]),
                peak_reserved_bytes=done.peak_reserved_bytes,
                live_when_most_reserved_bytes=int(live[int(np.argmax(done.reserved))]),
                largest=_largest(snapshot, device, *requested.live_at(peak)),
                reserved=_columns(done.reserved[: done.events + 1], inner),
                out_of_memory=done.failure,
                laid_out_anew=trace.is_laid_out_anew(words, requested),
            )

        combined = trace.combinations if len(wanted) > len(settings) else ()
        # kernels let others run meanwhile
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            done = threads.map(lambda words: trace.run(words, limit, requested), (*tried, *combined))
            found = [
                None if each is None else row(words, each)
                for words, each in zip((*tried, *combined), done, strict=True)
            ]
        runs += [each for each in found[: len(tried)] if each is not None]
        if combined:
            together = [each for each in found[len(tried) :] if each is not None]
            best = min(runs[1:], key=_outcome, default=recorded)
            better = min(together, key=_outcome, default=best)
            if _is_better(better, best):
                runs.append(better)
        if any(row.laid_out_anew for row in runs):
            anew_bytes = trace.anew_peak_reserved_bytes()
    return WhatIf(
        device=device.info.device,
        calibration=calibration,
        capacity_bytes=limit,
        reserved_before_bytes=trace.reserved_before_bytes,
        laid_out_anew=anew_bytes is not None,
        anew_peak_reserved_bytes=anew_bytes,
        again=again,
        curves=curves,
        fragmentation=fragmentation,
        rows=runs,
    )


def _curves(device: Device, requested: Requested, extent: AxisRange, edges: I64) -> Curves:
    recorded = _columns(np.asarray(device.live), edges)
    return Curves(extent.x0, extent.x1, recorded, _columns(requested.live, _inner(requested, edges)))


def _inner(requested: Requested, edges: I64) -> I64:
    """The moments of a changed trace: one belongs to that after the event of its source."""
    return np.where(edges > 0, np.searchsorted(requested.source, edges - 1, "left") + 1, 0)


def whole_device(snapshot: Snapshot, number: int | None) -> Device:
    """A device of a trace; ``number`` None means the one to show first."""
    info = timeline_of(snapshot.info, "events")
    return device_of(snapshot, info.default_device if number is None else number).whole


def replayed(snapshot: Snapshot, number: int | None) -> tuple[Device, Replayed]:
    """A device and its trace. Raises :class:`BadRequestError` for files whose requests aren't known."""
    device = whole_device(snapshot, number)
    part = registry.replay_of(snapshot.info.kind)
    if part is None:
        raise BadRequestError(phrase("Files of this kind don't say what was requested from their allocator"))
    return device, part(snapshot, device)


def _outcome(row: Run) -> tuple[bool, int]:
    """Return a key to compare runs: whether memory ran out, and what was reserved."""
    return row.out_of_memory is not None, row.peak_reserved_bytes


def _is_better(row: Run, other: Run) -> bool:
    """Whether an outcome is noticeably better than another."""
    if row.out_of_memory is not None:
        return False
    return other.out_of_memory is not None or row.peak_reserved_bytes < other.peak_reserved_bytes * (
        1 - NOTICEABLE
    )


def _reserved(snapshot: Snapshot, device: Device) -> I64:
    """Return the bytes that the trace had reserved at each moment."""
    moments, sizes = reserved_steps(snapshot, device.info.device)
    return np.repeat(sizes, np.diff(np.append(moments.astype(np.int64), device.info.events + 1)))


def _most_reserved(device: Device, reserved: I64) -> int:
    """Return the moment of the request at which the most was first reserved; 0 if that was before the first event."""
    moment = int(np.argmax(reserved))
    while 0 < moment < device.info.events and device.event_action[moment - 1] in COMES:
        moment += 1
    return moment


def _edges(device: Device, axis: Axis, extent: AxisRange, columns: int) -> I64:
    """Return the first moments of even columns of an axis."""
    if not columns:
        return np.empty(0, np.int64)
    return moments_between(device, axis, np.linspace(extent.x0, extent.x1, columns + 1))[0]


def _columns(values: I64, firsts: I64) -> list[int]:
    """Return the maximum of each column, given its first item; without columns that begin after the last item.

    A column that begins with the same item as the next one has no event, and gets that item.
    """
    firsts = firsts[firsts < len(values)]
    return np.maximum.reduceat(values, firsts).tolist() if len(firsts) else []


def _fragmentation(snapshot: Snapshot, device: Device, recorded: Run, reserved: I64) -> Fragmentation:
    when: When
    moment, when = _most_reserved(device, reserved), "most reserved"
    if recorded.out_of_memory is not None:
        moment, when = recorded.out_of_memory.event + 1, "out of memory"
    elif not moment:
        moment, when = device.info.peak_moment, "peak"
    state = state_at(snapshot, device.info.device, moment)
    segments = state.segments
    is_cached = segments["active"] == 0
    return Fragmentation(
        moment=moment,
        when=when,
        reserved_bytes=state.reserved_bytes,
        active_bytes=state.active_bytes,
        split_bytes=state.inactive_split_bytes,
        cached_bytes=int(segments["size"][is_cached].sum()),
        pinning=pinning_lines(snapshot, device, state, split_segments(state), MOST_LINES),
    )


def _live_at(device: Device, moment: int) -> tuple[U32, I64]:
    rows = live_rows(device, moment)
    return rows, device.size[rows]


def _largest(snapshot: Snapshot, device: Device, rows: U32, sizes: I64) -> list[Largest]:
    """Return the lines with the most bytes."""
    found = by_line(snapshot, device, rows, sizes[:, None], 0, MOST_LARGEST)
    return [Largest(name, sums[0]) for name, sums in found]


def by_line(
    snapshot: Snapshot, device: Device, rows: U32, columns: I64, order: int, most: int
) -> list[tuple[Text, list[int]]]:
    """The sums of columns, an item per row, by line: those with most in a column, ``order``, first."""
    frames, sources = labels_of(snapshot, device, rows)
    early = (frames == NEVER) & (device.flags[rows] & BEFORE_TRACE != 0)
    labels, first, of_label = np.unique(
        np.where(early, NEVER + 1, frames.astype(np.int64)), return_index=True, return_inverse=True
    )
    sums = np.zeros((len(labels), columns.shape[1]), np.int64)
    np.add.at(sums, of_label, columns)
    chosen = np.argsort(-sums[:, order], kind="stable")[:most].tolist()
    known = snapshot.frames.rows(labels[each] for each in chosen if labels[each] < NEVER)
    found = []
    for each in chosen:
        if labels[each] in known:
            name = place_name(frame(known[labels[each]], int(sources[first[each]])), None)
        else:
            name = place_name(None, SPECIAL_NAMES[NO_STACK if labels[each] == NEVER else ALLOCATED_EARLIER])
        found.append((name, sums[each].tolist()))
    return found

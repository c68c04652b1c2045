"""Replays for a failed request: the settings with which it would have got its memory."""

from collections.abc import Sequence

from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.selection.changes import Changes
from memlens.views.trace.oom.answers import ReplayBudget
from memlens.views.trace.what_if import Run, WhatIf, what_if

EXPANDABLE = "expandable_segments:True"


class Replays(Struct, frozen=True, kw_only=True):
    """A request's outcome by settings."""

    is_proof: bool
    """Whether the trace has all requests of the program; otherwise the memory from before it is laid out anew."""
    capacity_bytes: int
    """The memory that could be reserved in them."""
    tried: list[str]
    """The settings of the replays."""
    peaks: dict[str, int]
    """The peak of reserved bytes for each setting with which the request gets its memory."""
    failed: dict[str, bool]
    """The settings with which the program runs out of memory, and whether at an earlier request.

    The outcome of settings that are neither here nor in ``peaks`` is unknown.
    """

    @property
    def all_fail(self) -> bool:
        """Whether no setting helps."""
        return self.is_proof and bool(self.tried) and len(self.failed) == len(self.tried)


def replays(
    snapshot: Snapshot, number: int, event: int, capacity_bytes: int | None, settings: Sequence[str] = ()
) -> Replays | None:
    """Replay a failed request; None if the trace can't be replayed or the device's memory is unknown.

    ``capacity_bytes``: what could be reserved at the event. Without ``settings``, tries those that may help.
    """
    if capacity_bytes is None:
        return None
    found = _what_if(snapshot, number, tuple(settings))
    if (
        found is None
        or found.calibration.reason is not None
        or found.capacity_bytes is None
        or len(found.rows) < 2
    ):
        return None
    rows = found.rows[1:]
    uncertain = found.calibration.uncertain_bytes
    room = capacity_bytes - uncertain
    peaks = {row.settings: peak for row in rows if (peak := _peak(row, event, room)) is not None}
    failed: dict[str, bool] = {}
    if found.capacity_bytes == capacity_bytes:
        # the program survived the failures before; what follows a failure in a replay isn't known
        recorded = found.rows[0].out_of_memory
        is_first = recorded is not None and recorded.event == event
        for row in rows:
            failure = row.out_of_memory
            if (
                failure is not None
                and (failure.missing_bytes or 0) > uncertain
                and (failure.event == event or (is_first and failure.event < event))
            ):
                failed[row.settings] = failure.event < event
    return Replays(
        is_proof=not found.laid_out_anew,
        capacity_bytes=found.capacity_bytes,
        tried=[row.settings for row in rows],
        peaks=peaks,
        failed=failed,
    )


def _peak(row: Run, event: int, capacity_bytes: int | None) -> int | None:
    """The peak of reserved bytes if a replay serves a request within a capacity, else None."""
    if row.out_of_memory is not None and row.out_of_memory.event <= event:
        return None
    peak = row.peak_reserved_bytes
    return None if capacity_bytes is None or peak > capacity_bytes else peak


def peaks_with(snapshot: Snapshot, number: int, settings: str) -> tuple[int, int] | None:
    """The peaks of reserved bytes, without and with settings; None if the trace can't be replayed."""
    found = _what_if(snapshot, number, (settings,))
    if found is None or found.calibration.reason is not None or len(found.rows) < 2:
        return None
    tried = found.rows[1]
    return found.reserved_without(tried), tried.peak_reserved_bytes


@kept
def _what_if(snapshot: Snapshot, number: int, settings: tuple[str, ...]) -> WhatIf | None:
    try:
        return what_if(snapshot, number, settings=settings)
    except BadRequestError:
        return None


class OutOfReplaysError(Exception):
    """No more replays may be made."""


def peak_with(
    snapshot: Snapshot,
    number: int,
    event: int,
    capacity_bytes: int | None,
    changes: Changes,
    budget: ReplayBudget | None = None,
) -> int | None:
    """The peak of reserved bytes with changes; None if the request fails, or if nothing is proved.

    Raises :class:`OutOfReplaysError` if that hasn't been replayed before, and the ``budget`` is used up.
    """
    # thousands of requests may have failed for the same lines
    if budget is not None and not _changed.is_known(snapshot, number, changes) and not budget.allow():
        raise OutOfReplaysError
    row = _changed(snapshot, number, changes)
    return None if row is None else _peak(row, event, capacity_bytes)


@kept
def _changed(snapshot: Snapshot, number: int, changes: Changes) -> Run | None:
    """The replay with changes; None if it can't be made, or proves nothing."""
    try:
        found = what_if(snapshot, number, changes=changes)
    except BadRequestError:
        return None
    if found.calibration.reason is not None or found.capacity_bytes is None or found.laid_out_anew:
        return None
    row = found.rows[1]
    is_close = row.peak_reserved_bytes + found.calibration.uncertain_bytes > found.capacity_bytes
    return None if row.out_of_memory is None and is_close else row

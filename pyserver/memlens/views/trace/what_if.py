"""What would have happened: a trace's requests served again, by other settings or without some of its allocations."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct

from memlens.arrays import I64, U32
from memlens.errors import BadRequestError
from memlens.packs import registry
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text, phrase
from memlens.views.selection.columns import device_of
from memlens.views.selection.filters import narrowed

MOST_SETTINGS = 64
"""How many settings one question may have."""


class Calibration(Struct, frozen=True, kw_only=True):
    """How exactly a replay with the recorded settings reproduces the trace."""

    exact: bool
    segments: int
    """Segments and mapped parts of segments that the trace reserved."""
    segments_equal: int
    """Those of them that the replay reserved for the same request, with the same size."""
    addresses: int
    """Allocations of the trace."""
    addresses_equal: int
    peak_reserved_bytes: int
    recorded_peak_reserved_bytes: int
    reason: Text | None
    """Why the trace can't be replayed; None if it can."""


class Failure(Struct, frozen=True, kw_only=True):
    """A request that got no memory. ``event`` counts the device's events from 0."""

    event: int
    asked_bytes: int
    missing_bytes: int | None
    """What the device would have to have more; None where its memory isn't known."""


class Run(Struct, frozen=True, kw_only=True):
    """What a replay came to, or the trace itself."""

    settings: str
    """As they were asked for; ``recorded`` for those of the trace."""
    without: list[str]
    """The filter terms whose allocations are left out."""
    peak_allocated_bytes: int
    """The most that was live at one moment, up to the failure if there is one."""
    peak_reserved_bytes: int
    out_of_memory: Failure | None
    """The first one; None if there is none, or if nothing says how much memory there is."""


class WhatIf(Struct, frozen=True, kw_only=True):
    """The answer. Only the recorded row is there where the trace can't be replayed."""

    device: int
    calibration: Calibration
    capacity_bytes: int | None
    """What could be reserved: as asked for, else by the first out-of-memory event; None if that isn't known."""
    laid_out_anew: bool
    """Whether some rows assume that what was live before the first event was allocated by their settings as well.

    In the order of its addresses, since the trace doesn't have these requests.
    """
    rows: list[Run]
    """The trace itself first."""


class Replayed(Protocol):
    """A device's trace that a pack can replay."""

    candidates: Sequence[str]
    """Settings that are tried if nothing is asked for."""

    def check(self, settings: str) -> None:
        """Raises BadRequestError for settings that can't be replayed."""

    def calibrate(self) -> Calibration:
        """Replay with the recorded settings, and compare."""

    def limit_bytes(self) -> int | None:
        """What could be reserved, by the first out-of-memory event; None if that isn't known."""

    def failure(self) -> Failure | None:
        """The first request that failed in the trace."""

    def is_laid_out_anew(self, settings: str) -> bool:
        """Whether settings change how what was live before the first event is laid out."""

    def run(
        self, settings: str, limit_bytes: int | None, without: U32
    ) -> tuple[int, int, Failure | None] | None:
        """Replay: the number of events that were served, the most bytes that were reserved, and the first failure.

        None where what was live before the first event can't be laid out.
        """


def what_if(
    snapshot: Snapshot,
    number: int | None = None,
    *,
    settings: Sequence[str] = (),
    without: Sequence[str] = (),
    capacity_bytes: int | None = None,
    helpful: bool = False,
) -> WhatIf:
    """Replay a device's trace; ``number`` None means the device to show first.

    There is a row for each of ``settings``, all of them without the allocations that any filter of ``without`` matches,
    and one with the recorded settings; without both, or where ``helpful``, rows for some settings that may help, too.
    Raises :class:`BadRequestError`.
    """
    info = timeline_of(snapshot.info, "events")
    device = device_of(snapshot, info.default_device if number is None else number).whole
    part = registry.replay_of(snapshot.info.kind)
    if part is None:
        raise BadRequestError(phrase("Files of this kind don't say what their allocator was asked for"))
    if len(settings) > MOST_SETTINGS:
        raise BadRequestError(phrase("At most {most} settings can be tried at once", most=MOST_SETTINGS))
    trace = part(snapshot, device)
    for each in settings:
        trace.check(each)
    rows = _rows(snapshot, device.info.device, without)
    calibration = trace.calibrate()
    limit = trace.limit_bytes() if capacity_bytes is None else capacity_bytes
    recorded = Run(
        settings="recorded",
        without=[],
        peak_allocated_bytes=device.info.peak_bytes,
        peak_reserved_bytes=calibration.recorded_peak_reserved_bytes,
        out_of_memory=trace.failure(),
    )
    runs, anew = [recorded], False
    if calibration.reason is None:
        wanted = [*settings, *(trace.candidates if helpful or not (settings or without) else ())]
        # the recorded settings again where the memory or the allocations are others
        tried = ["recorded", *wanted] if without or capacity_bytes is not None else wanted
        live = _live(device, rows)
        for each in tried:
            done = trace.run(each, limit, rows)
            if done is None:
                continue
            events, reserved_bytes, failure = done
            anew = anew or trace.is_laid_out_anew(each)
            runs.append(
                Run(
                    settings=each,
                    without=list(without),
                    peak_allocated_bytes=int(live[: events + 1].max()),
                    peak_reserved_bytes=reserved_bytes,
                    out_of_memory=failure,
                )
            )
    return WhatIf(
        device=device.info.device,
        calibration=calibration,
        capacity_bytes=limit,
        laid_out_anew=anew,
        rows=runs,
    )


def _rows(snapshot: Snapshot, number: int, filters: Sequence[str]) -> U32:
    """The rows that any of some filters matches."""
    found: list[U32] = []
    for text in filters:
        rows = narrowed(snapshot, number, text).rows
        if rows is None:
            raise BadRequestError(phrase("{filter} matches all allocations", filter=text))
        if not len(rows):
            raise BadRequestError(
                phrase("{filter} matches no allocation of device {device}", filter=text, device=number)
            )
        found.append(rows)
    return np.unique(np.concatenate(found)) if found else np.empty(0, np.uint32)


def _live(device: Device, without: U32) -> I64:
    """The live bytes at each moment without some rows."""
    if not len(without):
        return np.asarray(device.live)
    kept = np.ones(len(device.size), np.bool_)
    kept[without] = False
    return np.asarray(device.narrowed(np.flatnonzero(kept).astype(np.uint32)).live)

"""How large a batch, a sequence or a model may be, by how allocations grow between two traces of a program.

* Allocations of both are *paired* if as many were made with their stack: the first with the first, and so on. A stack
  is here its three innermost lines of Python, since a program is often edited between two runs; where it has none, its
  functions.
* A pair is constant, or grows in proportion to the size or to its square, if its bytes do so to within 1%. What has no
  pair or grows otherwise may be constant or grow with the square: the figures are then a range.
* For another size the larger trace is replayed with the bytes that its allocations would have. If more than a tenth of
  its bytes are uncertain, the traces aren't of one program, and there is no answer.
* As a check, the smaller trace's peak is worked out from the larger one in the same way.

What was allocated before the first event is constant.

By one trace alone a size is found that fits if nothing grows faster than in proportion to it, as with the batch.
"""

from collections.abc import Hashable, Sequence
from typing import Annotated, Literal, NamedTuple

import numpy as np
from msgspec import Meta, Struct

from memlens.arrays import F64, I64, U32, Mask
from memlens.errors import BadRequestError
from memlens.model.frames import NATIVE
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text, phrase
from memlens.units import format_bytes
from memlens.views.selection.columns import NEVER, live_rows
from memlens.views.trace.what_if import Calibration, Replayed, by_line, replayed, whole_device

Size = Annotated[int, Meta(ge=1, le=1 << 40)]
"""The size of a batch, a sequence or a model."""
Capacity = Annotated[int, Meta(ge=1, le=1 << 50)]
"""Bytes that can be reserved."""
Growth = Literal["constant", "linear", "quadratic", "otherwise"]
GROWTHS: tuple[Growth, ...] = ("constant", "linear", "quadratic", "otherwise")
_INNERMOST = 3
_CLOSE = 0.01
_LEAST_RATIO = 1.1
"""The least ratio of the sizes: below it, growth can't be distinguished from chance."""
_MOST_UNCERTAIN = 0.1
_CONSTANT = ("parameter", "optimizer_state", "gradient")
"""Categories, recorded or inferred, that a larger batch doesn't change."""
_MOST_LINES = 20
_MOST_TIMES = 64
"""Limit on the searched size, as a multiple of the recorded one."""


class Asked(NamedTuple):
    """The requests of the smaller run."""

    stacks: list[Hashable]
    """The key of each stack."""
    of_rows: U32
    sizes: I64
    peak_bytes: int


class SizeRow(Struct, frozen=True, kw_only=True):
    """A size, and the bytes allocated and reserved at its peak, each as a range if uncertain."""

    size: int
    recorded: bool
    peak_allocated_bytes: int
    most_allocated_bytes: int
    peak_reserved_bytes: int
    most_reserved_bytes: int


class GrowingLine(Struct, frozen=True):
    """A line's bytes at the larger trace's peak, those of its pairs in the smaller trace, and how most of them grow."""

    name: Text
    smaller_bytes: int
    bytes: int
    growth: Growth


class HowLarge(Struct, frozen=True, kw_only=True):
    """The answer. The first rows are the recorded sizes; the others are ordered by size."""

    calibration: Calibration
    shares: dict[Growth, float]
    """Shares of the bytes that the larger trace allocates."""
    check_bytes: int
    """The smaller trace's peak as predicted from the larger one."""
    checked_bytes: int
    """The smaller trace's recorded peak."""
    reserved_before_bytes: int
    """Bytes reserved before the larger trace began, which don't depend on the size."""
    rows: list[SizeRow]
    lines: list[GrowingLine]
    capacity_bytes: int | None
    largest: int | None
    """The largest size that certainly fits; None if unknown or below the smaller trace's."""
    possible: int | None
    """The largest size that fits if unknown growth is constant."""


class AtLeast(Struct, frozen=True, kw_only=True):
    """A size that fits by one trace alone, if nothing grows faster than in proportion to it."""

    calibration: Calibration
    peak_bytes: int
    constant_bytes: int
    """Bytes at the peak assumed to be the same for each size: parameters, optimizer states, gradients, and memory live
    from before the first event to the last."""
    capacity_bytes: int
    size: int
    """The trace's own size."""
    largest: int | None
    """The largest size that fits; None if not even the trace's own certainly does."""


def asked_in(snapshot: Snapshot, number: int | None) -> Asked:
    """Return the requests of a device's trace; ``number`` None means the device to show first."""
    device = whole_device(snapshot, number)
    rows = _rows(device)
    return Asked(_known_by(snapshot), device.stack[rows], device.size[rows], device.info.peak_bytes)


def how_large(
    snapshot: Snapshot,
    number: int | None,
    smaller: Asked,
    sizes: tuple[int, int],
    others: Sequence[int] = (),
    capacity_bytes: int | None = None,
) -> HowLarge:
    """Return what ``others`` would need, and the largest size that fits. ``sizes``: of the smaller and of this trace.

    Raises :class:`BadRequestError`.
    """
    small, large = sizes
    if not 0 < small < large or large < small * _LEAST_RATIO:
        raise BadRequestError(
            phrase(
                "The first two sizes must be those of the smaller and the larger trace, at least a "
                "tenth apart"
            )
        )
    if any(not 0 < size <= large * _MOST_TIMES for size in others):
        raise BadRequestError(phrase("A size is at most {most} times that of the trace", most=_MOST_TIMES))
    device, trace, calibration = _calibrated(snapshot, number)
    growth, before = _growths(snapshot, device, smaller, large / small)
    amounts = np.bincount(growth, device.size[_rows(device)], len(GROWTHS))
    shares = dict(zip(GROWTHS, (amounts / max(amounts.sum(), 1)).tolist(), strict=True))
    if shares["otherwise"] > _MOST_UNCERTAIN:
        raise BadRequestError(
            phrase(
                "{share} of the allocated bytes have no counterpart in the other trace, or grow in "
                "no known way",
                share=f"{shares['otherwise']:.0%}",
            ),
            advice=phrase("Record both with the same program, changing only one size."),
        )
    limit = trace.limit_bytes() if capacity_bytes is None else capacity_bytes
    runs = _Runs(trace, device, growth, large)
    return HowLarge(
        calibration=calibration,
        shares=shares,
        check_bytes=runs.allocated(small),
        checked_bytes=smaller.peak_bytes,
        reserved_before_bytes=trace.reserved_before_bytes,
        rows=[runs.row(size, recorded=size == large) for size in (large, *sorted({*others} - {large}))],
        lines=_lines(snapshot, device, growth, before),
        capacity_bytes=limit,
        largest=None if limit is None else runs.largest(small, limit, 2),
        possible=None if limit is None else runs.largest(small, limit, 0),
    )


def at_least(snapshot: Snapshot, number: int | None, size: int, capacity_bytes: int | None = None) -> AtLeast:
    """The largest size that fits by one trace of a ``size``; ``number`` None means the device to show first.

    Raises :class:`BadRequestError`.
    """
    device, trace, calibration = _calibrated(snapshot, number)
    limit = trace.limit_bytes() if capacity_bytes is None else capacity_bytes
    if limit is None:
        raise BadRequestError(
            phrase("The file doesn't say how much memory there was"),
            advice=phrase("Say how much there is to reserve."),
        )
    is_early = device.start == 0
    lost = int(device.size[is_early & (device.end != NEVER)].sum())
    if lost > _CLOSE * device.info.peak_bytes:
        raise BadRequestError(
            phrase(
                "The trace begins in the middle of a step: {size} from before the trace are freed in "
                "it, and it isn't known whether they grow",
                size=format_bytes(lost),
            ),
            advice=phrase("Record from before the first step, or two traces of different sizes."),
        )
    constant = [
        number for number, name in enumerate(snapshot.timeline.categories) if name.startswith(_CONSTANT)
    ]
    is_constant = is_early | np.isin(device.category, constant)
    live = live_rows(device, device.info.peak_moment)
    growth = np.where(is_constant[_rows(device)], GROWTHS.index("constant"), GROWTHS.index("linear"))
    return AtLeast(
        calibration=calibration,
        peak_bytes=device.info.peak_bytes,
        constant_bytes=int(device.size[live][is_constant[live]].sum()),
        capacity_bytes=limit,
        size=size,
        largest=_Runs(trace, device, growth, size).largest(size, limit, 2),
    )


def _calibrated(snapshot: Snapshot, number: int | None) -> tuple[Device, Replayed, Calibration]:
    """A device and its trace, which can be replayed. Raises :class:`BadRequestError`."""
    device, trace = replayed(snapshot, number)
    calibration = trace.calibrate()
    if calibration.reason is not None:
        raise BadRequestError(phrase("This trace can't be replayed: {reason}", reason=calibration.reason))
    return device, trace, calibration


class _Runs:
    """The larger trace with other sizes."""

    def __init__(self, trace: Replayed, device: Device, growth: I64, size: int) -> None:
        self.trace, self.size = trace, size
        self.sizes = device.size.astype(np.float64)
        self.rows, self.growth = _rows(device), growth

    def bytes_of(self, size: int, otherwise: int) -> I64:
        """Each row's bytes for a size; ``otherwise`` is the power with which those grow whose growth isn't known."""
        powers = np.array([0, 1, 2, otherwise])[self.growth]
        found: F64 = self.sizes.copy()
        found[self.rows] *= (size / self.size) ** powers
        return np.maximum(np.rint(found), np.minimum(self.sizes, 1)).astype(np.int64)

    def allocated(self, size: int) -> int:
        """Return the bytes at the peak, with unknown growth taken as constant."""
        return int(self.trace.resized(self.bytes_of(size, 0)).live.max())

    def row(self, size: int, *, recorded: bool) -> SizeRow:
        """Return the row of a size."""
        found = []
        for power in (0, 2):
            requested = self.trace.resized(self.bytes_of(size, power))
            done = self.trace.run("recorded", None, requested)
            allocated = int(requested.live.max())
            found.append((allocated, allocated if done is None else done.peak_reserved_bytes))
        found.sort()
        return SizeRow(
            size=size,
            recorded=recorded,
            peak_allocated_bytes=found[0][0],
            most_allocated_bytes=found[1][0],
            peak_reserved_bytes=min(found[0][1], found[1][1]),
            most_reserved_bytes=max(found[0][1], found[1][1]),
        )

    def fits(self, size: int, limit: int, otherwise: int) -> bool:
        """Whether a size gets all its memory; ``otherwise`` is as for :meth:`bytes_of`."""
        done = self.trace.run("recorded", limit, self.trace.resized(self.bytes_of(size, otherwise)))
        return done is not None and done.failure is None

    def largest(self, least: int, limit: int, otherwise: int) -> int | None:
        """The largest size from ``least`` on that fits, by bisection."""
        if not self.fits(least, limit, otherwise):
            return None
        low, high = least, self.size * _MOST_TIMES
        while high - low > 1:
            middle = min((low + high) // 2, low * 2)
            if self.fits(middle, limit, otherwise):
                low = middle
            else:
                high = middle
        return low


def _rows(device: Device) -> U32:
    """The rows that were allocated by events, in order."""
    return np.flatnonzero(device.start > 0).astype(np.uint32)


def _known_by(snapshot: Snapshot) -> list[Hashable]:
    """Return a key for each stack that identifies it in another file."""
    frames = dict(enumerate(snapshot.frames.each()))
    found: list[Hashable] = []
    for stack in range(len(snapshot.stacks.node)):
        rows = [frames[number] for number in snapshot.stack_frame_ids(stack)]
        lines = tuple((row[1], row[2]) for row in rows if row[3] != NATIVE)[:_INNERMOST]
        found.append(lines or tuple(row[2] for row in rows))
    return found


def _growths(snapshot: Snapshot, device: Device, smaller: Asked, ratio: float) -> tuple[I64, I64]:
    """Return how each of the device's requests grows, and its bytes in the smaller trace; 0 without a pair."""
    numbers: dict[Hashable, int] = {}
    own_stacks, other_stacks = (
        np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
        for keys in (_known_by(snapshot), smaller.stacks)
    )
    rows = _rows(device)
    own, other = own_stacks[device.stack[rows]], other_stacks[smaller.of_rows]
    counts, other_counts = (np.bincount(each, minlength=len(numbers)) for each in (own, other))
    as_many: Mask = counts == other_counts
    order, other_order = (np.argsort(each, kind="stable") for each in (own, other))
    order, other_order = order[as_many[own[order]]], other_order[as_many[other[other_order]]]
    before = np.zeros(len(rows), np.int64)
    before[order] = smaller.sizes[other_order]
    found = np.full(len(rows), GROWTHS.index("otherwise"), np.int64)
    grown = device.size[rows] / np.maximum(before, 1)
    for power in (2, 1, 0):
        found[(before > 0) & (np.abs(grown / ratio**power - 1) < _CLOSE)] = power
    return found, before


def _lines(snapshot: Snapshot, device: Device, growth: I64, before: I64) -> list[GrowingLine]:
    """Return the lines at the peak, the largest first, each with the growth of most of its bytes."""
    rows = _rows(device)
    live = (device.start[rows] <= device.info.peak_moment) & (device.end[rows] > device.info.peak_moment)
    sizes = device.size[rows][live]
    columns = [
        before[live],
        sizes,
        *(np.where(growth[live] == each, sizes, 0) for each in range(len(GROWTHS))),
    ]
    return [
        GrowingLine(name, sums[0], sums[1], GROWTHS[int(np.argmax(sums[2:]))])
        for name, sums in by_line(snapshot, device, rows[live], np.stack(columns, 1), 1, _MOST_LINES)
    ]

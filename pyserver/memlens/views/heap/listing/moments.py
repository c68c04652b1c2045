"""A recording of allocations over time: when the live objects were allocated, and how much was allocated then."""

from typing import NamedTuple

import numpy as np
from msgspec import Struct

from memlens.arrays import I16, I64
from memlens.errors import BadRequestError
from memlens.store.kept import kept
from memlens.store.objects.moments import allocated_us
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.heap.filters import filters

_MOST_BINS = 240
_STEPS_US = tuple(unit * 10**power for power in range(5, 13) for unit in (1, 2, 5))
"""Widths of bins: their ends are round numbers of seconds, and recorders look at least once per bin."""
_TOGETHER = 1 << 20
_TERMS = ("since", "until")


class MomentsAnswer(Struct, frozen=True):
    """Objects by when they were allocated, in bins of ``bin_us`` from the start of the recording on.

    A bin has the objects that match ``since:`` its beginning and ``until:`` its end. ``fitting_bytes`` counts the
    objects that match the filter's other terms; None if it has no other terms. ``allocated_bytes`` is None if the
    recorder didn't write it down. ``before_bytes`` and ``before_objects`` are of objects older than the recording.
    """

    bin_us: int
    live_bytes: list[int]
    live_objects: list[int]
    fitting_bytes: list[int] | None
    allocated_bytes: list[int] | None
    """The bin's allocations that were alive when the recorder first looked, at most 0.1 seconds later."""
    before_bytes: int
    before_objects: int


class _Bins(NamedTuple):
    width_us: int
    bins: int
    of_object: I16
    """The bin of each object; -1 for objects older than the recording."""


def moments(snapshot: Snapshot, filter_text: str) -> MomentsAnswer:
    """Return when the live objects were allocated. Raises :class:`BadRequestError` for a dump that lacks them."""
    if not len(snapshot.objects.moments):
        raise BadRequestError(phrase("The heap dump doesn't say when its objects were allocated"))
    bins, whole = _bins(snapshot), _all_sums(snapshot)
    fitting = filters.chosen(snapshot, filter_text, _TERMS)
    some = None if fitting is None else _sums(snapshot, bins, fitting)[0]
    return MomentsAnswer(
        bins.width_us, whole[0][1:].tolist(), whole[1][1:].tolist(), None if some is None else some[1:].tolist(),
        _allocated(snapshot, bins), int(whole[0][0]), int(whole[1][0]),
    )  # fmt: skip


@kept
def _bins(snapshot: Snapshot) -> _Bins:
    objects = snapshot.objects
    last_us = int(objects.moments["time_us"][-1])
    width = next(step for step in _STEPS_US if last_us // step < _MOST_BINS or step == _STEPS_US[-1])
    of_object = np.empty(len(objects.type), np.int16)
    for first in range(0, len(of_object), _TOGETHER):
        part = slice(first, first + _TOGETHER)
        # objects after the last bin count in it
        of_object[part] = np.minimum(allocated_us(objects, part) // width, _MOST_BINS - 1)
    return _Bins(width, min(last_us // width, _MOST_BINS - 1) + 1, of_object)


@kept
def _all_sums(snapshot: Snapshot) -> tuple[I64, I64]:
    return _sums(snapshot, _bins(snapshot), None)


def _sums(snapshot: Snapshot, bins: _Bins, fitting: filters.Chosen | None) -> tuple[I64, I64]:
    """Return bytes and numbers of objects: of those older than the recording first, then of each bin."""
    objects, found = snapshot.objects, np.zeros((2, bins.bins + 1), np.int64)
    mask = None if fitting is None else fitting.mask(snapshot)
    for first in range(0, len(bins.of_object), _TOGETHER):
        part = slice(first, first + _TOGETHER)
        place, size = bins.of_object[part].astype(np.int64) + 1, objects.shallow[part].astype(np.float64)
        if mask is not None:
            place, size = place[mask[part]], size[mask[part]]
        # exact in floating point: a part has less than 2**53 bytes
        found[0] += np.bincount(place, size, bins.bins + 1).astype(np.int64)
        found[1] += np.bincount(place, minlength=bins.bins + 1)
    return found[0], found[1]


def _allocated(snapshot: Snapshot, bins: _Bins) -> list[int] | None:
    rows = snapshot.objects.moments
    # the first row is about objects older than the recording
    sizes = rows["allocated_bytes"][1:]
    if not sizes.any():
        return None
    place = np.minimum(rows["time_us"][1:].astype(np.int64) // bins.width_us, bins.bins - 1)
    found = np.bincount(place, sizes.astype(np.float64), bins.bins)
    return [int(size) for size in found]

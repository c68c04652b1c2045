"""The totals of each stack and each source line of an archive, in figures that all models have."""

from typing import assert_never

import numpy as np

from memlens.arrays import I64
from memlens.kernels.tree.calltree import add_by
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.model.profile import value_for
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot


def stack_totals(snapshot: Snapshot) -> I64:
    """``int64[stacks, 6]``: total bytes, count, bytes and count live at the peak, bytes live at the end, largest.

    For a profile they are the closest values, chosen by :func:`memlens.model.profile.value_for`.
    """
    info = snapshot.info
    match info:
        case TimelineInfo():
            return snapshot.trace.stack_totals
        case GraphInfo(allocations=None):
            return np.zeros((len(snapshot.stacks.node), 6), np.int64)
        case ProfileInfo() | GraphInfo():
            return _of_samples(snapshot)
        case _:
            assert_never(info)


def line_totals(snapshot: Snapshot) -> I64:
    """``int64[lines, 8]``: the figures of :func:`stack_totals`, then total bytes and count of the line itself.

    A line itself has the stacks in which it is the innermost frame with a line. The largest isn't known for a profile's
    lines.
    """
    info = snapshot.info
    match info:
        case TimelineInfo():
            return _of_trace(snapshot)
        case GraphInfo(allocations=None):
            return np.zeros((0, 8), np.int64)
        case ProfileInfo() | GraphInfo():
            return _of_values(snapshot)
        case _:
            assert_never(info)


_FIGURES = (("total", "bytes"), ("total", "count"), ("peak", "bytes"), ("peak", "count"), ("end", "bytes"))


def _values_of_figures(info: ProfileInfo) -> list[int | None]:
    """The index of the value that represents each of the figures, None for none."""
    numbers = []
    for figure, unit in _FIGURES:
        number = value_for(info.values, figure, unit)
        if number is None and figure != "end" and unit == "bytes":
            number = info.default_value
        numbers.append(number)
    return numbers


@kept
def _of_trace(snapshot: Snapshot) -> I64:
    return np.hstack((snapshot.trace.line_totals, snapshot.trace.line_own))


@kept
def _of_values(snapshot: Snapshot) -> I64:
    numbers, values = _values_of_figures(snapshot.profile), snapshot.line_values
    totals = np.zeros((8, len(snapshot.lines.frame)), np.int64)
    for place, number in enumerate(numbers):
        if number is not None:
            totals[place] = values.value[number]
    for place, number in enumerate(numbers[:2], 6):
        if number is not None:
            totals[place] = values.own[number]
    return totals.T


@kept
def _of_samples(snapshot: Snapshot) -> I64:
    info, stacks = snapshot.profile, snapshot.samples.stack
    totals = np.zeros((6, len(snapshot.stacks.node)), np.int64)
    for place, number in enumerate(_values_of_figures(info)):
        if number is not None:
            add_by(stacks, snapshot.samples.value[number][np.newaxis], totals[place : place + 1])
    if info.has_sizes:
        np.maximum.at(totals[5], stacks.astype(np.intp), snapshot.samples.size)
    return totals.T

"""Two runs on one axis: which moments correspond, and how much was live in each run.

The shared axis is that of the first run: moments, or microseconds since its first event. The second run is aligned at
its first event, moved by an offset, or stretched so that steps with the same number begin together.
"""

import base64
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memlens.arrays import F64
from memlens.errors import BadRequestError
from memlens.kernels.trace import ranges
from memlens.model.info import AxisRange
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, in_a_row, phrase
from memlens.views.answers import Axis
from memlens.views.selection.columns import axis_range, device_of, moments_between, x_of_moment
from memlens.views.trace.steps.finding import find_steps


class Alignment(Struct, frozen=True):
    """How the second run is placed on the first one's axis.

    ``offset`` moves it to the right, in the axis's unit. With ``by_step`` the steps that both have
    (:mod:`memlens.views.trace.steps.finding`) are aligned, and ``offset`` is a number of steps.
    """

    axis: Axis
    by_step: bool = False
    offset: float = 0.0


class SharedStep(Struct, frozen=True):
    """A step of both runs, and its start on the shared axis."""

    name: Text
    x: float


class StepsKnown(Struct, frozen=True):
    """A sentence on how a run's steps are known; ``inferred`` if the file doesn't record them."""

    how: Text
    inferred: bool


class CurvesAnswer(Struct, frozen=True):
    """What was live in two runs, in even columns over the requested ``[x0, x1]``.

    ``extent`` covers both runs. The heights are base64 of little-endian ``float64[columns]``, the maximum and minimum
    of what was live within each column in bytes, NaN where the run has not begun or is over. ``moments`` is base64 of
    little-endian ``uint32[columns]``: the first run's moment at the end of each column. ``steps_known`` and
    ``other_steps_known`` say how each run's steps are known, if they are aligned by step.
    """

    x0: float
    x1: float
    columns: int
    extent: AxisRange
    peak_bytes: int
    other_peak_bytes: int
    peak_x: float
    other_peak_x: float
    highest: str
    lowest: str
    other_highest: str
    other_lowest: str
    moments: str
    steps: list[SharedStep]
    steps_known: StepsKnown | None
    other_steps_known: StepsKnown | None


class Side(Struct, frozen=True):
    """What is needed to align a run with another: its extent, its peak, and its steps' edges.

    ``known`` is None if its steps weren't requested.
    """

    extent: AxisRange
    peak_x: float
    peak_bytes: int
    step_names: list[Text]
    step_edges: list[float]
    """The start of each step, and the end of the last one: one more than names, or none."""
    known: StepsKnown | None


class AxisMap:
    """Maps the first run's axis to the second's and back: linear between knots, with slope 1 outside of them."""

    def __init__(self, first: list[float], second: list[float]) -> None:
        self.first = np.asarray(first, np.float64)
        self.second = np.asarray(second, np.float64)

    def to_second(self, x: F64) -> F64:
        """Map positions of the first run to the second."""
        return _through(self.first, self.second, x)

    def to_first(self, x: F64) -> F64:
        """Map positions of the second run to the first."""
        return _through(self.second, self.first, x)


def side_of(
    snapshot: Snapshot, number: int, axis: Axis, filter_text: str = "", *, by_step: bool = False
) -> Side:
    """A device, narrowed by a filter, on an axis. Raises :class:`BadRequestError`."""
    device = device_of(snapshot, number, filter_text)
    names: list[Text] = []
    edges: list[float] = []
    known = None
    if by_step:
        found = find_steps(snapshot, device)
        names, known = found.names, StepsKnown(found.how, found.source == "period")
        # a step consists of the events after its first moment, so in time it begins with the first of them
        begin = found.first + (axis == "time")
        edges = [x_of_moment(device, axis, moment) for moment in (*begin.tolist(), *found.last[-1:].tolist())]
    return Side(
        axis_range(device, axis),
        x_of_moment(device, axis, device.info.peak_moment),
        device.info.peak_bytes,
        names,
        edges,
        known,
    )


def align(first: Side, second: Side, alignment: Alignment) -> tuple[AxisMap, list[SharedStep]]:
    """Align the second run with the first. Raises :class:`BadRequestError` if there is no common step to do it by."""
    if not np.isfinite(alignment.offset):
        raise BadRequestError(phrase("An offset must be a number"))
    if not alignment.by_step:
        return AxisMap([alignment.offset], [0.0]), []
    theirs = {name.text: number for number, name in enumerate(second.step_names)}
    moved = round(alignment.offset)
    pairs = _same_names(first.step_names, theirs) if not moved else []
    if not pairs:
        pairs = [
            (number, number - moved)
            for number in range(len(first.step_names))
            if 0 <= number - moved < len(second.step_names)
        ]
    if not pairs:
        without = [side.known.how for side in (first, second) if side.known and not side.step_names]
        raise BadRequestError(
            phrase("The snapshots have no steps in common to align"),
            advice=in_a_row(list({each.text: each for each in without}.values()), " "),
        )
    steps = [SharedStep(first.step_names[mine], first.step_edges[mine]) for mine, _ in pairs]
    knots = [(first.step_edges[mine], second.step_edges[other]) for mine, other in pairs]
    mine, other = pairs[-1]
    knots.append((first.step_edges[mine + 1], second.step_edges[other + 1]))
    # a step without an event has no width, but knots must ascend on both axes
    rising = knots[:1]
    for knot in knots[1:]:
        if knot[0] > rising[-1][0] and knot[1] > rising[-1][1]:
            rising.append(knot)
    return AxisMap([knot[0] for knot in rising], [knot[1] for knot in rising]), steps


def heights(
    snapshot: Snapshot,
    number: int,
    axis: Axis,
    edges: F64,
    filter_text: str = "",
) -> tuple[str, str, str]:
    """The maximum and minimum of what was live, and the last moment, between ``edges`` of the device's axis, packed."""
    device = device_of(snapshot, number, filter_text)
    extent = axis_range(device, axis)
    first, last = moments_between(device, axis, edges)
    highest, lowest = np.empty(len(first)), np.empty(len(first))
    ranges.extremes(
        device.live, first, last, highest, lowest, device.live_64, device.live_4096, device.low_64
    )
    outside = (edges[1:] <= extent.x0) | (edges[:-1] >= extent.x1)
    highest[outside] = lowest[outside] = np.nan
    return _packed(highest, "<f8"), _packed(lowest, "<f8"), _packed(last, "<u4")


def joined(first: Side, second: Side, places: AxisMap) -> AxisRange:
    """The extent of both runs on the first one's axis."""
    x0, x1 = places.to_first(np.array([second.extent.x0, second.extent.x1])).tolist()
    return AxisRange(min(first.extent.x0, x0), max(first.extent.x1, x1))


def moments_at(snapshot: Snapshot, number: int, axis: Axis, x: F64) -> list[int]:
    """The moments at positions of a device's axis; beyond its ends the first or last moment."""
    device = device_of(snapshot, number)
    if axis == "event" or device.time is None:
        if axis == "time":
            axis_range(device, axis)  # raises an error if there are no times
        moments = np.floor(np.clip(x, 0, device.info.events)).astype(np.int64)
    else:
        whole = np.floor(np.clip(x, -(2.0**62), 2.0**62)).astype(np.int64)
        moments = np.searchsorted(device.time, whole, "right")
    found: list[int] = moments.tolist()
    return found


def live_at(snapshot: Snapshot, number: int, moments: list[int], filter_text: str = "") -> list[int]:
    """The live bytes at moments of a device; numbers beyond the trace mean its ends."""
    device = device_of(snapshot, number, filter_text)
    found: list[int] = device.live[np.clip(np.array(moments, np.int64), 0, device.info.events)].tolist()
    return found


def positions_of(snapshot: Snapshot, number: int, axis: Axis, moments: list[int]) -> F64:
    """The starts of moments on a device's axis."""
    device = device_of(snapshot, number)
    return np.array(
        [x_of_moment(device, axis, min(max(m, 0), device.info.events)) for m in moments], np.float64
    )


def _same_names(names: list[Text], theirs: dict[str, int]) -> list[tuple[int, int]]:
    """The steps with the same name in both runs, in the order of both."""
    pairs: list[tuple[int, int]] = []
    for number, name in enumerate(names):
        other = theirs.get(name.text, -1)
        if other >= 0 and (not pairs or other > pairs[-1][1]):
            pairs.append((number, other))
    return pairs


def _through(source: F64, target: F64, x: F64) -> F64:
    inside = np.interp(x, source, target)
    left = np.minimum(x - source[0], 0.0)
    right = np.maximum(x - source[-1], 0.0)
    return np.asarray(inside + left + right, np.float64)


def _packed(values: npt.NDArray[Any], dtype: str) -> str:
    return base64.b64encode(values.astype(dtype).tobytes()).decode()

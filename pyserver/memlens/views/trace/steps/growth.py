"""What grows from step to step, by line: the leak finder.

At each step's end the live bytes are summed by the line that represents an allocation. An inferred line is separate
from the same recorded line. What the first step sets up permanently (optimizer state, caches) is already live at its
end, so growth is measured from there on.
"""

from typing import Literal

import numpy as np
from msgspec import Struct

from memlens.arrays import F64, I64, U8, U32
from memlens.kernels.trace.timeline import NEVER
from memlens.model.distinct import distinct
from memlens.model.growing import growing as is_growing
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.answers import Frame
from memlens.views.naming.labels import labels_of
from memlens.views.selection.columns import device_of, frame
from memlens.views.trace.steps.finding import Steps, find_steps

MOST_STEPS = 2000
"""The most ends at which growth is measured; with more steps only every n-th is used."""
MOST_POINTS = 120
"""The most points of a line's curve in an answer."""
MOST_STACKS = 2000

Trend = Literal["every_step", "steady", "unsteady"]


class GrowthRow(Struct, frozen=True):
    """The bytes of one line that are live at the ends of steps.

    ``trend``: ``every_step`` if more is live at each end than at the one before; ``steady`` if never less, and more in
    the end; else ``unsteady``. ``slope_bytes`` is the slope of the least-squares line, per step. ``frame`` is None for
    allocations without frames. ``stacks`` are those of what is live at the last end.
    """

    frame: Frame | None
    trend: Trend
    grown_bytes: int
    slope_bytes: float
    first_bytes: int
    last_bytes: int
    last_count: int
    steps_grown: int
    """The number of ends at which more was live than at the one before."""
    points: list[int]
    """Live bytes at the ends, including the first and the last; thinned out evenly if there are many."""
    stacks: list[int]


class GrowthAnswer(Struct, frozen=True):
    """The lines that grow (:mod:`memlens.model.growing`), largest growth first, those that never shrink before others.

    ``ends`` is the number of measured step ends, one every ``every`` steps. ``moments`` are those of a row's points.
    ``lines`` is the number of lines that grew, of which ``rows`` are the first.
    """

    ends: int
    every: int
    moments: list[int]
    first_total_bytes: int
    last_total_bytes: int
    lines: int
    rows: list[GrowthRow]


def growth(snapshot: Snapshot, number: int, limit: int, filter_text: str = "") -> GrowthAnswer:
    """What grew on a device from the first step's end to the last's, by line. Raises :class:`BadRequestError`."""
    device = device_of(snapshot, number, filter_text)
    found = find_steps(snapshot, device)
    ends, every = _ends(found)
    if len(ends) < 2:
        return GrowthAnswer(len(ends), every, ends.tolist(), 0, 0, 0, [])
    first, last = alive_between(device, ends)
    rows = np.flatnonzero(last > first).astype(np.uint32)
    frames, sources = labels_of(snapshot, device, rows)
    keys, line = _lines(snapshot, frames, sources)
    alive = alive_by_group(len(keys), line, device.size[rows], first[rows], last[rows], len(ends))
    rises = np.diff(alive, axis=1)
    grown = alive[:, -1] - alive[:, 0]
    never_less = (rises >= 0).all(axis=1) & (grown > 0)
    growing = np.flatnonzero(is_growing(alive))
    order = growing[np.lexsort((-grown[growing], ~never_less[growing]))][:limit]
    shown = distinct(np.linspace(0, len(ends) - 1, min(MOST_POINTS, len(ends))).round().astype(np.int64))
    slopes = _slopes(alive[order]) / every
    at_last = (last[rows] == len(ends)) & (first[rows] < len(ends))
    answer = []
    texts = snapshot.frames.rows(keys[group][0] for group in order.tolist() if keys[group][0] != NEVER)
    for group, slope in zip(order.tolist(), slopes.tolist(), strict=True):
        label, source = keys[group]
        mine = rows[(line == group) & at_last]
        stacks = distinct(device.stack[mine])[:MOST_STACKS]
        rise = rises[group]
        answer.append(
            GrowthRow(
                frame(texts[label], source) if label != NEVER else None,
                "every_step" if bool((rise > 0).all()) else "steady" if never_less[group] else "unsteady",
                int(grown[group]), slope, int(alive[group, 0]), int(alive[group, -1]), len(mine),
                int(np.count_nonzero(rise > 0)), alive[group, shown].tolist(), stacks.tolist(),
            )
        )  # fmt: skip
    return GrowthAnswer(
        len(ends), every, ends[shown].tolist(), int(device.live[ends[0]]), int(device.live[ends[-1]]), len(growing),
        answer,
    )  # fmt: skip


def _ends(found: Steps) -> tuple[I64, int]:
    """The ends at which to measure, including the last, and the number of steps between them."""
    every = max(-(-len(found.last) // MOST_STEPS), 1)
    return found.last[::-1][::every][::-1], every


def alive_between(device: Device, ends: I64) -> tuple[I64, I64]:
    """For each allocation the first end at which it is live, and the first after that at which it isn't."""
    first = np.searchsorted(ends, device.start.astype(np.int64), "left")
    return first, np.searchsorted(ends, device.end.astype(np.int64), "left")


def alive_by_group(
    groups: int,
    group: I64,
    size: I64,
    first: I64,
    last: I64,
    ends: int,
) -> I64:
    """The live bytes of each group at each end."""
    change = np.zeros((groups, ends + 1), np.int64)
    np.add.at(change, (group, first), size)
    np.subtract.at(change, (group, last), size)
    return np.cumsum(change, axis=1)[:, :ends]


def _lines(snapshot: Snapshot, frames: U32, sources: U8) -> tuple[list[tuple[int, int]], I64]:
    """Merge frames of the same line and source: a frame for each, and the merged frame of each row."""
    pairs, place = np.unique(frames.astype(np.int64) << 8 | sources, return_inverse=True)
    texts = snapshot.frames.rows(pair >> 8 for pair in pairs.tolist() if pair >> 8 != NEVER)
    numbers: dict[tuple[object, ...], int] = {}
    keys: list[tuple[int, int]] = []
    of_pair = np.empty(len(pairs), np.int64)
    for at, pair in enumerate(pairs.tolist()):
        label, source = pair >> 8, pair & 255
        row = texts.get(label)
        # a frame without a line is identified by its function
        key = (None,) if row is None else (row[0], row[1], source) if row[1] else (*row, source)
        number = numbers.get(key)
        if number is None:
            number = numbers[key] = len(keys)
            keys.append((label, source))
        of_pair[at] = number
    return keys, of_pair[place]


def _slopes(alive: I64) -> F64:
    """The slope per end of the least-squares line through each row."""
    x = np.arange(alive.shape[1]) - (alive.shape[1] - 1) / 2
    slopes: F64 = (alive @ x) / float(x @ x)
    return slopes

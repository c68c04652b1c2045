"""What is charged to lines, by whose code they are, and to no line, by reason; all of it sums to the total."""

from typing import Literal

import numpy as np
from msgspec import Struct

from memlens.arrays import I64
from memlens.kernels.trace.timeline import BEFORE_TRACE as BEFORE_FLAG
from memlens.kernels.tree.calltree import add_by
from memlens.model.attribution import Attribution, FrameKind
from memlens.model.frames import KIND_NAMES
from memlens.model.timeline import NEVER
from memlens.store.models import devices_of
from memlens.store.snapshot import Snapshot
from memlens.store.totals import stack_totals
from memlens.views.lines.places import PlaceKind, places_of
from memlens.views.naming.attribution import by_charged_frame

ChargedTo = Literal[
    "user", "library", "native", "no_line", "no_stack", "before_recording", "no_function", "no_file"
]  # fmt: skip
"""Whose line is charged: the user's, a library's if no frame of the stack is the user's, or native code's; or why none
is: the stack has no frame with a line, there is no stack, or it was allocated before recording. Functions and files can
be missing instead of lines.
"""

KINDS: tuple[ChargedTo, ...] = (*KIND_NAMES, "no_line", "no_stack", "before_recording")
_NO_LINE, NO_STACK, BEFORE = 3, 4, 5


class ChargedFigures(Struct, frozen=True):
    """Sums over allocations, those at the peak at each device's own."""

    total_bytes: int
    count: int
    live_at_peak_bytes: int
    live_at_end_bytes: int


class Charged(ChargedFigures, frozen=True):
    """The part of a trace that is charged to lines of one kind, or to none for one reason."""

    to: ChargedTo


class ChargedAmount(Struct, frozen=True):
    """The same of one value of a profile."""

    to: ChargedTo
    amount: int


def charged_allocations(snapshot: Snapshot, attribution: Attribution) -> tuple[list[Charged], ChargedFigures]:
    """The places to which all allocations of a trace are charged, without empty kinds, and their sum."""
    figures = np.ascontiguousarray(stack_totals(snapshot)[:, [0, 1, 2, 4]].T)
    sums = by_kind(snapshot, attribution, figures)
    early = _bare_before_recording(snapshot)
    sums[:, NO_STACK] -= early
    sums[:, BEFORE] += early
    total = ChargedFigures(*figures.sum(axis=1).tolist())
    charged = [
        Charged(in_all, count, at_peak, at_end, kind)
        for kind, (in_all, count, at_peak, at_end) in zip(KINDS, sums.T.tolist(), strict=True)
        if count
    ]
    return charged, total


def charged_amounts(
    snapshot: Snapshot, value: int, attribution: Attribution
) -> tuple[list[ChargedAmount], int]:
    """The places to which one value of a profile's samples is charged, without empty kinds, and its sum."""
    amounts = np.zeros((1, len(snapshot.stacks.node)), np.int64)
    add_by(snapshot.samples.stack, snapshot.samples.value[value][np.newaxis], amounts)
    (sums,) = by_kind(snapshot, attribution, amounts).tolist()
    charged = [ChargedAmount(kind, amount) for kind, amount in zip(KINDS, sums, strict=True) if amount]
    return charged, int(amounts.sum())


def by_kind(snapshot: Snapshot, attribution: Attribution, of_stacks: I64, kind: PlaceKind = "line") -> I64:
    """Sums, int64[figures, kinds], of figures of each stack, int64[figures, stacks]; what has no stack together.

    ``kind`` says what a frame needs to be charged: "no_line" then is for frames without such a place.
    """
    places = places_of(snapshot, kind)
    # a line has the kind of the frame that stands for it
    kinds = np.append(snapshot.frames.kind[places.frame], np.uint8(_NO_LINE))
    of_frame = kinds[np.minimum(places.of_frame, len(places.frame))]
    sums = np.zeros((len(of_stacks), len(KINDS)), np.int64)
    of_frames = by_charged_frame(snapshot, attribution, of_stacks)
    add_by(np.append(of_frame, NO_STACK).astype(np.uint32), of_frames, sums)
    return sums


def _bare_before_recording(snapshot: Snapshot) -> I64:
    """The figures of what was allocated before recording and has no stack, int64[4]."""
    sums = np.zeros(4, np.int64)
    bare = snapshot.stacks.label == NEVER
    for info in devices_of(snapshot.info):
        device = snapshot.device(info.device)
        rows = np.flatnonzero(bare[device.stack] & ((device.flags & BEFORE_FLAG) != 0))
        size, start, end = device.size[rows], device.start[rows], device.end[rows]
        at_peak = (start <= info.peak_moment) & (end > info.peak_moment)
        sums += [size.sum(), len(rows), size[at_peak].sum(), size[end > info.events].sum()]
    return sums


class ChargedLine(ChargedFigures, frozen=True):
    """The part of a snapshot that is charged to a source line."""

    file: str
    line: int
    function: str
    code: FrameKind


def charged_lines(
    snapshot: Snapshot, attribution: Attribution, most: int
) -> tuple[list[ChargedLine], ChargedFigures, int]:
    """The ``most`` lines that are charged the most, the sum of the rest, and how many lines that is.

    They are ordered by the larger of what was live at the peak and at the end, then by what they allocated in all.
    """
    figures = np.ascontiguousarray(stack_totals(snapshot)[:, [0, 1, 2, 4]].T)
    frames = snapshot.frames
    of_frames = by_charged_frame(snapshot, attribution, figures)[:, :-1]
    chosen = np.flatnonzero(of_frames.any(axis=0) & (frames.file != 0) & (frames.line > 0))
    keys = frames.file[chosen].astype(np.int64) << 32 | frames.line[chosen]
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    sums = np.zeros((len(figures), len(first)), np.int64)
    add_by(places.astype(np.uint32), np.take(of_frames, chosen, axis=1), sums)
    order = np.lexsort((-sums[0], -np.maximum(sums[2], sums[3])))[:most]
    numbers = chosen[first[order]].tolist()
    rows = frames.rows(numbers)
    lines = [
        ChargedLine(total, count, at_peak, at_end, file, line, function, KIND_NAMES[kind])
        for (file, line, function, kind), (total, count, at_peak, at_end) in zip(
            (rows[frame] for frame in numbers), sums[:, order].T.tolist(), strict=True
        )
    ]
    rest = figures.sum(axis=1) - sums[:, order].sum(axis=1)
    return lines, ChargedFigures(*rest.tolist()), len(first) - len(order)

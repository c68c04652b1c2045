"""The frame that each stack is charged to, and sums by charged line; see :mod:`memlens.model.attribution`."""

import numpy as np

from memlens.arrays import I64, U32
from memlens.kernels.tree.calltree import add_by
from memlens.model.attribution import Attribution
from memlens.model.timeline import NEVER
from memlens.store.charged import charged_by_rule
from memlens.store.kept import kept
from memlens.store.models import profile_of
from memlens.store.snapshot import Snapshot
from memlens.store.totals import stack_totals

CHARGED_AS: dict[str, Attribution] = {"by": "mine", "innermost": "any"}
"""The fields of a filter's terms that find what is charged to a place."""

FILTER_FIELD = {attribution: field for field, attribution in CHARGED_AS.items()}


def charged_frames(snapshot: Snapshot, attribution: Attribution) -> U32:
    """The frame that each stack is charged to; NEVER for a stack without frames."""
    if attribution == "mine":
        return snapshot.stacks.label
    return _charged_as_any_code(snapshot)


@kept
def _charged_as_any_code(snapshot: Snapshot) -> U32:
    return charged_by_rule(snapshot, "any")


OwnFigures = tuple[int, int, int]
"""What is charged to a source line, in figures that all models have: total bytes, count, bytes live at the peak."""

NOTHING: OwnFigures = (0, 0, 0)


@kept
def own_figures(snapshot: Snapshot, attribution: Attribution) -> dict[tuple[str, int], OwnFigures]:
    """The sums charged to each file and line that has any."""
    found = _by_line(snapshot, attribution, np.ascontiguousarray(stack_totals(snapshot)[:, :3].T))
    return {place: (total, count, at_peak) for place, (total, count, at_peak) in found.items()}


@kept
def own_values(snapshot: Snapshot, attribution: Attribution) -> dict[tuple[str, int], list[int]]:
    """The sums of each of a profile's values charged to each file and line that has any."""
    profile = profile_of(snapshot.info)
    stacks = snapshot.samples.stack
    sums = np.zeros((len(profile.values), len(snapshot.stacks.node)), np.int64)
    for number in range(len(sums)):
        add_by(stacks, snapshot.samples.value[number][np.newaxis], sums[number : number + 1])
    return _by_line(snapshot, attribution, sums)


def _by_line(
    snapshot: Snapshot, attribution: Attribution, of_stacks: I64
) -> dict[tuple[str, int], list[int]]:
    """Sums by file and line of figures of each stack, int64[figures, stacks]."""
    frames = snapshot.frames
    of_frames = by_charged_frame(snapshot, attribution, of_stacks)[:, :-1]
    chosen = np.flatnonzero(of_frames.any(axis=0) & (frames.file != 0) & (frames.line > 0))
    files, lines = frames.file[chosen], frames.line[chosen]
    _, first, places = np.unique(files.astype(np.int64) << 32 | lines, return_index=True, return_inverse=True)
    sums = np.zeros((len(of_stacks), len(first)), np.int64)
    add_by(places.astype(np.uint32), np.take(of_frames, chosen, axis=1), sums)
    keys = zip(snapshot.strings.texts(files[first]), lines[first].tolist(), strict=True)
    return dict(zip(keys, sums.T.tolist(), strict=True))


def by_charged_frame(snapshot: Snapshot, attribution: Attribution, of_stacks: I64) -> I64:
    """Sum figures of each stack, int64[figures, stacks], by the charged frame.

    The result is int64[figures, frames + 1]; the last column is for stacks without frames.
    """
    count = len(snapshot.frames)
    charged = charged_frames(snapshot, attribution)
    sums = np.zeros((len(of_stacks), count + 1), np.int64)
    add_by(np.where(charged == NEVER, np.uint32(count), charged), of_stacks, sums)
    return sums

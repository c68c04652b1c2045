"""What each stack and each source line of a snapshot is charged; see :mod:`memlens.model.attribution`."""

from typing import cast

import numpy as np
import numpy.typing as npt

from memlens.kernels.tree.calltree import add_by
from memlens.model.attribution import Attribution
from memlens.model.charging import charged, passed_over, ranks
from memlens.model.timeline import NEVER
from memlens.store.manifest import InconsistentError
from memlens.store.models import profile_of
from memlens.store.snapshot import FrameRow, Snapshot
from memlens.store.totals import stack_totals

U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]

CHARGED_AS: dict[str, Attribution] = {"by": "mine", "innermost": "any"}
"""The fields of a filter's terms that find what is charged to a place."""

FILTER_FIELD = {attribution: field for field, attribution in CHARGED_AS.items()}


def charged_frames(snapshot: Snapshot, attribution: Attribution) -> U32:
    """The frame that each stack is charged to; NEVER for a stack without frames."""
    if attribution == "mine":
        return snapshot.stacks.label
    return snapshot.derived("frames charged as any code", lambda: _innermost(snapshot))


def _innermost(snapshot: Snapshot) -> U32:
    rows = frame_rows(snapshot)
    model = snapshot.info.model
    passed = passed_over(((file, function, kind) for file, _, function, kind in rows), model)
    kinds = np.array([row[3] for row in rows], np.uint8)
    parents, frames = snapshot.tree.parent, snapshot.tree.frame
    return charged(parents, frames, snapshot.stacks.node, ranks(kinds, passed, "any", model))


def frame_rows(snapshot: Snapshot) -> list[FrameRow]:
    """All frames of a snapshot in the order of their numbers."""
    rows = snapshot.text.execute("SELECT file, line, function, kind FROM frames ORDER BY id")
    return cast("list[FrameRow]", rows.fetchall())


OwnFigures = tuple[int, int, int]
"""What is charged to a source line, in figures that all models have: total bytes, count, bytes live at the peak."""

NOTHING: OwnFigures = (0, 0, 0)


def own_figures(snapshot: Snapshot, attribution: Attribution) -> dict[tuple[str, int], OwnFigures]:
    """File and line to what is charged to it, of those that are charged anything."""

    def made() -> dict[tuple[str, int], OwnFigures]:
        found = _by_line(snapshot, attribution, np.ascontiguousarray(stack_totals(snapshot)[:, :3].T))
        return {place: (total, count, at_peak) for place, (total, count, at_peak) in found.items()}

    return snapshot.derived(f"own figures, {attribution}", made)


def own_values(snapshot: Snapshot, attribution: Attribution) -> dict[tuple[str, int], list[int]]:
    """File and line to what is charged to it of each value of a profile, of those that are charged anything."""
    return snapshot.derived(f"own values, {attribution}", lambda: _own_values(snapshot, attribution))


def _own_values(snapshot: Snapshot, attribution: Attribution) -> dict[tuple[str, int], list[int]]:
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
    rows = frame_rows(snapshot)
    charged = charged_frames(snapshot, attribution)
    if bool(((charged >= len(rows)) & (charged != NEVER)).any()):
        raise InconsistentError("A stack has an unknown frame")
    of_frames = np.zeros((len(of_stacks), len(rows)), np.int64)
    add_by(charged, of_stacks, of_frames)
    sums = of_frames.T
    found: dict[tuple[str, int], list[int]] = {}
    for number in np.flatnonzero(sums.any(axis=1)).tolist():
        file, line, _, _ = rows[number]
        if file and line > 0:
            before = found.get((file, line))
            own = sums[number].tolist()
            found[file, line] = own if before is None else [a + b for a, b in zip(before, own, strict=True)]
    return found

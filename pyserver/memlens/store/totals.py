"""What each stack of an archive comes to, in the figures that all models have."""

from typing import assert_never

import numpy as np
import numpy.typing as npt

from memlens.kernels.tree.calltree import add_by
from memlens.model.info import ProfileInfo, TimelineInfo
from memlens.model.profile import standing_for
from memlens.store.snapshot import Snapshot

I64 = npt.NDArray[np.int64]


def stack_totals(snapshot: Snapshot) -> I64:
    """``int64[stacks, 6]``: total bytes, count, bytes and count live at the peak, bytes live at the end, largest.

    Of a profile they are the values that come nearest, as :func:`memlens.model.profile.standing_for` has it.
    """
    info = snapshot.info
    match info:
        case TimelineInfo():
            return snapshot.trace.stack_totals
        case ProfileInfo():
            return snapshot.derived("stack totals", lambda: _of_samples(snapshot, info))
        case _:
            assert_never(info)


def _of_samples(snapshot: Snapshot, info: ProfileInfo) -> I64:
    stacks = snapshot.samples.stack
    totals = np.zeros((6, len(snapshot.stacks.node)), np.int64)
    figures = (("total", "bytes"), ("total", "count"), ("peak", "bytes"), ("peak", "count"), ("end", "bytes"))
    for place, (figure, unit) in enumerate(figures):
        number = standing_for(info.values, figure, unit)
        if number is None and figure != "end" and unit == "bytes":
            number = info.default_value
        if number is not None:
            add_by(stacks, snapshot.samples.value[number][np.newaxis], totals[place : place + 1])
    if info.has_sizes:
        np.maximum.at(totals[5], stacks.astype(np.intp), snapshot.samples.size)
    return totals.T

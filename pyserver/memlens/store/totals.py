"""What each stack of an archive comes to, in the figures that all models have."""

from typing import assert_never

import numpy as np
import numpy.typing as npt

from memlens.kernels.tree.calltree import add_by
from memlens.model.info import ProfileInfo, TimelineInfo
from memlens.model.profile import standing_for
from memlens.store.manifest import InconsistentError
from memlens.store.snapshot import Snapshot

I64 = npt.NDArray[np.int64]


def stack_totals(snapshot: Snapshot) -> I64:
    """``int64[stacks, 6]``: total bytes, count, bytes and count live at the peak, bytes live at the end, largest.

    Of a profile they are the values that come nearest, as :func:`memlens.model.profile.standing_for` has it.
    """
    info = snapshot.info
    match info:
        case TimelineInfo():
            found: I64 = snapshot.column("stack_totals").reshape(-1, 6)
            return found
        case ProfileInfo():
            return snapshot.derived("stack totals", lambda: _of_samples(snapshot, info))
        case _:
            assert_never(info)


def _of_samples(snapshot: Snapshot, info: ProfileInfo) -> I64:
    stacks = snapshot.column("sample_stack")
    totals = np.zeros((6, len(snapshot.column("stack_node"))), np.int64)
    if len(stacks) and int(stacks.max()) >= totals.shape[1]:
        raise InconsistentError("A sample has an unknown stack")
    figures = (("total", "bytes"), ("total", "count"), ("peak", "bytes"), ("peak", "count"), ("end", "bytes"))
    for place, (figure, unit) in enumerate(figures):
        number = standing_for(info.values, figure, unit)
        if number is None and figure != "end" and unit == "bytes":
            number = info.default_value
        if number is not None:
            values = snapshot.column(f"sample_value.{number}")
            if len(values) != len(stacks):
                raise InconsistentError("Some samples lack a value")
            add_by(stacks, values[np.newaxis], totals[place : place + 1])
    if info.has_sizes:
        np.maximum.at(totals[5], stacks.astype(np.intp), snapshot.column("sample_size"))
    return totals.T

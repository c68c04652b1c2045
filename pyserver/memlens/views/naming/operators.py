"""The operator that each stack names."""

import numpy as np
import numpy.typing as npt

from memlens.kernels.tree import grouping as kernel
from memlens.model.frames import NATIVE, is_operator_entry, operator_of
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot


def operators_of_stacks(snapshot: Snapshot) -> tuple[npt.NDArray[np.uint32], list[str]]:
    """For each stack the number of the operator that its frames name, NEVER for none; and the operators' names.

    The rule is that of :func:`memlens.views.selection.columns.operator_of_stack`, for all stacks at once: the outermost
    of the native frames on top says what was asked for, entries of operators before kernels.
    """
    names: dict[str, int] = {}
    parents, frames = snapshot.tree.parent, snapshot.tree.frame
    highest = int(snapshot.text.execute("SELECT coalesce(max(id), 0) FROM frames").get)
    entries, kernels = (np.full(highest + 2, NEVER, np.uint32) for _ in range(2))
    python = np.zeros(highest + 2, np.uint8)
    for row, function, kind in snapshot.text.execute("SELECT id, function, kind FROM frames"):
        if kind != NATIVE:
            python[row] = 1
            continue
        name = operator_of([function])
        if name is not None:
            table = entries if is_operator_entry(function) else kernels
            table[row] = names.setdefault(name, len(names))
    found = np.full(len(parents), NEVER, np.uint32)
    # the root has no frame; what is out of range in a damaged archive names nothing
    numbers = np.minimum(frames, highest + 1)
    for table in (kernels, entries):
        above = np.empty(len(parents), np.uint32)
        kernel.farthest_above(parents, table[numbers], python[numbers], above)
        found = np.where(above != NEVER, above, found)
    return found[snapshot.stacks.node], list(names)

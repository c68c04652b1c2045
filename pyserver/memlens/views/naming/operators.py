"""The operator of each stack."""

import numpy as np

from memlens.arrays import U32
from memlens.kernels.tree import grouping as kernel
from memlens.model.frames import NATIVE
from memlens.model.timeline import NEVER
from memlens.packs import registry
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot


@kept
def operators_of_stacks(snapshot: Snapshot) -> tuple[U32, list[str]]:
    """For each stack the number of the operator that its frames name, NEVER for none; and the operators' names.

    The rule is that of :func:`memlens.views.selection.columns.operator_of_stack`, for all stacks at once: the outermost
    of the native frames on top names the operator, entries of operators before kernels.
    """
    names: dict[str, int] = {}
    known = registry.operators()
    parents, frames = snapshot.tree.parent, snapshot.tree.frame
    python = snapshot.frames.kind != NATIVE
    native = np.flatnonzero(~python)
    functions, function_of = np.unique(snapshot.frames.function[native], return_inverse=True)
    of_functions = np.full((2, len(functions)), NEVER, np.uint32)
    for row, function in enumerate(snapshot.strings.texts(functions)):
        name = known.operator_of([function])
        if name is not None:
            of_functions[int(known.is_entry(function)), row] = names.setdefault(name, len(names))
    found = np.full(len(parents), NEVER, np.uint32)
    # the root has no frame
    of_nodes = np.minimum(frames, len(python))
    barriers = np.append(python, False)[of_nodes].astype(np.uint8)
    for of_function in of_functions:
        of_frames = np.full(len(python) + 1, NEVER, np.uint32)
        of_frames[native] = of_function[function_of]
        above = np.empty(len(parents), np.uint32)
        kernel.farthest_above(parents, of_frames[of_nodes], barriers, above)
        found = np.where(above != NEVER, above, found)
    return found[snapshot.stacks.node], list(names)

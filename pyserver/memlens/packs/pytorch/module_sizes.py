"""Infer the ``torch.nn`` module of parameters, gradients and optimizer state from before recording.

Such memory has no stack, but gradients that are allocated while recording lead to a module: the backward operator that
allocated a gradient is paired with its forward operator, as ``forward.py`` does for lines, and the
forward operator's stack has the module. A copy by ``AccumulateGrad`` has the module of its source, the last block of
that size before it. A gradient has its parameter's size, so the blocks of that size belong to that module if

* every gradient of the size leads to the same module. Those of the first backward don't count if there are later ones,
  since the recording may have begun after their forward;
* all blocks of the size from before recording have an inferred category, and of each category
  (see ``categories.py``) there are as many as gradients, or a multiple if it may be optimizer state.

So an embedding and a last layer of the same size have no module; nor has a size with a gradient that leads to no
module, as those of sums and casts do. A module's path is as reliable as that of any stack
(``modules.py``).

Accuracy: no module is wrong in recordings whose known beginnings were cut off
(``tests/python/test_before_recording.py``). But a frozen copy has the same sizes as its model, so every name says that
it is inferred.
"""

import numpy as np
import numpy.typing as npt

from memlens.arrays import I32, I64, U8, U32, Mask
from memlens.kernels.trace import timeline as kernel
from memlens.model.timeline import NEVER, NO_CATEGORY, DeviceTimeline, stacks_of_frees
from memlens.packs.pytorch.categories import EITHER, GRADIENT, MOST_COPIES, PARAMETER, STATE, Callers
from memlens.packs.pytorch.forward import infer_forward


def infer_modules(
    device: DeviceTimeline,
    callers: Callers,
    roles: U8,
    operators: I32,
    stack_modules: U32,
) -> U32:
    """Return the number of the inferred module of each allocation, 0 for none.

    ``roles`` and ``operators`` are the results of :func:`memlens.packs.pytorch.forward.operators_of`.
    """
    rows = device.allocations
    inferred = np.zeros(len(rows), np.uint32)
    early = (rows["flags"] & kernel.BEFORE_TRACE) != 0
    named = early & (rows["category"] != NO_CATEGORY)
    if not named.any() or not roles.any():
        return inferred
    modules = np.zeros(len(rows), np.uint32)
    modules[~early] = infer_forward(rows["stack"][~early], roles, operators, stack_modules)
    modules[modules == NEVER] = 0
    _follow_copies(rows, np.flatnonzero(~early), callers.accumulating, modules)
    size, category = rows["size"], rows["category"]
    live, later = _gradients(device, early, callers)
    # the beginning of the first backward may be missing; a later one is complete
    evidence = np.where(np.isin(size, size[later]), later, live & ~early)
    order = np.flatnonzero(evidence)
    order = order[np.argsort(size[order], kind="stable")]
    sizes, first, counts = np.unique(size[order], return_index=True, return_counts=True)
    if not len(sizes):
        return inferred
    least = np.minimum.reduceat(modules[order], first)
    agreed = (least == np.maximum.reduceat(modules[order], first)) & (least != 0)
    alive = live & np.isin(size, sizes)
    parameters = np.bincount(np.searchsorted(sizes, size[alive]), minlength=len(sizes))
    before = np.flatnonzero(early & np.isin(size, sizes))
    place = np.searchsorted(sizes, size[before])
    held = np.zeros((len(sizes), 256), np.int64)
    np.add.at(held, (place, category[before]), 1)
    agreed &= (parameters > 0) & (counts >= parameters) & _explained(held, np.maximum(parameters, 1))
    of_module = agreed[place]
    inferred[before[of_module]] = least[place[of_module]]
    return inferred


def _follow_copies(rows: npt.NDArray[np.void], late: I64, accumulating: Mask, modules: U32) -> None:
    """Give copies by ``AccumulateGrad`` the module of their source: the last block of that size before them."""
    # allocations are in the order of the trace; a stable sort keeps it within a size
    order = late[np.argsort(rows["size"][late], kind="stable")]
    copy, source = order[1:], order[:-1]
    taken = (
        accumulating[rows["stack"][copy]]
        & ~accumulating[rows["stack"][source]]
        & (rows["size"][copy] == rows["size"][source])
        & (rows["end"][source] > rows["start"][copy])
        & (rows["end"][source] < rows["end"][copy])
    )
    modules[copy[taken]] = modules[source[taken]]


def _gradients(device: DeviceTimeline, early: Mask, callers: Callers) -> tuple[Mask, Mask]:
    """Return masks of the gradients live at the beginning of the first step, or at the end; and of the later ones."""
    rows, events = device.allocations, device.events
    by_step = ~early & callers.stepping[rows["stack"]]
    begins = int(rows["start"][by_step].min()) if by_step.any() else len(events.action)
    made = early & (rows["category"] == GRADIENT) | ~early & ~by_step
    freed = stacks_of_frees(events.action, device.owners, events.stack, len(rows))
    lasting = (rows["end"] == NEVER) | callers.zeroing[freed]
    live = made & (rows["start"] <= begins) & (rows["end"] >= begins)
    return live, ~early & made & lasting & (rows["start"] > begins)


def _explained(held: I64, gradients: I64) -> Mask:
    """Return whether the blocks of each size, by category, match as many parameters as there are gradients."""
    fits: Mask = held.sum(1) == held[:, [GRADIENT, STATE, PARAMETER, EITHER]].sum(1)
    for category, most in ((GRADIENT, 1), (PARAMETER, 1), (STATE, MOST_COPIES - 1), (EITHER, MOST_COPIES)):
        fits &= (held[:, category] % gradients == 0) & (held[:, category] <= most * gradients)
    return fits

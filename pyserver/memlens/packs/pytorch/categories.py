"""Infer the category of memory that was allocated before recording.

Such memory has no stack, but its size is known, and so is the place where it was freed, if it was. In files without
categories of their own the following is inferred, only for what was allocated before recording:

* *gradient*: freed directly by a function ``zero_grad`` (its innermost Python frame), as with ``set_to_none``.
* *parameter*: never freed, and of a size with as many gradients as such allocations. The gradients are those above or,
  if there are none, what was allocated while recording outside the optimizer and was live when its first step began.
* *parameter or optimizer state*: the same with two to four such allocations per gradient: the parameter and its
  optimizer state (one with momentum, two with Adam).
* *parameter or optimizer state* is also what was freed directly by an optimizer's ``step``, which PyTorch's optimizers
  call through ``wrapper`` of ``torch/optim/optimizer.py``, if the same function made as many lasting allocations of
  that size: it replaced them, as hand-written optimizers do (PyTorch's own work in place). The same is inferred for
  what was never freed and has the stack of a ``step``, from an earlier recording.
* *optimizer state*: the same if the parameters of that size are known, so that ``step`` can't have made them.

Memory that is never freed is classified by size, if its count is a multiple of the number of gradients, and only if
the multiple is the same for the sizes of three quarters of the file's gradients, because counts may agree by accident.
Buffers may share small sizes, whose counts are then no multiples. Allocations that match no rule have no category.

Accuracy: no category is wrong in recordings whose known beginnings were cut off
(``tests/python/test_before_recording.py``). But a frozen copy of a model can't be distinguished from its parameters, so
the name of each category says that it is inferred.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from memlens.arrays import I64, U8, Mask
from memlens.kernels.trace import timeline as kernel
from memlens.model.frames import NATIVE, Frames
from memlens.model.timeline import NEVER, NO_CATEGORY, DeviceTimeline, stacks_of_frees

INFERRED_CATEGORIES = (
    "gradient (inferred)",
    "optimizer_state (inferred)",
    "parameter (inferred)",
    "parameter_or_optimizer_state (inferred)",
)
GRADIENT, STATE, PARAMETER, EITHER = range(4)
MOST_COPIES = 4
_ENOUGH = 0.75


class Callers(NamedTuple):
    """Masks of the stacks in ``zero_grad`` itself, in an optimizer's step itself, and in ``AccumulateGrad``."""

    zeroing: Mask
    stepping: Mask
    accumulating: Mask


def has_early(device: DeviceTimeline) -> bool:
    """Return whether a device has a trace and allocations from before it."""
    early = (device.allocations["flags"] & kernel.BEFORE_TRACE) != 0
    return bool(early.any()) and len(device.events.action) > 0


def infer_categories(callers: Callers, devices: Sequence[DeviceTimeline]) -> list[str]:
    """Write inferred categories into the devices' category columns, and return the names of their numbers.

    For files without categories whose frees have stacks. The list is empty if nothing is inferred.
    """
    inferred = False
    for device in filter(has_early, devices):
        rows = device.allocations
        categories = _categories(device, callers)
        rows["category"] = np.where(categories == NO_CATEGORY, rows["category"], categories)
        inferred = inferred or bool((categories != NO_CATEGORY).any())
    return list(INFERRED_CATEGORIES) if inferred else []


def callers_of(frames: Frames) -> Callers:
    """Classify stacks by the names and files of their frames."""
    names = [frame.function.rpartition(".")[2] for frame in frames.frames]
    paths = [frame.file.replace("\\", "/") for frame in frames.frames]
    zero_grad = np.fromiter((name == "zero_grad" for name in names), bool, len(names))
    optimizer = np.fromiter(("torch/optim/" in path for path in paths), bool, len(names))
    step = optimizer | np.fromiter((name == "step" for name in names), bool, len(names))
    wrapper = np.fromiter(
        (
            name == "wrapper" and path.endswith("torch/optim/optimizer.py")
            for name, path in zip(names, paths, strict=True)
        ),
        bool,
        len(names),
    )
    of_place = frames.stack_of_places()
    python = np.flatnonzero(frames.kinds[frames.sequence] != NATIVE)
    # frames are innermost first
    stacks, first = np.unique(of_place[python], return_index=True)
    innermost = frames.sequence[python[first]]
    zeroing, stepping = np.zeros((2, len(frames.starts) - 1), bool)
    zeroing[stacks] = zero_grad[innermost]
    stepping[stacks] = step[innermost] & ~zero_grad[innermost]
    accumulate = np.array(
        ["torch::autograd::AccumulateGrad::" in frame.function for frame in frames.frames], bool
    )
    return Callers(zeroing, stepping & frames.stacks_with(wrapper), frames.stacks_with(accumulate))


def _categories(device: DeviceTimeline, callers: Callers) -> U8:
    """Return the category of each allocation of a device."""
    rows, events = device.allocations, device.events
    zeroing, stepping, _ = callers
    early = (rows["flags"] & kernel.BEFORE_TRACE) != 0
    categories = np.full(len(rows), NO_CATEGORY, np.uint8)
    freed = stacks_of_frees(events.action, device.owners, events.stack, len(rows))
    size = rows["size"]
    gradient = early & zeroing[freed]
    categories[gradient] = GRADIENT
    by_step = ~early & stepping[rows["stack"]]
    if not gradient.any() and by_step.any():
        begins = int(rows["start"][by_step].min())
        gradient = ~early & ~by_step & (rows["start"] < begins) & (rows["end"] >= begins)
    kept = np.flatnonzero(early & (rows["end"] == NEVER) & (rows["flags"] & kernel.PENDING_FREE == 0))
    # blocks may have stacks from an earlier recording
    made_by_step = stepping[rows["stack"][kept]]
    of_step, kept = kept[made_by_step], kept[~made_by_step]
    sizes, copies = _copies(size[kept], size[gradient])
    categories[kept[np.isin(size[kept], sizes)]] = PARAMETER if copies == 1 else EITHER
    replaced = np.flatnonzero(early & stepping[freed])
    left = size[by_step & (rows["end"] == NEVER)]
    replaced = replaced[_count(size[replaced], left) >= _count(size[replaced], size[replaced])]
    of_step = np.concatenate((of_step, replaced))
    # an optimizer may replace parameters as well
    categories[of_step] = EITHER
    if copies == 1:
        categories[of_step[np.isin(size[of_step], sizes)]] = STATE
    return categories


def _copies(kept: I64, gradients: I64) -> tuple[I64, int]:
    """Return the sizes whose lasting allocations are a multiple of the gradients, and the multiple."""
    sizes, counts = np.unique(gradients, return_counts=True)
    many, rest = np.divmod(_count(sizes, kept), counts)
    many[(rest != 0) | (many > MOST_COPIES)] = 0
    agreeing = np.bincount(many, weights=counts, minlength=2)
    agreeing[0] = 0
    best = int(np.argmax(agreeing))
    if not len(sizes) or agreeing[best] < _ENOUGH * len(gradients):
        return sizes[:0], 0
    return sizes[many == best], best


def _count(sizes: I64, among: I64) -> I64:
    """Return how often each of ``sizes`` is in ``among``."""
    ordered = np.sort(among)
    return np.searchsorted(ordered, sizes, "right") - np.searchsorted(ordered, sizes, "left")

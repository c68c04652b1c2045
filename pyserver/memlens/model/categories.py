"""What memory from before recording probably holds, where the file doesn't tell.

Such memory has no stack, but it has a size and an end: where it was freed, or that it never was. Of files without
categories of their own the following is inferred, for what was allocated before recording and for nothing else:

* *gradient*: freed by a function ``zero_grad`` itself (its innermost line of Python is one), as with ``set_to_none``.
* *parameter*: never freed, and of a size of which there are as many gradients. These are the ones above or, where there
  are none, what was allocated while recording outside of the optimizer and was live when its first step began.
* *parameter or optimizer state*: the same, where for each gradient there are two to four: the parameter, and what an
  optimizer keeps for it (one with momentum, two with Adam).
* *parameter or optimizer state*, too: freed by an optimizer's ``step`` itself, which PyTorch's optimizers call through
  ``wrapper`` of ``torch/optim/optimizer.py``, where the same function left behind as many new allocations of that size:
  it replaced them, as optimizers do that are written by hand. Those of PyTorch work in place.
  So is what was never freed and has the stack of a ``step`` itself, from an earlier recording.
* *optimizer state*: the same, where the parameters of that size are known and so can't be what ``step`` made.

What is never freed is judged by size, where its count is a multiple of the gradients'; and in a file only if the
multiple is the same for the sizes of three quarters of the gradients, or counts could agree by accident. Small sizes
share theirs with buffers, whose counts then don't come out even. What no rule is sure of has no category.

How often that is right: of recordings whose beginnings are known and were cut off, no category is wrong
(``tests/python/test_before_recording.py``). But nothing in the numbers tells a frozen copy of a model from its
parameters; so it is a guess, and every name of a category says so.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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
    """Which stacks are of ``zero_grad`` itself, of an optimizer's step itself, or of autograd's ``AccumulateGrad``."""

    zeroing: npt.NDArray[np.bool_]
    stepping: npt.NDArray[np.bool_]
    accumulating: npt.NDArray[np.bool_]


def has_early(device: DeviceTimeline) -> bool:
    """Whether a device has a trace, and allocations from before it."""
    early = (device.allocations["flags"] & kernel.BEFORE_TRACE) != 0
    return bool(early.any()) and len(device.events.action) > 0


def infer_categories(callers: Callers, devices: Sequence[DeviceTimeline]) -> list[str]:
    """Write what is inferred into the devices' category columns; return the names that the numbers there mean.

    It is for files without categories whose frees have stacks of their own. The list is empty if nothing is inferred.
    """
    inferred = False
    for device in filter(has_early, devices):
        rows = device.allocations
        categories = _categories(device, callers)
        rows["category"] = np.where(categories == NO_CATEGORY, rows["category"], categories)
        inferred = inferred or bool((categories != NO_CATEGORY).any())
    return list(INFERRED_CATEGORIES) if inferred else []


def callers_of(frames: Frames) -> Callers:
    """Tell by the names and files of their frames which stacks free gradients or are of an optimizer."""
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
    # frames stand innermost first
    stacks, first = np.unique(of_place[python], return_index=True)
    innermost = frames.sequence[python[first]]
    zeroing, stepping = np.zeros((2, len(frames.starts) - 1), bool)
    zeroing[stacks] = zero_grad[innermost]
    stepping[stacks] = step[innermost] & ~zero_grad[innermost]
    accumulate = np.array(
        ["torch::autograd::AccumulateGrad::" in frame.function for frame in frames.frames], bool
    )
    return Callers(zeroing, stepping & frames.stacks_with(wrapper), frames.stacks_with(accumulate))


def _categories(device: DeviceTimeline, callers: Callers) -> npt.NDArray[np.uint8]:
    """The category of each allocation of a device."""
    rows, events = device.allocations, device.events
    zeroing, stepping, _ = callers
    early = (rows["flags"] & kernel.BEFORE_TRACE) != 0
    found = np.full(len(rows), NO_CATEGORY, np.uint8)
    freed = stacks_of_frees(events.action, device.owners, events.stack, len(rows))
    size = rows["size"]
    gradient = early & zeroing[freed]
    found[gradient] = GRADIENT
    by_step = ~early & stepping[rows["stack"]]
    if not gradient.any() and by_step.any():
        begins = int(rows["start"][by_step].min())
        gradient = ~early & ~by_step & (rows["start"] < begins) & (rows["end"] >= begins)
    kept = np.flatnonzero(early & (rows["end"] == NEVER) & (rows["pending"] == 0))
    # an earlier recording may have left stacks with blocks
    made_by_step = stepping[rows["stack"][kept]]
    of_step, kept = kept[made_by_step], kept[~made_by_step]
    sizes, copies = _copies(size[kept], size[gradient])
    found[kept[np.isin(size[kept], sizes)]] = PARAMETER if copies == 1 else EITHER
    replaced = np.flatnonzero(early & stepping[freed])
    left = size[by_step & (rows["end"] == NEVER)]
    replaced = replaced[_count(size[replaced], left) >= _count(size[replaced], size[replaced])]
    of_step = np.concatenate((of_step, replaced))
    # an optimizer may replace the parameters, too
    found[of_step] = EITHER
    if copies == 1:
        found[of_step[np.isin(size[of_step], sizes)]] = STATE
    return found


def _copies(
    kept: npt.NDArray[np.int64], gradients: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], int]:
    """How many were kept for each gradient, and the sizes for which that is sure."""
    sizes, counts = np.unique(gradients, return_counts=True)
    many, rest = np.divmod(_count(sizes, kept), counts)
    many[(rest != 0) | (many > MOST_COPIES)] = 0
    agreeing = np.bincount(many, weights=counts, minlength=2)
    agreeing[0] = 0
    best = int(np.argmax(agreeing))
    if not len(sizes) or agreeing[best] < _ENOUGH * len(gradients):
        return sizes[:0], 0
    return sizes[many == best], best


def _count(sizes: npt.NDArray[np.int64], among: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How often each of some sizes is among others."""
    ordered = np.sort(among)
    return np.searchsorted(ordered, sizes, "right") - np.searchsorted(ordered, sizes, "left")

"""What the backward pass leaves without a line of the program: gradients."""

import numpy as np

from memlens.arrays import Mask
from memlens.model.frames import NATIVE
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.texts import Text, phrase
from memlens.views.selection.through import stacks_through

ENGINE = "torch::autograd::Engine::evaluate_function"
"""What runs each node of the backward pass."""


def left_by_backward(snapshot: Snapshot, device: Device, operator: str) -> tuple[Mask, Text]:
    """Mask of the rows that the backward pass left, and what those of an operator are called."""
    return _left(snapshot, device), phrase("gradients ({operator})", operator=operator)


def _left(snapshot: Snapshot, device: Device) -> Mask:
    """Mask of the device's rows that the backward pass left."""
    found = _left_of_whole(snapshot, device.info.device)
    return found if device.rows is None else found[device.rows]


@kept
def _left_of_whole(snapshot: Snapshot, number: int) -> Mask:
    """Mask of the rows that the backward pass allocated, outside of Python, and that outlive it.

    These are gradients: the engine frees all others that it makes before ``backward()`` returns, and
    ``AccumulateGrad`` keeps the first gradient of a parameter as it is, so that the operator's own allocation stays.
    A pass has ended when Python next allocates outside of the engine.
    """
    whole = snapshot.device(number)
    engine = stacks_through(snapshot, snapshot.frames.in_function(lambda name: name.startswith(ENGINE)))
    label = snapshot.stacks.label
    has_python = np.zeros(len(label), bool)
    known = label != NEVER
    has_python[known] = snapshot.frames.kind[label[known]] != NATIVE
    made: Mask = (engine & ~has_python)[whole.stack]
    if not made.any():
        return made
    outside = np.sort(whole.start[(has_python & ~engine)[whole.stack]])
    # what was there before recording started before all of them
    next_outside = np.append(outside, NEVER)[np.searchsorted(outside, whole.start, "right")]
    made &= (next_outside != NEVER) & (whole.end > next_outside)
    return made

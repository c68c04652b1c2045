"""The line that represents an allocation, and how it is known."""

import numpy as np

from memlens.arrays import U8, U32
from memlens.kernels.trace.timeline import NEVER
from memlens.model.attribution import Attribution
from memlens.model.frames import INFERRED, RECORDED
from memlens.store.snapshot import Snapshot
from memlens.store.trace.device import Device
from memlens.views.naming.attribution import charged_frames


def labels_of(
    snapshot: Snapshot, device: Device, rows: U32, attribution: Attribution = "mine"
) -> tuple[U32, U8]:
    """The frame that represents each of some allocations, and how it is known, as indices of ``SOURCE_NAMES``.

    It is the innermost frame of the user in the allocation's stack (with the frames that ``forward_frames`` and FX
    traces add to it), else the innermost Python one. If there are only C++ frames it is the inferred forward line, if
    there is one, else the innermost C++ frame. NEVER for an allocation without frames. With "any" code it is the
    innermost Python frame of the stack.
    """
    frames = charged_frames(snapshot, attribution)[device.stack[rows]]
    known = frames != NEVER
    of_frame = snapshot.frames.source
    sources = np.full(len(frames), RECORDED, np.uint8)
    sources[known] = of_frame[frames[known]]
    if device.inferred is not None:
        guesses = device.inferred[rows]
        guessed = guesses != NEVER
        frames = np.where(guessed, guesses, frames).astype(np.uint32)
        sources[guessed] = INFERRED
    return frames, sources

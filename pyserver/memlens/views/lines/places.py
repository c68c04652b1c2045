"""Places in code: the frames of one source line, one function or one file as a group."""

from typing import Literal, NamedTuple

import numpy as np

from memlens.arrays import U32
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot

PlaceKind = Literal["line", "function", "file"]


class Places(NamedTuple):
    """The place of each frame, NEVER for a frame without one; and a frame of each place, a recorded one if possible.

    A line needs a file and a number, a function its name.
    """

    of_frame: U32
    frame: U32


@kept
def places_of(snapshot: Snapshot, kind: PlaceKind) -> Places:
    """The places of a snapshot's frames."""
    frames = snapshot.frames
    keys = frames.file.astype(np.int64)
    if kind == "function":
        known = frames.function != 0
        keys = keys << 32 | frames.function
    else:
        known = frames.file != 0
    if kind == "line":
        known &= frames.line > 0
        keys = keys << 32 | frames.line
    # RECORDED is the lowest source
    chosen = np.argsort(frames.source, kind="stable")
    chosen = chosen[known[chosen]]
    _, first, numbers = np.unique(keys[chosen], return_index=True, return_inverse=True)
    of_frame = np.full(len(frames), NEVER, np.uint32)
    of_frame[chosen] = numbers
    return Places(of_frame, chosen[first].astype(np.uint32))

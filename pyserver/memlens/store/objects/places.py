"""Which line of source an object has: that of its definition or its class's, else the one that allocated it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.model.timeline import NEVER
from memlens.store.objects.columns import ObjectColumns

U32 = npt.NDArray[np.uint32]


def place_frames(objects: ObjectColumns, charged: U32, chosen: npt.NDArray[Any]) -> U32:
    """The frame of each of some objects, NEVER where none is known.

    ``charged`` is the frame to which each stack is charged: objects are allocated there.
    """
    stacks, places = objects.stack, objects.places
    if stacks is None:
        found: U32 = np.full(len(chosen), NEVER, np.uint32)
    else:
        found = charged[stacks[chosen]].astype(np.uint32)
    if len(places):
        at = np.minimum(np.searchsorted(places["object"], chosen), len(places) - 1)
        known = places["object"][at] == chosen
        found[known] = places["frame"][at[known]]
    return found

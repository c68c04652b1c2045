"""When objects were allocated, in recordings that took samples while they ran."""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64
from memlens.store.objects.columns import ObjectColumns

UNKNOWN = -1
"""For an object that existed before the recording, or for which the file has no moment."""


def allocated_us(objects: ObjectColumns, part: slice) -> I64:
    """The time before which each of some objects was allocated, in microseconds since the recording began, or UNKNOWN.

    Such recorders number objects as they are allocated: one is from the interval before the first moment whose highest
    id isn't lower.
    """
    moments: npt.NDArray[Any] = objects.moments
    ids = objects.id[part]
    at = np.searchsorted(moments["last_id"], ids, side="left")
    known = (at > 0) & (at < len(moments))
    found = np.full(len(ids), UNKNOWN, np.int64)
    found[known] = moments["time_us"][at[known]].astype(np.int64)
    return found

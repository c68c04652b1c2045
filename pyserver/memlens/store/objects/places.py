"""The source line of an object: that of its definition or its class's, else the one that allocated it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32
from memlens.model.timeline import NEVER
from memlens.store.objects.columns import ObjectColumns

_FEW = 10_000


def first_at_least(column: npt.NDArray[Any], values: npt.NDArray[Any]) -> I64:
    """For each value the index of the first item of an ascending column that is at least the value.

    NumPy's search copies the whole column of a table, which takes longer than searching for a few values.
    """
    if len(values) > _FEW or not len(column):
        return np.searchsorted(column, values).astype(np.int64)
    low = np.zeros(len(values), np.int64)
    high = np.full(len(values), len(column), np.int64)
    for _ in range(len(column).bit_length()):
        middle = (low + high) >> 1
        is_open = low < high
        is_less = is_open & (column[np.minimum(middle, len(column) - 1)] < values)
        low = np.where(is_less, middle + 1, low)
        high = np.where(is_open & ~is_less, middle, high)
    return low


def place_frames(objects: ObjectColumns, charged: U32, chosen: npt.NDArray[Any]) -> U32:
    """The frame of each of some objects, NEVER if none is known.

    ``charged`` is the frame to which each stack is charged, where its objects were allocated.
    """
    stacks, places = objects.stack, objects.places
    if stacks is None:
        found: U32 = np.full(len(chosen), NEVER, np.uint32)
    else:
        found = charged[stacks[chosen]].astype(np.uint32)
    if len(places):
        at = np.minimum(first_at_least(places["object"], chosen), len(places) - 1)
        known = places["object"][at] == chosen
        found[known] = places["frame"][at[known]]
    return found


def class_frames(objects: ObjectColumns, classes: U32) -> U32:
    """The frame at which each of some class objects is defined, NEVER where that isn't known."""
    places, found = objects.places, np.full(len(classes), NEVER, np.uint32)
    if len(places):
        at = np.minimum(first_at_least(places["object"], classes), len(places) - 1)
        known = places["object"][at] == classes
        found[known] = places["frame"][at[known]]
    return found

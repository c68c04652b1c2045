"""Memory outside of the heap that objects own, and what they retain of it: in few dumps, and there of few objects."""

from typing import Any

import numpy as np
import numpy.typing as npt

from memlens.store.objects.places import first_at_least
from memlens.store.snapshot import Snapshot

Numbers = npt.NDArray[Any]


def has_native(snapshot: Snapshot) -> bool:
    """Whether the dump says of any object that it owns such memory."""
    return len(snapshot.objects.owned) > 0


def native_bytes(snapshot: Snapshot, chosen: Numbers) -> tuple[Numbers, Numbers]:
    """What each of some objects owns, and what it retains."""
    owned = snapshot.objects.owned
    own, retained = np.zeros(len(chosen), np.uint64), np.zeros(len(chosen), np.uint64)
    if len(owned):
        at = np.minimum(first_at_least(owned["object"], chosen), len(owned) - 1)
        known = owned["object"][at] == chosen
        own[known], retained[known] = owned["native"][at[known]], owned["retained"][at[known]]
    return own, retained


def native_columns(snapshot: Snapshot) -> tuple[Numbers, Numbers]:
    """The same with an item for each object. What is 0 takes no memory until it is written to."""
    owned, count = snapshot.objects.owned, len(snapshot.objects.type)
    own, retained = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
    own[owned["object"]], retained[owned["object"]] = owned["native"], owned["retained"]
    return own, retained

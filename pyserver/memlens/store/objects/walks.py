"""Steps along a heap dump's dominators that end, whatever its archive says.

An archive's columns are each as declared, but nothing that one of them says is evidence for another: an object may be
said to dominate itself. Objects are in nodes of the compact tree, and what dominates an object is in a node with a
lower number (:class:`memlens.store.objects.columns.CompactColumns`). So walks that check this at each step have an end.
"""

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64
from memlens.model.graph import NONE
from memlens.model.spans import spans
from memlens.store.manifest import InconsistentError
from memlens.store.objects.columns import ObjectColumns


def dominators_of(objects: ObjectColumns, numbers: npt.NDArray[np.integer]) -> I64:
    """The immediate dominator of each object; NONE for objects without one. Raises :class:`InconsistentError`."""
    found: I64 = objects.dominator[numbers].astype(np.int64)
    known = found != NONE
    node = objects.items(ObjectColumns.group, numbers[known])
    if bool((objects.items(ObjectColumns.group, found[known]) >= node).any()):
        raise InconsistentError("Column object_dominator has an object that isn't above another")
    return found


def dominator_of(objects: ObjectColumns, number: int) -> int:
    """The same for one object."""
    return int(dominators_of(objects, np.array([number], np.int64))[0])


def dominated_by(objects: ObjectColumns, numbers: npt.NDArray[np.integer]) -> I64:
    """The objects that some objects immediately dominate, one group after the other.

    Raises :class:`InconsistentError`.
    """
    begins = objects.dominated_start[numbers].astype(np.int64)
    counts = objects.dominated_start[numbers.astype(np.int64) + 1].astype(np.int64) - begins
    if int(counts.sum()) > len(objects.dominated):
        raise InconsistentError("Column object_dominated has objects more than once")
    found: I64 = objects.dominated[spans(begins, counts)].astype(np.int64)
    if bool((objects.dominator[found] != np.repeat(numbers, counts)).any()):
        raise InconsistentError("Column object_dominated has objects that others dominate")
    return found

"""Dominators and retained bytes within the reachable heap.

Some formats count what unreachable objects hold as well: an object that one of them refers to is
dominated by the root alone, and adds nothing to what reachable objects retain. What would be freed is another question,
as unreachable objects keep nothing alive.
"""

import numpy as np
import numpy.typing as npt

from memlens.arrays import I64, U32, U64
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.manifest import InconsistentError
from memlens.store.objects.columns import ObjectColumns
from memlens.store.snapshot import Snapshot


class Reached:
    """Objects by number, all of which roots must reach."""

    def __init__(self, snapshot: Snapshot) -> None:
        objects, rows = snapshot.objects, snapshot.objects.reached
        self._rows = rows
        self._objects = objects
        self._stored = objects.unchecked(ObjectColumns.dominator)
        known = rows["dominator"][rows["dominator"] != NEVER]
        if max(rows["object"].max(initial=0), known.max(initial=0)) >= len(objects.type) > 0:
            raise InconsistentError("An object's number is out of range")
        self.unheld: U32 = np.ascontiguousarray(rows["object"][rows["dominator"] == NEVER])
        """Objects with a distance from what the file calls a root, that references which retain don't lead to."""
        moved = rows[rows["dominator"] != objects.items(ObjectColumns.dominator, rows["object"])]
        self._dominators: dict[int, int] = dict(
            zip(moved["object"].tolist(), moved["dominator"].tolist(), strict=True)
        )
        self.moved: U32 = np.ascontiguousarray(moved["object"])
        """Objects whose dominator is another, ascending."""
        self.moved_to: U32 = np.ascontiguousarray(moved["dominator"])
        """The dominator of each of these."""
        order = np.argsort(self.moved_to, kind="stable")
        self.by_dominator = (self.moved[order], self.moved_to[order])
        """The same, by dominators."""

    def dominator(self, number: int) -> int:
        """The immediate dominator, NEVER where there is none."""
        moved = self._dominators.get(number)
        if moved is not None:
            return moved
        # of the whole column nothing else may ever be needed
        found = int(self._stored[number])
        if len(self._stored) <= found != NEVER:
            raise InconsistentError("An object's number is out of range")
        return found

    def dominators(self, numbers: npt.NDArray[np.integer]) -> I64:
        """The same for some objects, one after the other."""
        found: I64 = self._stored[numbers].astype(np.int64)
        at = np.searchsorted(self.moved, numbers)
        within = at < len(self.moved)
        moved = np.zeros(len(found), np.bool_)
        moved[within] = self.moved[at[within]] == numbers[within]
        found[moved] = self.moved_to[at[moved]]
        if bool(((found >= len(self._stored)) & (found != NEVER)).any()):
            raise InconsistentError("An object's number is out of range")
        return found

    def retained_by_each(self, numbers: npt.NDArray[np.integer]) -> U64:
        """Bytes of all that each of some objects dominates."""
        found: U64 = self._objects.retained[numbers].astype(np.uint64)
        rows = self._rows
        at = np.searchsorted(rows["object"], numbers)
        within = at < len(rows)
        own = np.zeros(len(found), np.bool_)
        own[within] = rows["object"][at[within]] == numbers[within]
        found[own] = rows["retained"][at[own]]
        return found

    def retained(self, number: int) -> int:
        """Bytes of all that an object dominates."""
        at = int(np.searchsorted(self._rows["object"], number))
        row = self._rows[at] if at < len(self._rows) else None
        if row is not None and int(row["object"]) == number:
            return int(row["retained"])
        return int(self._objects.retained[number])


@kept
def reached(snapshot: Snapshot) -> Reached:
    """The dominators of objects if unreachable objects hold nothing."""
    return Reached(snapshot)

"""Dominators and retained bytes within the reachable heap.

In some formats unreachable objects count as holders: an object that one of them refers to is dominated by the root
only, and no reachable object retains it. Here they don't count, as unreachable objects keep nothing alive: these
figures are what would be freed.
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
    """Dominators by object number. All objects passed must be reachable."""

    def __init__(self, snapshot: Snapshot) -> None:
        objects, rows = snapshot.objects, snapshot.objects.reached
        self._rows = rows
        self._objects = objects
        self._stored = objects.unchecked(ObjectColumns.dominator)
        known = rows["dominator"][rows["dominator"] != NEVER]
        if max(rows["object"].max(initial=0), known.max(initial=0)) >= len(objects.type) > 0:
            raise InconsistentError("An object's number is out of range")
        self.unheld: U32 = np.ascontiguousarray(rows["object"][rows["dominator"] == NEVER])
        """Objects with a distance from a root of the file, but none by retaining references."""
        moved = rows[rows["dominator"] != objects.items(ObjectColumns.dominator, rows["object"])]
        self._dominators: dict[int, int] = dict(
            zip(moved["object"].tolist(), moved["dominator"].tolist(), strict=True)
        )
        self.moved: U32 = np.ascontiguousarray(moved["object"])
        """Objects whose dominator differs from the stored one, ascending."""
        self.moved_to: U32 = np.ascontiguousarray(moved["dominator"])
        """The dominators of these objects."""
        order = np.argsort(self.moved_to, kind="stable")
        self.by_dominator = (self.moved[order], self.moved_to[order])
        """Both, ordered by dominator."""

    def dominator(self, number: int) -> int:
        """Return the immediate dominator; NEVER if there is none."""
        moved = self._dominators.get(number)
        if moved is not None:
            return moved
        # unchecked: the rest of the column may never be read
        found = int(self._stored[number])
        if len(self._stored) <= found != NEVER:
            raise InconsistentError("An object's number is out of range")
        return found

    def dominators(self, numbers: npt.NDArray[np.integer]) -> I64:
        """Return the immediate dominators of some objects."""
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
        """Return what each of some objects retains, in bytes."""
        found: U64 = self._objects.retained[numbers].astype(np.uint64)
        rows = self._rows
        at = np.searchsorted(rows["object"], numbers)
        within = at < len(rows)
        own = np.zeros(len(found), np.bool_)
        own[within] = rows["object"][at[within]] == numbers[within]
        found[own] = rows["retained"][at[own]]
        return found

    def retained(self, number: int) -> int:
        """Return what an object retains, in bytes."""
        at = int(np.searchsorted(self._rows["object"], number))
        row = self._rows[at] if at < len(self._rows) else None
        if row is not None and int(row["object"]) == number:
            return int(row["retained"])
        return int(self._objects.retained[number])


@kept
def reached(snapshot: Snapshot) -> Reached:
    """Return the dominators within the reachable heap."""
    return Reached(snapshot)

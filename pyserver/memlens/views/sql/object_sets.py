"""Sets of objects in SQL: what ``object_set(object)`` makes of a query's rows and ``retained_by`` takes.

A set of any size is a short text in a query, by which its connection finds it, since a value can't have more than
:data:`memlens.views.sql.confined.MOST_VALUE_BYTES`. It is forgotten when another query begins.
"""

from array import array

import numpy as np

from memlens.errors import BadRequestError
from memlens.model.distinct import distinct
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import format_bytes
from memlens.views.heap.objects.rows import Numbers, check_object

MOST_BYTES = 256 << 20
"""All sets of a query together."""
_FIRST_LOOK = 1 << 16


class Gathered:
    """Numbers that come one at a time, and often more than once: kept are at most twice as many as are distinct."""

    def __init__(self) -> None:
        self._numbers = array("q")
        self._look_at = _FIRST_LOOK

    def add(self, number: int) -> None:
        """Add a number of 64 bits."""
        self._numbers.append(number)
        if len(self._numbers) >= self._look_at:
            self._numbers = array("q", self.distinct().tobytes())
            self._look_at = max(_FIRST_LOOK, 2 * len(self._numbers))

    def distinct(self) -> Numbers:
        """Each of them once, ascending."""
        return distinct(np.array(self._numbers, np.int64))


class ObjectSets:
    """The sets of a running query."""

    def __init__(self) -> None:
        self._sets: dict[str, Numbers] = {}
        self._bytes = 0

    def clear(self) -> None:
        """Forget all of them."""
        self._sets.clear()
        self._bytes = 0

    def add(self, snapshot: Snapshot, numbers: Numbers) -> str:
        """The text for a set of ascending numbers. Raises :class:`BadRequestError`."""
        for number in (numbers[0], numbers[-1]) if len(numbers) else ():
            check_object(snapshot, int(number))
        kept = numbers.astype(np.uint32)
        self._bytes += kept.nbytes
        if self._bytes > MOST_BYTES:
            raise BadRequestError(
                phrase("The object sets in the query take more than {most}", most=format_bytes(MOST_BYTES)),
                advice=phrase("Make fewer of them, for example one per type instead of one per object."),
            )
        text = f"set {len(self._sets) + 1:,} of {len(kept):,} objects"
        self._sets[text] = kept
        return text

    def find(self, text: str) -> Numbers:
        """The numbers of a set. Raises :class:`BadRequestError` for a text that stands for none."""
        found = self._sets.get(text)
        if found is None:
            raise BadRequestError(
                phrase("{text} is not a set of objects", text=repr(text)),
                advice=phrase(
                    "Pass an object's number, or what object_set(object) returns in the same query."
                ),
            )
        return found

"""Which objects the queries of filters chose, known to all maps of an archive that answer questions.

A query is asked beside these, as it may take long: whoever needs one that isn't known says so by an error, and is asked
again when it is.
"""

import numpy as np

from memlens.arrays import U8, Mask
from memlens.errors import MemlensError
from memlens.result_cache import ResultCache
from memlens.texts import phrase

MOST_QUERIES = 16
"""A filter has fewer."""


class QueriedObjects:
    """The latest ones, by the text of the query. For any thread."""

    def __init__(self) -> None:
        self._kept = ResultCache()

    def find(self, query: str) -> Mask | None:
        """The objects that a query chose, one item per object; None if they aren't known."""
        found: tuple[int, U8] | None = self._kept.find(query)
        if found is None:
            return None
        count, packed = found
        return np.unpackbits(packed, count=count).view(np.bool_)

    def put(self, query: str, chosen: Mask) -> None:
        """Keep what a query chose."""
        self._kept.put(query, (len(chosen), np.packbits(chosen)))

    def clear(self) -> None:
        """Forget all of them."""
        self._kept.clear()


class UnaskedError(MemlensError):
    """A question needs a query that has to be run first."""

    def __init__(self, queried: QueriedObjects, query: str) -> None:
        super().__init__(phrase("The query of a filter hasn't run yet"))
        self.queried = queried
        self.query = query

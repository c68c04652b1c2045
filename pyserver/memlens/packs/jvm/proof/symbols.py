"""The texts of a Java heap dump by their ids, in little more memory than they have in the file."""

from array import array
from collections.abc import Iterator

import numpy as np


class Symbols:
    """Texts, each with its id and its byte in the file. Of two with one id the last counts."""

    def __init__(self) -> None:
        self._ids, self._places = array("Q"), array("Q")
        self._ends, self._data = array("Q", (0,)), bytearray()
        self._order = np.zeros(0, np.intp)
        self._sorted = np.zeros(0, np.uint64)

    def add(self, own: int, text: bytes, at: int) -> None:
        """Add a text."""
        self._ids.append(own)
        self._places.append(at)
        self._data += text
        self._ends.append(len(self._data))

    def get(self, own: int) -> tuple[bytes, int] | None:
        """The text of an id, and its byte; None if there is none."""
        if len(self._order) < len(self._ids):
            ids = np.array(self._ids, np.uint64)
            self._order = np.argsort(ids, kind="stable")
            self._sorted = ids[self._order]
        place = int(np.searchsorted(self._sorted, np.uint64(own), side="right")) - 1
        if place < 0 or int(self._sorted[place]) != own:
            return None
        return self._text(int(self._order[place]))

    def items(self) -> Iterator[tuple[int, bytes, int]]:
        """The id, the text and the offset of each."""
        for row, own in enumerate(self._ids):
            yield own, *self._text(row)

    def _text(self, row: int) -> tuple[bytes, int]:
        return bytes(self._data[self._ends[row] : self._ends[row + 1]]), self._places[row]

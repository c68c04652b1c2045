"""The strings of an archive: UTF-8 texts one after the other, and where each ends; read by number, never as a whole.

Number 0 stands for "none", and reads as an empty text. Texts are stored as long as they are, each once; what is shown
of a long one is cut by whoever shows it, see :meth:`Strings.head`.
"""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from memlens.store.column_files import ColumnFiles
from memlens.store.columns import Columns, Stored
from memlens.store.manifest import InconsistentError

U32 = npt.NDArray[np.uint32]

_MOST_BYTES_OF_A_CHARACTER = 4


class Strings(Columns):
    """An item a string.

    What isn't UTF-8 reads as U+FFFD. A number that names no string raises :class:`InconsistentError`.
    """

    prefix = "string_"
    end = Stored(np.uint64, "strings")
    """Where in ``utf8`` a string ends and the next one begins."""
    utf8 = Stored(np.uint8, "string bytes")

    def __getitem__(self, number: int) -> str:
        return self._decoded(np.array([number], np.int64))[0]

    def head(self, number: int, most: int) -> str:
        """The first ``most`` characters of a string, which may be long; only these are read."""
        starts, ends = self._places(np.array([number], np.int64))
        end = min(int(ends[0]), int(starts[0]) + most * _MOST_BYTES_OF_A_CHARACTER)
        return str(self.utf8.data[int(starts[0]) : end], "utf-8", "replace")[:most]

    def texts(self, numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.object_]:
        """The strings of some numbers, as objects in an array; each is decoded once, however often it stands there."""
        distinct, places = _distinct(numbers)
        return np.array([*self._decoded(distinct), None], object)[places]

    def some(self, numbers: npt.NDArray[np.integer]) -> dict[int, str]:
        """The strings of the distinct ones of some numbers, by number."""
        distinct, _ = _distinct(numbers)
        return dict(zip(distinct.tolist(), self._decoded(distinct), strict=True))

    def where(self, numbers: npt.NDArray[np.integer], test: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
        """Which of some numbers are of strings that pass a test; each distinct one is tested once."""
        distinct, places = _distinct(numbers)
        passed = np.fromiter(map(test, self._decoded(distinct)), np.bool_, len(distinct))
        found: npt.NDArray[np.bool_] = passed[places]
        return found

    def _decoded(self, numbers: npt.NDArray[np.integer]) -> list[str]:
        starts, ends = self._places(numbers)
        utf8 = self.utf8.data
        return [
            str(utf8[start:end], "utf-8", "replace")
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def _places(
        self, numbers: npt.NDArray[np.integer]
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Where strings begin and end."""
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(self.end):
            raise InconsistentError("A number names no string")
        ends = self.end[numbers]
        starts = np.where(numbers > 0, self.end[np.maximum(numbers, 1) - 1], np.uint64(0))
        if bool((starts > ends).any()) or int(ends.max(initial=0)) > len(self.utf8):
            raise InconsistentError("A string ends before it begins, or after the last one")
        return starts, ends


def _distinct(
    numbers: npt.NDArray[np.integer],
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.intp]]:
    """The distinct ones of some numbers, ascending, and the place there of each."""
    distinct, places = np.unique(numbers, return_inverse=True)
    return distinct, places


class StringWriter:
    """Numbers texts in the order in which they come, each once, and writes them."""

    def __init__(self) -> None:
        self._numbers: dict[str | None, int] = {"": 0}

    def numbers(self, texts: Iterable[str]) -> U32:
        """The number of each of some texts, 0 for the empty one."""
        known = self._numbers
        return np.array([known.setdefault(text, len(known)) for text in texts], np.uint32)

    def renumbered(self, texts: Mapping[int, str]) -> Callable[[npt.NDArray[np.integer]], U32]:
        """Converts a reader's numbers of ``texts`` to those of the archive; numbers that aren't there become 0.

        An empty text that isn't the reader's number 0 was recorded, so it isn't "none".
        """
        known = self._numbers
        rows = sorted((number, text or (None if number else "")) for number, text in texts.items())
        old = np.array([number for number, _ in rows], np.int64)
        new = np.array([known.setdefault(text, len(known)) for _, text in rows] + [0], np.uint32)

        def converted(numbers: npt.NDArray[np.integer]) -> U32:
            numbers = numbers.astype(np.int64)
            places = np.searchsorted(old, numbers)
            places[np.append(old, -1)[places] != numbers] = len(old)
            return new[places]

        return converted

    def write(self, columns: ColumnFiles) -> None:
        """Write all strings that were numbered."""
        encoded = [(text or "").encode("utf-8", "replace") for text in self._numbers]
        ends = np.cumsum(np.fromiter(map(len, encoded), np.uint64, len(encoded)), dtype=np.uint64)
        columns.write(Strings, {"end": ends, "utf8": np.frombuffer(b"".join(encoded), np.uint8)})

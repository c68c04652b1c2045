"""The strings of an archive: concatenated UTF-8 texts, and where each ends; read by number, never all at once.

Number 0 means "none" and is read as an empty text. Texts are stored in full, each once; callers that show long ones cut
them, see :meth:`Strings.head`.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from memlens.arrays import U32, Mask
from memlens.model.texts import Texts
from memlens.store.columns import Columns, Stored
from memlens.store.files.column_files import ColumnFiles
from memlens.store.manifest import InconsistentError

Numbers = npt.NDArray[np.integer]

_MOST_BYTES_OF_A_CHARACTER = 4
_MOST_COMPARED = 64
"""How many bytes are compared in all candidates at once, before the remaining candidates are read."""


class Strings(Columns):
    """An item for each string.

    Invalid UTF-8 is read as U+FFFD. An unknown number raises :class:`InconsistentError`.
    """

    prefix = "string_"
    end = Stored(np.uint64, "strings")
    """Where in ``utf8`` a string ends and the next one begins."""
    utf8 = Stored(np.uint8, "string bytes")

    @functools.cached_property
    def _views(self) -> tuple[memoryview, memoryview]:
        """The columns in a form from which single items are read much faster than from arrays."""
        return self.end.data, self.utf8.data

    def __getitem__(self, number: int) -> str:
        return self.some((number,))[number]

    def head(self, number: int, most: int) -> str:
        """The first ``most`` characters of a string; only these are read."""
        ((_, start, end),) = self._places((number,))
        end = min(end, start + most * _MOST_BYTES_OF_A_CHARACTER)
        return str(self._views[1][start:end], "utf-8", "replace")[:most]

    def some(self, numbers: Iterable[int]) -> dict[int, str]:
        """Some strings by number, each read once however often its number occurs."""
        _, utf8 = self._views
        return {
            number: str(utf8[start:end], "utf-8", "replace")
            for number, start, end in self._places(_distinct(numbers))
        }

    def texts(self, numbers: Numbers) -> list[str]:
        """The string of each of some numbers."""
        known = self.some(numbers)
        return [known[number] for number in numbers.tolist()]

    def where(self, numbers: Numbers, test: Callable[[str], bool]) -> Mask:
        """Mask of the numbers whose strings pass a test; each distinct string is tested once."""
        count = len(self.end)
        if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < count:
            raise InconsistentError("A string's number is out of range")
        # a table over all strings: columns of millions of numbers have few distinct ones, and sorting is slowest
        passed = np.zeros(count, np.bool_)
        passed[numbers] = True
        distinct = np.flatnonzero(passed).tolist()
        _, utf8 = self._views
        passed[distinct] = [
            test(str(utf8[start:end], "utf-8", "replace")) for _, start, end in self._places(distinct)
        ]
        found: Mask = passed[numbers]
        return found

    def find(self, numbers: Numbers, text: str) -> int:
        """The number whose string is ``text`` (not empty); -1 for none. Only strings of its length are read."""
        wanted = np.frombuffer(text.encode("utf-8", "replace"), np.uint8)
        numbers = numbers[numbers > 0]
        ends = self.end[numbers]
        alike = numbers[ends - self.end[numbers - 1] == len(wanted)]
        if len(alike) and int(self.end[alike].max()) > len(self.utf8):
            raise InconsistentError("A string ends after the last one")
        for place, byte in enumerate(wanted[:_MOST_COMPARED].tolist()):
            if len(alike) <= 1:
                break
            alike = alike[self.utf8[self.end[alike - 1] + np.uint64(place)] == byte]
        # an invalid character is stored as another one
        return next((number for number, each in self.some(alike).items() if each == text), -1)

    def _places(self, numbers: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """The start and end of the string of each of some numbers."""
        ends, utf8 = self._views
        count, size = len(ends), len(utf8)
        for number in numbers:
            if not 0 <= number < count:
                raise InconsistentError("A string's number is out of range")
            start, end = ends[number - 1] if number else 0, ends[number]
            if not start <= end <= size:
                raise InconsistentError("A string ends before it begins, or after the last one")
            yield number, start, end


def _distinct(numbers: Iterable[int]) -> Iterable[int]:
    """The distinct ones of some numbers."""
    if not isinstance(numbers, np.ndarray):
        return set(numbers)
    ordered = np.sort(numbers)
    distinct: list[int] = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]].tolist()
    return distinct


class StringWriter:
    """Numbers distinct texts in the order in which they are added, and writes them.

    A reader's own texts keep their numbers; others follow.
    """

    def __init__(self, own: Texts | None = None) -> None:
        self._own = Texts.of([""]) if own is None else own
        self._numbers: dict[str | None, int] = {"": 0}
        self._first = len(self._own) - 1

    def numbers(self, texts: Iterable[str]) -> U32:
        """The number of each of some texts, 0 for the empty one."""
        known, first, texts = self._numbers, self._first, list(texts)
        # as many columns have few different texts, these are numbered first
        for text in dict.fromkeys(texts):
            known.setdefault(text, first + len(known))
        return np.fromiter(map(known.__getitem__, texts), np.uint32, len(texts))

    def renumbered(self, texts: Mapping[int, str]) -> Callable[[Numbers], U32]:
        """Converts a reader's numbers of ``texts`` to those of the archive; unknown numbers become 0.

        An empty text with another number than 0 was recorded as empty, so it isn't "none".
        """
        known, first = self._numbers, self._first
        rows = sorted((number, text or (None if number else "")) for number, text in texts.items())
        old = np.array([number for number, _ in rows], np.int64)
        new = np.array([known.setdefault(text, first + len(known)) for _, text in rows] + [0], np.uint32)

        def converted(numbers: Numbers) -> U32:
            numbers = numbers.astype(np.int64)
            places = np.searchsorted(old, numbers)
            places[np.append(old, -1)[places] != numbers] = len(old)
            return new[places]

        return converted

    def write(self, columns: ColumnFiles) -> None:
        """Write all strings that were numbered."""
        texts = self._own.with_more([text or "" for text in list(self._numbers)[1:]])
        columns.write(Strings, {"end": texts.end, "utf8": texts.utf8})

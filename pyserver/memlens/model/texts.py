"""Texts stored as bytes one after the other, for models with millions of them: never a Python object for each."""

from collections.abc import Iterable
from typing import Self

import numpy as np
from msgspec import Struct

from memlens.arrays import U8, U64
from memlens.kernels.base.texts import mark_equal


class Texts(Struct):
    """UTF-8 texts by number: text ``t`` is ``utf8[end[t - 1]:end[t]]``. Text 0 is empty and stands for "none".

    Bytes that aren't UTF-8 are allowed and read as U+FFFD.
    """

    utf8: U8
    end: U64

    def __post_init__(self) -> None:
        """Raises ValueError if ends don't ascend or text 0 isn't empty: a bug in the reader."""
        ends = self.end
        whole = len(ends) > 0 and int(ends[0]) == 0 and int(ends[-1]) == len(self.utf8)
        if not whole or bool((ends[1:] < ends[:-1]).any()):
            raise ValueError("the texts' ends are inconsistent")

    @classmethod
    def of(cls, texts: Iterable[str]) -> Self:
        """Return the texts of a few thousand strings at most, in their order; the first must be empty."""
        encoded = [text.encode("utf-8", "replace") for text in texts]
        ends = np.cumsum(np.fromiter(map(len, encoded), np.uint64, len(encoded)), dtype=np.uint64)
        return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)

    def __len__(self) -> int:
        return len(self.end)

    def __getitem__(self, number: int) -> str:
        return self.bytes_of(number).decode("utf-8", "replace")

    def bytes_of(self, number: int) -> bytes:
        """Return the bytes of a text. Raises IndexError."""
        if not 0 <= number < len(self.end):
            raise IndexError(number)
        # single items are read much faster from a memoryview than from an array
        ends = self.end.data
        start = ends[number - 1] if number else 0
        return bytes(self.utf8.data[start : ends[number]])

    def some(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return some texts by number, faster than one by one. The numbers must be valid."""
        # single items are read much faster from memoryviews than from arrays
        ends, utf8 = self.end.data, self.utf8.data
        return {
            number: str(utf8[ends[number - 1] if number else 0 : ends[number]], "utf-8", "replace")
            for number in numbers
        }

    def mask(self, *texts: str) -> U8:
        """Return a mask with an item for each text: 1 for those that are among ``texts``."""
        found = np.zeros(len(self), np.uint8)
        for text in texts:
            mark_equal(self.utf8, self.end, text.encode(), found)
        return found

    def with_more(self, texts: Iterable[str], *others: "Texts") -> "Texts":
        """Return these texts and further ones, which are numbered after the last. Copies all bytes: call it once.

        Of ``others`` each text 0 is left out.
        """
        every = (self, Texts.of(["", *texts]), *others)
        before = np.cumsum([0, *(len(each.utf8) for each in every)]).astype(np.uint64)
        return Texts(
            np.concatenate([each.utf8 for each in every]),
            np.concatenate(
                (self.end[:1], *(each.end[1:] + begin for each, begin in zip(every, before, strict=False)))
            ),
        )

"""Texts that a reader adds a few of: names of types, of modules, of what holds objects."""

from memlens.model.texts import Texts
from memlens.units import shortened

_MOST_LETTERS = 4096


class Interned:
    """Numbers texts in the order of their first use, after the existing ones; the empty text is 0 if there are none."""

    def __init__(self, before: Texts | None = None) -> None:
        self._before = Texts.of([""]) if before is None else before
        self._numbers: dict[str, int] = {} if before is not None else {"": 0}
        self._added: list[str] = []

    def __len__(self) -> int:
        return len(self._before) + len(self._added)

    def number(self, text: str) -> int:
        """The number of a text, which is added if it is new; a long one is cut."""
        text = shortened(text, _MOST_LETTERS)
        number = self._numbers.setdefault(text, len(self))
        if number == len(self):
            self._added.append(text)
        return number

    def know(self, text: str, number: int) -> None:
        """Use the number of a text that was there before."""
        self._numbers[text] = number

    def texts(self, *more: Texts) -> Texts:
        """All of them, and ``more`` after the last, without their texts 0."""
        return self._before.with_more(self._added, *more) if self._added or more else self._before

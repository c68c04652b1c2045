"""A text of a stranger: its lines, each of bounded length, and sizes in it.

Nothing here looks further back than to the beginning of a line, and patterns of readers have no repetition within
another, so that each line takes time in proportion to its length, which is bounded.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

from memlens.explain.answers import Amount
from memlens.texts import Text

MOST_LINE = 4_000
"""The characters of a line that are looked at."""
_USUAL_LINE = 50
_COLOURS = re.compile(r"\x1b\[[0-9;]{0,20}m")
_STAMP = re.compile(
    r"\[ *\d{1,12}\.\d{1,9}\] ?|\[\w{3} \w{3} {1,2}\d{1,2} [\d:.]{1,20} \d{4}\] ?|\[ *[CT]\d{1,10}\] ?"
)
"""How the kernel's lines begin: seconds since the start or a date, then perhaps the thread or the processor."""
_UNITS = {
    "": 1, "b": 1, "byte": 1, "bytes": 1,
    "k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10, "ki": 1 << 10,
    "m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20, "mi": 1 << 20,
    "g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30, "gi": 1 << 30,
    "t": 1 << 40, "tb": 1 << 40, "tib": 1 << 40, "ti": 1 << 40,
}  # fmt: skip
_DIGITS = 15


class Log:
    """The lines of a text, without colours and, where that is asked for, without what a log puts before them."""

    def __init__(self, text: str) -> None:
        self.text = _COLOURS.sub("", text).replace("\r\n", "\n") + "\n"
        self.looked_at = 0
        """How many lines readers have been given, each as often as they were."""
        self._lines = self.text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def __len__(self) -> int:
        return len(self._lines)

    def line(self, number: int) -> str:
        """The beginning of a line, by its number from 0."""
        return self._lines[number][:MOST_LINE]

    def whole(self, first: int, last: int) -> str:
        """Lines in their whole length, with their ends."""
        self.looked_at += (self._starts[last + 1] - self._starts[first]) // _USUAL_LINE
        return self.text[self._starts[first] : self._starts[last + 1] - 1]

    def lines(self, first: int, most: int) -> Iterator[tuple[int, str]]:
        """At most so many lines from one on, with their numbers."""
        for number in range(max(first, 0), min(first + most, len(self._lines))):
            self.looked_at += 1
            yield number, self.line(number)

    def before(self, last: int, most: int) -> Iterator[tuple[int, str]]:
        """At most so many lines, from the one before ``last`` back."""
        for number in range(last - 1, max(last - 1 - most, -1), -1):
            self.looked_at += 1
            yield number, self.line(number)

    def found(self, sign: str) -> Iterator[int]:
        """The numbers of the lines that have a sign, each once."""
        at = self.text.find(sign)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            at = self.text.find(sign, self._starts[number + 1])


def unstamped(line: str) -> str:
    """A line of the kernel without its time, and without what a log or a terminal puts before that."""
    _, found, rest = line[:200].partition(" kernel: ")
    if found:
        line = rest + line[200:]
    for _ in range(2):
        stamp = _STAMP.match(line)
        if stamp is None:
            break
        line = line[stamp.end() :]
    return line


def bytes_of(number: str, unit: str) -> tuple[int, int] | None:
    """A size in bytes from its text, and how far off rounding may have put it; None if it isn't one.

    ``20.00`` and ``MiB`` may be 5,242 bytes more or less. Digits beyond 15 are no size.
    """
    factor = _UNITS.get(unit.lower())
    whole, dot, decimals = number.partition(".")
    digits = whole.replace(",", "")
    if factor is None or not digits.isdecimal() or not digits.isascii() or len(digits) > _DIGITS:
        return None
    if not dot:
        return int(digits) * factor, 0
    if not decimals.isdecimal() or not decimals.isascii() or len(decimals) > _DIGITS:
        return None
    scale = 10 ** len(decimals)
    return (int(digits) * scale + int(decimals)) * factor // scale, -(-factor // (2 * scale))


def amount_of(label: Text, number: str, unit: str) -> Amount | None:
    """A figure of a text; None if it isn't a size."""
    found = bytes_of(number, unit)
    return None if found is None else Amount(label, *found)

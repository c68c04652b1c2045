"""Patterns of filters and searches: a part of a text, or with ``*`` all of it, ignoring case; regular expressions."""

from collections.abc import Sequence

import numpy as np

from memlens.arrays import Mask
from memlens.errors import CancelledError
from memlens.kernels.base import texts as kernel
from memlens.kernels.base.work import Work
from memlens.store.manifest import InconsistentError
from memlens.store.stacks.strings import Strings
from memlens.texts import phrase
from memlens.views.selection import expressions
from memlens.views.selection.expressions import Expression

_HAS_PART, _NOT_ASCII = 1, 2
_AT_ONCE = 1 << 12
"""Texts that are matched before it is asked whether that is still wanted."""


class Pattern:
    """A pattern that texts are matched against.

    ``forward`` matches any part, ``mo*.py`` must match the whole, ``=forward`` exactly. Case is ignored except after
    ``=``. It isn't a regular expression, so many stars take time only in proportion to the text.
    """

    def __init__(self, text: str, *, path: bool = False) -> None:
        self._path = path
        self._exact = text.startswith("=") and len(text) > 1
        if path:
            text = text.replace("\\", "/")
        self._text = text[1:] if self._exact else text.casefold()
        self._parts = self._text.split("*") if "*" in text and not self._exact else None

    @property
    def part(self) -> str:
        """A part that every matching text contains after case folding; empty if there is none."""
        if self._path:
            return ""
        if self._exact:
            return self._text.casefold()
        return self._text if self._parts is None else max(self._parts, key=len)

    @property
    def is_exact(self) -> bool:
        """Whether only one text matches."""
        return self._exact

    @property
    def is_part(self) -> bool:
        """Whether every text with that part matches."""
        return not self._path and not self._exact and self._parts is None

    def matches(self, text: str) -> bool:
        """Whether a text matches. A pattern with ``*`` may also match the end of a path after any slash."""
        if self._path:
            text = text.replace("\\", "/")
        if self._exact:
            return text == self._text
        text = text.casefold()
        if self._parts is None:
            return self._text in text
        if self._fits(text, self._parts):
            return True
        return self._path and self._fits(f"/{text}", ["", f"/{self._parts[0]}", *self._parts[1:]])

    @staticmethod
    def _fits(text: str, parts: list[str]) -> bool:
        first, last = parts[0], parts[-1]
        if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
            return False
        at, end = len(first), len(text) - len(last)
        for part in parts[1:-1]:
            at = text.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True


def pattern_of(value: str) -> Pattern | Expression:
    """Read a filter's value as a pattern: ``/…/`` is a regular expression. Raises :class:`BadRequestError`."""
    return expressions.written(value) or Pattern(value)


def either_fits(patterns: Sequence[Pattern | Expression], full: Sequence[str], short: Sequence[str]) -> Mask:
    """Which of some names match one of some patterns, in full or in short, one item per name.

    Short names may be those of several: what a pattern says exactly is a full name if there is such a one.
    """
    found = np.zeros(len(full), np.bool_)
    for pattern in patterns:
        own = np.array([pattern.matches(name) for name in full], np.bool_)
        found |= own
        if not (isinstance(pattern, Pattern) and (pattern.is_part or (pattern.is_exact and own.any()))):
            found |= np.array([pattern.matches(name) for name in short], np.bool_)
    return found


def fitting(strings: Strings, patterns: Sequence[Pattern | Expression], work: Work | None = None) -> Mask:
    """Mask of the strings that match one of some patterns.

    Raises :class:`InconsistentError`, :class:`BadRequestError` for an expression that takes too long, and
    :class:`CancelledError` when ``work`` is stopped.

    Most strings are ASCII, where case is simple and few contain the pattern's part: a kernel finds these.
    """
    count = len(strings.end)
    found, marks = np.zeros(count, np.bool_), np.empty(count, np.uint8)
    for pattern in patterns:
        part = pattern.part
        # a text that contains a non-ASCII part isn't ASCII either; searching for any byte finds out which strings
        # aren't
        known = part.isascii() and bool(part)
        if not kernel.texts_with(strings.utf8, strings.end, part.encode() if known else b"\0", marks):
            raise InconsistentError("A string ends before it begins, or after the last one")
        if known and pattern.is_part:
            found |= marks == _HAS_PART
        if not known and part:
            marks[marks != _NOT_ASCII] = 0
        in_doubt = np.flatnonzero(~found if not part else ~found & (marks != 0))
        for begin in range(0, len(in_doubt), _AT_ONCE):
            if work is not None and not work.report(begin / len(in_doubt)):
                raise CancelledError(phrase("The request was cancelled"))
            some = in_doubt[begin : begin + _AT_ONCE]
            texts = strings.some(some)
            found[some] = [pattern.matches(texts[number]) for number in some.tolist()]
    return found

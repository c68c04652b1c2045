r"""Regular expressions of filters: ``/user-\d+/``, with ``i`` after it ignoring case.

They are those of the package regex, which gives up after a time: Python's own would keep a pattern such as ``(a+)+b``
busy for ever, and with it everything else.
"""

import math
import re
import time

from memlens.errors import BadRequestError
from memlens.result_cache import remembered
from memlens.texts import phrase
from memlens.units import shortened

_WRITTEN = re.compile(r"/(?P<pattern>.+)/(?P<flags>i?)", re.DOTALL)
_MOST_SHOWN = 100
_MOST_CHARACTERS = 10_000
"""Of a pattern: to compile it can't be interrupted."""
_MOST_SECONDS = 1.0
"""For one text. Most take microseconds."""
_MOST_SECONDS_TOGETHER = 10.0


class Expression:
    """A regular expression that texts are searched for. Raises :class:`BadRequestError` for an invalid one."""

    part = ""
    """No part is known that every text with a match has."""
    is_part = False

    def __init__(
        self, pattern: str, *, ignores_case: bool = False, seconds: float = _MOST_SECONDS_TOGETHER
    ) -> None:
        # few filters have one
        import regex

        self._shown = shortened(pattern, _MOST_SHOWN)
        if len(pattern) > _MOST_CHARACTERS:
            raise BadRequestError(
                phrase("/{pattern}/ has more than {n} characters", pattern=self._shown, n=_MOST_CHARACTERS)
            )
        try:
            self._compiled = regex.compile(pattern, regex.IGNORECASE if ignores_case else 0)
        except regex.error as error:
            raise BadRequestError(
                phrase(
                    "/{pattern}/ is not a regular expression: {problem} (at character {place})",
                    pattern=self._shown,
                    problem=getattr(error, "msg", str(error)),
                    place=(getattr(error, "pos", None) or 0) + 1,
                )
            ) from None
        except (RecursionError, MemoryError):
            raise BadRequestError(
                phrase("/{pattern}/ is too deep", pattern=self._shown),
                advice=phrase("Write it with fewer groups within groups."),
            ) from None
        self._left = seconds

    def matches(self, text: str) -> bool:
        """Whether a part of the text fits. Raises :class:`BadRequestError` where that takes too long to know."""
        began = time.perf_counter()
        try:
            return (
                self._compiled.search(text, timeout=min(_MOST_SECONDS, self._left), concurrent=True)
                is not None
            )
        except (TimeoutError, MemoryError):
            # a group that repeats itself without an end fills memory first
            raise BadRequestError(
                phrase("/{pattern}/ takes too long", pattern=self._shown),
                advice=phrase("Repetitions within repetitions take very long; write it without them."),
            ) from None
        finally:
            # no less than it takes to notice
            self._left = max(self._left - (time.perf_counter() - began), 1e-3)


def written(value: str) -> Expression | None:
    """The expression that a filter's value is; None for any other text. Raises :class:`BadRequestError`."""
    found = _WRITTEN.fullmatch(value)
    return None if found is None else Expression(found["pattern"], ignores_case=found["flags"] == "i")


@remembered(64)
def _known(pattern: str) -> Expression:
    # a query has a limit of its own
    return Expression(pattern, seconds=math.inf)


def regexp(*values: object) -> bool | None:
    """``text REGEXP pattern`` in SQL, of a pattern and a text: NULL where either is, as in SQLite's own operators."""
    pattern, text = values
    if pattern is None or text is None:
        return None
    return _known(str(pattern)).matches(str(text))

"""Which functions match a profile's ``drop_frames`` and ``keep_frames``.

They are regular expressions of RE2, which takes linear time for any pattern. Python's may take exponential time on a
malicious pattern, so only safe ones are used: no group is repeated, a branch has few repetitions, and what all branches
take together for all names is bounded.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

_MOST_CHARACTERS = 20_000
_MOST_WAYS = 1 << 22
_MOST_NAME = 1_024
"""The most characters of a name that are matched."""
_MOST_STEPS = 1 << 29
"""How much matching all names may take: some ways each, and a few steps for each branch."""
_STEPS_OF_BRANCH = 16
# an escaped character, a class, or one character
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_RESERVED = ("(anonymous namespace)", "operator()")


def patterns_of(drop: str, keep: str, names: Iterable[str] = ()) -> Callable[[str], bool] | None:
    """Return a function that says whether a function's name is dropped.

    None if the patterns can't be used, or not for all of ``names``.
    """
    try:
        branches = [branch for pattern in (drop, keep) for branch in _branches(pattern)]
        if _steps(branches, names) > _MOST_STEPS:
            return None
        dropped = re.compile(f"^(?:{drop})$")
        kept = re.compile(f"^(?:{keep})$") if keep else None
    except (re.error, RecursionError, OverflowError, _UnsafeError):
        return None

    def is_dropped(name: str) -> bool:
        simple = simplified(name)[:_MOST_NAME]
        return dropped.match(simple) is not None and (kept is None or kept.match(simple) is None)

    return is_dropped


def simplified(name: str) -> str:
    """Return a function's name without its parameters, as in pprof (``simplifyFunc`` in ``profile/prune.go``)."""
    name = name.removeprefix(".")
    at = 0
    while (at := name.find("(", at)) >= 0:
        reserved = next((word for word in _RESERVED if name.startswith(word, at - word.index("("))), None)
        if reserved is None:
            return name[:at]
        at += len(reserved) - reserved.index("(")
    return name


class _UnsafeError(Exception):
    """A pattern may take too long for a name."""


class _Branch(NamedTuple):
    """An alternative of a pattern: in how many ways it can be tried at a place, times the name's length for each of
    its repetitions.
    """

    ways: int
    repetitions: int


def _branches(pattern: str) -> list[_Branch]:
    """The alternatives of a pattern. Raises :class:`_UnsafeError` if one can be tried in too many ways."""
    if len(pattern) > _MOST_CHARACTERS:
        raise _UnsafeError
    branches, ways, repetitions, before = [], 1, 0, ""
    alternatives: list[int] = []
    for part in _PART.findall(pattern):
        if part == "(":
            alternatives.append(1)
        elif part == ")" and alternatives:
            ways *= alternatives.pop()
        elif part == "|" and alternatives:
            alternatives[-1] += 1
        elif part == "|":
            branches.append(_Branch(ways, repetitions))
            ways, repetitions = 1, 0
        elif part in ("*", "+", "{"):
            if before == ")":
                raise _UnsafeError
            repetitions += 1
        elif part == "?" and before != "(":
            ways *= 2
        elif part[0] == "\\" and part[1:].isdigit():
            raise _UnsafeError
        if ways * _MOST_NAME**repetitions > _MOST_WAYS:
            raise _UnsafeError
        before = part
    return [*branches, _Branch(ways, repetitions)]


def _steps(branches: list[_Branch], names: Iterable[str]) -> int:
    """How much it takes to match all names at most."""
    steps, kinds = 0, Counter(branches)
    # there are few kinds of either
    for length, times in Counter(min(len(name), _MOST_NAME) for name in names).items():
        for (ways, repetitions), count in kinds.items():
            steps += times * count * (_STEPS_OF_BRANCH + ways * length**repetitions)
    return steps

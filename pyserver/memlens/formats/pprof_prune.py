"""Which functions match a profile's ``drop_frames`` and ``keep_frames``.

They are regular expressions of RE2, which takes linear time for any pattern. Python's may take exponential time on a
malicious pattern, so only safe ones are used: no group is repeated, and a branch has few repetitions.
"""

import re
from collections.abc import Callable

_MOST_CHARACTERS = 20_000
_MOST_WAYS = 1 << 22
_MOST_NAME = 1_024
"""The most characters of a name that are matched."""
# an escaped character, a class, or one character
_PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_RESERVED = ("(anonymous namespace)", "operator()")


def patterns_of(drop: str, keep: str) -> Callable[[str], bool] | None:
    """Return a function that says whether a function's name is dropped; None if the patterns can't be used."""
    try:
        if not (_is_safe(drop) and _is_safe(keep)):
            return None
        dropped = re.compile(f"^(?:{drop})$")
        kept = re.compile(f"^(?:{keep})$") if keep else None
    except (re.error, RecursionError, OverflowError):
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


def _is_safe(pattern: str) -> bool:
    """Whether matching is fast for any name, because a branch can be tried in few ways."""
    if len(pattern) > _MOST_CHARACTERS:
        return False
    ways, before = 1, ""
    alternatives: list[int] = []
    for part in _PART.findall(pattern):
        if part == "(":
            alternatives.append(1)
        elif part == ")" and alternatives:
            ways *= alternatives.pop()
        elif part == "|" and alternatives:
            alternatives[-1] += 1
        elif part == "|":
            ways = 1
        elif part in ("*", "+", "{"):
            if before == ")":
                return False
            ways *= _MOST_NAME
        elif part == "?" and before != "(":
            ways *= 2
        elif part[0] == "\\" and part[1:].isdigit():
            return False
        if ways > _MOST_WAYS:
            return False
        before = part
    return True

"""Figures and names as people read them."""

from unicodedata import category

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


KIND_WORDS = {"user": "", "library": " (library)", "native": " (native)"}
"""Whose code a line is, to be said after it where it isn't the user's."""

SOURCE_WORDS = {"recorded": "", "forward": " (forward)", "fx": " (FX trace)", "inferred": " (inferred)"}
"""How a line is known, to be said after it."""


def format_bytes(count: int) -> str:
    """A size with three digits as the views show it (``ui/format.ts``), ``1.25 GiB``; what is whole has no more."""
    value = float(count)
    for unit in _UNITS:
        # 1023.5 KiB would be printed as 1024 KiB: it is 1 MiB already
        if abs(value) < (1024 if unit == "B" else 999.5) or unit == _UNITS[-1]:
            break
        value /= 1024
    if unit == "B" or value == int(value):
        return f"{int(value)} {unit}"
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f} {unit}"


def format_time(microseconds: float) -> str:
    """A span of time with three digits, ``1.25 s``; whole seconds from a thousand on."""
    value, unit = microseconds, "µs"
    if abs(microseconds) >= 1e6:
        value, unit = microseconds / 1e6, "s"
    elif abs(microseconds) >= 1e3:
        value, unit = microseconds / 1e3, "ms"
    return f"{value:,.0f} {unit}" if abs(value) >= 1000 else f"{value:.3g} {unit}"


_IN_US = {"nanoseconds": 1e-3, "microseconds": 1.0, "milliseconds": 1e3, "seconds": 1e6}


def format_value(amount: int, unit: str) -> str:
    """A value of a profile: sizes and times as people read them, other units after the number."""
    if unit == "bytes":
        return format_bytes(amount)
    if unit in _IN_US:
        return format_time(amount * _IN_US[unit])
    return f"{amount:,}" if unit in ("count", "") else f"{amount:,} {unit}"


def counted(count: int, noun: str) -> str:
    """``1 event``, ``2,000 events``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def part_has(count: int, total: int, noun: str) -> str:
    """``1 of 542 samples has``, ``2 of 542 samples have``."""
    return f"{count:,} of {counted(total, noun)} {'has' if count == 1 else 'have'}"


def shortened(text: str, most: int) -> str:
    """``text`` in no more than ``most`` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


# Controls, and the format characters that hide text or turn its direction.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_LONGEST_NAME = 200


def plain(text: str) -> str:
    """Text from a file in one line, safe for a terminal and an editor: what can't be seen is replaced."""
    if text.isascii() and text.isprintable():
        return text
    return "".join("\N{REPLACEMENT CHARACTER}" if category(char) in _UNSEEN else char for char in text)


def plain_name(name: str) -> str:
    """A name from a file as :func:`plain` makes it, in no more than 200 characters."""
    return shortened(plain(name[: _LONGEST_NAME + 1]), _LONGEST_NAME)

"""Figures as people read them."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


SOURCE_WORDS = {"recorded": "", "forward": " (forward)", "fx": " (FX trace)", "inferred": " (inferred)"}
"""How a line is known, to be said behind it."""


def format_bytes(count: int) -> str:
    """A size with three or four digits, ``1.25 GiB``; whole bytes below a kibibyte."""
    value = float(count)
    for unit in _UNITS:
        if abs(value) < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    if unit == "B":
        return f"{count} B"
    digits = 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0
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
    """A value of a profile: sizes and times as people read them, other units behind the number."""
    if unit == "bytes":
        return format_bytes(amount)
    if unit in _IN_US:
        return format_time(amount * _IN_US[unit])
    return f"{amount:,}" if unit in ("count", "") else f"{amount:,} {plain(unit)}"


def counted(count: int, noun: str) -> str:
    """``1 event``, ``2,000 events``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def plain(text: str) -> str:
    """Text from a file, safe for a terminal: no control or formatting characters."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)

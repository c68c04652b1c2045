"""Sizes, times, counts and names as text for people."""

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from unicodedata import category

from memlens.texts import Text, phrase

MIB = 1 << 20

_ALL_DIGITS = Context(prec=400)
"""Enough for every number in a file: the largest has 309 digits before the decimal point."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


KIND_WORDS = {"user": Text(""), "library": phrase(" (library)"), "native": phrase(" (native)")}
"""Whose code a line is, as a suffix of lines that aren't the user's."""

SOURCE_WORDS = {
    "recorded": Text(""),
    "forward": phrase(" (forward)"),
    "fx": phrase(" (FX trace)"),
    "inferred": phrase(" (inferred)"),
}
"""How a line is known, as a suffix of the line."""

SOURCE_MEANINGS = {
    "recorded": Text(""),
    "forward": phrase(
        "No stack was recorded on this line: it is known from the forward stacks of backward operators."
    ),
    "fx": phrase("No stack was recorded on this line: it is known from the FX traces of generated code."),
    "inferred": phrase("This line is inferred, and may be another."),
}
"""The same as a sentence."""


def format_bytes(count: int) -> str:
    """Format a size with three digits as the views do (``base/format.ts``), ``1.25 GiB``; whole ones as ``1 KiB``."""
    value = float(count)
    for unit in _UNITS:
        # 1023.5 KiB would be printed as 1024 KiB instead of 1 MiB
        if abs(value) < (1024 if unit == "B" else 999.5) or unit == _UNITS[-1]:
            break
        value /= 1024
    if unit == "B" or value == int(value):
        return f"{int(value)} {unit}"
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f} {unit}"


def format_date(milliseconds: int) -> str:
    """Format a moment since 1970: ``2026-03-04 05:06:07 UTC``."""
    # imported here, because few commands need it, and they are to start at once
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def format_time(microseconds: float) -> str:
    """Format a duration or a time as the views do (``base/format.ts``): ``17 µs``, ``35.21 ms``, ``1.204 s``."""
    size = abs(microseconds)
    if size < 1e3:
        return f"{_trimmed(microseconds, 1)} µs"
    if size < 1e6:
        return f"{_trimmed(microseconds / 1e3, 2 if size < 1e5 else 1)} ms"
    if size < 120e6:
        return f"{_trimmed(microseconds / 1e6, 3)} s"
    whole = int(microseconds // 60e6)
    if size < 7200e6:
        return f"{whole} min {_trimmed(microseconds % 60e6 / 1e6, 1)} s"
    if size < 172800e6:
        return f"{whole // 60} h {whole % 60} min"
    return f"{_trimmed(microseconds / 86400e6, 2)} d"


def _trimmed(value: float, places: int) -> str:
    """Round half up, as ``toFixed`` in the views does, and drop trailing zeros."""
    rounded = Decimal(float(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _ALL_DIGITS)
    return f"{rounded.normalize(_ALL_DIGITS) + 0:f}"


_IN_US = {"nanoseconds": 1e-3, "microseconds": 1.0, "milliseconds": 1e3, "seconds": 1e6}


def format_value(value: int, unit: str) -> str:
    """Format a value of a profile: a size, a time, or a number followed by its unit."""
    if unit == "bytes":
        return format_bytes(value)
    if unit in _IN_US:
        return format_time(value * _IN_US[unit])
    return f"{value:,}" if unit in ("count", "") else f"{value:,} {unit}"


def format_change(change: int, unit: str = "bytes") -> str:
    """Format a difference with its sign."""
    return f"{'+' if change > 0 else ''}{format_value(change, unit)}"


def format_share(part: float, whole: float) -> str:
    """Format a share of a whole as a percentage, which is 0.0% only if the share is zero."""
    share = part / whole if whole else 0.0
    return "<0.1%" if 0 < share < 0.001 else f"{share:.1%}"


def counted(count: int, noun: str) -> str:
    """Format a count and its noun: ``1 event``, ``2,000 events``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def dimensions(width: int, height: int) -> str:
    """The size of an image in words: ``640 by 480``, with the sign for that."""
    return f"{width} \u00d7 {height}"


def shortened(text: str, most: int) -> str:
    """Cut ``text`` to ``most`` characters, the last of which is then an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


# control characters, and format characters that hide text or change its direction
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_WITHOUT_INK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters that are drawn as blanks."""
_MOST_MARKS = 4
"""More marks above or below a letter than any language has would be drawn over the lines around."""
_PRINTABLE, _DELETE, _PICTURES = 0x20, 0x7F, 0x2400
_LONGEST_NAME = 200
_UNUSUAL = re.compile(r"[^ -~]+")


def plain(text: str) -> str:
    """Replace control characters by pictures of them, and invisible ones, as the view does: text from a file is then
    safe in a terminal or an editor, and ``a\u240ab`` has two lines.
    """
    return text if text.isascii() and text.isprintable() else _UNUSUAL.sub(_shown, text)


def _shown(part: re.Match[str]) -> str:
    """What stands for a part of a text that has no printable character of ASCII."""
    shown, marks = [], 0
    for char in part[0]:
        kind = category(char)
        marks = marks + 1 if kind.startswith("M") else 0
        if marks and not shown and not part.start():
            # it would be put on what stands before the name
            shown.append("\N{DOTTED CIRCLE}")
        if marks <= _MOST_MARKS:
            shown.append(_seen(char) if kind in _UNSEEN or char in _WITHOUT_INK else char)
        elif marks == _MOST_MARKS + 1:
            shown.append("\N{REPLACEMENT CHARACTER}")
    return "".join(shown)


def _seen(char: str) -> str:
    code = ord(char)
    if code < _PRINTABLE:
        return chr(_PICTURES + code)
    return "\N{SYMBOL FOR DELETE}" if code == _DELETE else "\N{REPLACEMENT CHARACTER}"


def plain_name(name: str) -> str:
    """Return a name from a file as :func:`plain` does, shortened to 200 characters."""
    return shortened(plain(name[: _LONGEST_NAME + 1]), _LONGEST_NAME)


def whole_number(text: str, base: int = 10) -> int | None:
    """Return a whole number from its text; None if the text isn't one."""
    try:
        return int(text, base)
    except ValueError:
        return None


def object_id(text: str) -> int | None:
    """Return the id or the address of an object of a heap dump: ``5143``, ``@5143`` or ``0x7f00``; None for others."""
    digits = text.removeprefix("@")
    value = whole_number(digits, 16 if digits.lower().startswith("0x") else 10)
    return value if value is not None and 0 <= value < 2**64 else None

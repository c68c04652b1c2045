"""Printing. Text from files never reaches a terminal with control characters."""

import sys
from typing import Any

import msgspec

from memlens.units import plain


def say(text: object, *, error: bool = False) -> None:
    """Print one line, to stderr if it is an error; control and formatting characters are replaced."""
    print(plain(str(text)), file=sys.stderr if error else sys.stdout)


def json_line(value: Any) -> None:
    """Write a value to stdout as one line of JSON."""
    sys.stdout.buffer.write(escaped(msgspec.json.encode(value).decode()).encode() + b"\n")
    sys.stdout.buffer.flush()


def escaped(json_text: str) -> str:
    """Escape all control and formatting characters in one line of JSON.

    JSON itself requires that only for U+0000 to U+001F (RFC 8259, section 7).
    """
    if json_text.isprintable():
        return json_text
    return "".join(char if char.isprintable() else _escape(char) for char in json_text)


def _escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))

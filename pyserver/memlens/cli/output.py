"""Printing. Text from files never reaches a terminal with control characters."""

import sys
from typing import Any

import msgspec

from memlens.json_text import escaped, in_english
from memlens.units import plain


def say(text: object, *, error: bool = False) -> None:
    """Print one line, to stderr if it is an error; control and formatting characters are replaced."""
    print(plain(str(text)), file=sys.stderr if error else sys.stdout)


def json_line(value: Any) -> None:
    """Write an answer to stdout as one line of JSON, with texts in English."""
    message_line(in_english(value))


def message_line(value: Any) -> None:
    """Write a line of JSON for the process of Memlens that reads this one's, which may translate its texts."""
    sys.stdout.buffer.write(escaped(msgspec.json.encode(value).decode()).encode() + b"\n")
    sys.stdout.buffer.flush()

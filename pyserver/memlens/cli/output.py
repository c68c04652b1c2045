"""Printing. Text from files never reaches a terminal with control characters."""

import contextlib
import os
import sys
from typing import Any

import msgspec

from memlens.json_text import escaped, in_english
from memlens.model.expansion import Levels, levels_notice
from memlens.units import plain

MOST_LINES = 10_000
"""The most lines of a printed tree: a chain of calls may be a million long."""
MOST_INDENT = 200
"""The most blanks before a line of a tree."""
MOST_PRINTED = 1_000
"""The most characters of a name that may be printed many times."""


def say(text: object, *, error: bool = False) -> None:
    """Print one line, to stderr if it is an error; control and formatting characters are replaced."""
    print(plain(str(text)), file=sys.stderr if error else sys.stdout)


def note_of_cut(levels: Levels) -> None:
    """Print to stderr what is cut where stacks are written out, if anything is."""
    if levels.is_cut:
        say(f"note: {levels_notice(levels).message}", error=True)


def json_line(value: Any) -> None:
    """Write an answer to stdout as one line of JSON, with texts in English."""
    message_line(in_english(value))


def message_line(value: Any) -> None:
    """Write a line of JSON for the process of Memlens that reads this one's, which may translate its texts."""
    sys.stdout.buffer.write(escaped(msgspec.json.encode(value).decode()).encode() + b"\n")
    sys.stdout.buffer.flush()


def output_columns() -> int:
    """Return how wide a line of output may be: as COLUMNS says, else as the terminal is, else 80."""
    columns = 0
    with contextlib.suppress(AttributeError, ValueError, OSError):
        columns = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(sys.stdout.fileno()).columns
    return columns if columns > 0 else 80

"""Printing. Text from files never reaches a terminal with control characters."""

import contextlib
import os
import sys
from typing import Any

import msgspec

from memlens.json_text import escaped, in_english
from memlens.model.expansion import Levels, levels_notice
from memlens.units import plain, shortened

MOST_LINES = 10_000
"""The most lines of a printed tree: a chain of calls may be a million long."""
MOST_INDENT = 200
"""The most blanks before a line of a tree."""
MOST_PRINTED = 1_000
"""The most characters of a name that may be printed many times."""
_MOST_JSON_BYTES = 1 << 20
"""The length of an answer from which its texts are cut."""


def say(text: object, *, error: bool = False) -> None:
    """Print one line, to stderr if it is an error; control and formatting characters are replaced."""
    print(plain(str(text)), file=sys.stderr if error else sys.stdout)


def note_of_cut(levels: Levels) -> None:
    """Print to stderr what is cut where stacks are written out, if anything is."""
    if levels.is_cut:
        say(f"note: {levels_notice(levels).message}", error=True)


def json_line(value: Any) -> None:
    """Write an answer to stdout as one line of JSON, with texts in English."""
    said = in_english(value)
    line = msgspec.json.encode(said)
    if len(line) > _MOST_JSON_BYTES:
        texts = _Shortened()
        line = msgspec.json.encode(texts.of(said))
        if texts.count:
            say(f"note: {texts.count:,} texts are cut to {MOST_PRINTED:,} characters.", error=True)
    _write_line(line)


class _Shortened:
    """Cuts the texts of an answer, and counts those that were longer."""

    def __init__(self) -> None:
        self.count = 0

    def of(self, value: Any) -> Any:
        match value:
            case str():
                self.count += len(value) > MOST_PRINTED
                return shortened(value, MOST_PRINTED)
            case dict():
                return {self.of(key): self.of(each) for key, each in value.items()}
            case list():
                return [self.of(each) for each in value]
            case _:
                return value


def message_line(value: Any) -> None:
    """Write a line of JSON for the process of Memlens that reads this one's, which may translate its texts."""
    _write_line(msgspec.json.encode(value))


def _write_line(line: bytes) -> None:
    sys.stdout.buffer.write(escaped(line.decode()).encode() + b"\n")
    sys.stdout.buffer.flush()


def terminal_columns() -> int:
    """Return how wide a line of a terminal may be; without one no line is too wide."""
    return output_columns() if sys.stdout.isatty() else sys.maxsize


def output_columns() -> int:
    """Return how wide a line of output may be: as COLUMNS says, else as the terminal is, else 80."""
    columns = 0
    with contextlib.suppress(AttributeError, ValueError, OSError):
        columns = int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(sys.stdout.fileno()).columns
    return columns if columns > 0 else 80

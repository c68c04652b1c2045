"""Printing. Text from files never reaches a terminal with control characters."""

import contextlib
import logging
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
import numpy as np

from memlens.json_text import escaped, in_english
from memlens.model.expansion import Levels, fitting, levels_warning
from memlens.units import plain, shortened

MOST_LINES = 10_000
"""The most lines of a printed tree: a chain of calls may be a million long."""
MOST_INDENT = 200
"""The most blanks before a line of a tree."""
MOST_PRINTED = 1_000
"""The most characters of a name that may be printed many times."""
_MOST_UNCUT_BYTES = 1 << 20
"""The length of all texts of an answer from which they are cut."""
_MOST_TEXT_BYTES = 3 << 20
"""The length to which they are cut: 10,000 rows with a file and a function of 150 characters each."""


def say(text: object, *, error: bool = False) -> None:
    """Print one line, to stderr if it is an error; control and formatting characters are replaced."""
    print(plain(str(text)), file=sys.stderr if error else sys.stdout)


def say_lines(lines: Iterable[str]) -> None:
    """Print lines with names from a file, cut so that their total length is bounded."""
    all_lines = list(lines)
    lengths = np.fromiter(map(len, all_lines), np.int64, len(all_lines))
    if int(lengths.sum()) > _MOST_TEXT_BYTES:
        most = fitting(lengths, _MOST_TEXT_BYTES)
        note_of_cut_texts(int((lengths > most).sum()), most)
        all_lines = [shortened(line, most) for line in all_lines]
    for line in all_lines:
        say(line)


def say_traceback(error: BaseException) -> None:
    """Print where an error was raised, which a report of a bug needs: its text may quote a file."""
    for line in "".join(traceback.format_exception(error)).splitlines():
        say(line, error=True)


class PlainLog(logging.Formatter):
    """Formats log records, which may quote a file, too."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record without control characters."""
        return "\n".join(map(plain, super().format(record).split("\n")))


def note_of_cut(levels: Levels) -> None:
    """Print to stderr how stacks were cut when they were written out, if any were."""
    if levels.is_cut:
        say(f"note: {levels_warning(levels).message}", error=True)


def json_line(value: Any) -> None:
    """Write an answer to stdout as one line of JSON, with texts in English."""
    said = in_english(value)
    line = msgspec.json.encode(said)
    _write_line(line if len(line) <= _MOST_UNCUT_BYTES else msgspec.json.encode(within_bounds(said)))


def within_bounds(value: Any) -> Any:
    """Return an answer with its texts cut to a bounded total length; print to stderr how many were cut."""
    lengths = np.fromiter((_written_bytes(text) for text in _texts_of(value)), np.int64)
    if int(lengths.sum()) <= _MOST_UNCUT_BYTES:
        return value
    texts = _Shortened(min(MOST_PRINTED, fitting(lengths, _MOST_TEXT_BYTES)))
    shown = texts.of(value)
    if texts.count:
        note_of_cut_texts(texts.count, texts.most)
    return shown


def note_of_cut_texts(count: int, most: int) -> None:
    """Print to stderr how many texts or lines are cut, and to how many characters."""
    say(f"note: {count:,} texts are cut to {most:,} characters.", error=True)


def _texts_of(value: Any) -> Iterator[str]:
    """All texts of an answer but the keys, the longest ones without their ends."""
    match value:
        case str():
            yield value[:MOST_PRINTED]
        case dict():
            for each in value.values():
                yield from _texts_of(each)
        case list() | tuple():
            for each in value:
                yield from _texts_of(each)


def _written_bytes(text: str) -> int:
    """How long a text is in JSON, which escapes some characters."""
    return len(escaped(msgspec.json.encode(text).decode()).encode())


class _Shortened:
    """Cuts the texts of an answer, and counts those that were longer."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0

    def of(self, value: Any) -> Any:
        match value:
            case str():
                bytes_ = _written_bytes(value[: self.most])
                # characters that are escaped take more room
                most = self.most * self.most // bytes_ if bytes_ > 2 * self.most else self.most
                self.count += len(value) > most
                return shortened(value, max(most, 1))
            case dict():
                return {self.of(key): self.of(each) for key, each in value.items()}
            case list():
                return [self.of(each) for each in value]
            case tuple():
                return tuple(self.of(each) for each in value)
            case _:
                return value


def message_line(value: Any) -> None:
    """Write a line of JSON for the Memlens process that reads it, which may translate its texts."""
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

"""Tables for people: figures, then the name of what they are of, as wide as the terminal or 80 characters.

Where a name is too long, the middle of its path is left out: the file's name and the line stay.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Literal, NamedTuple
from unicodedata import category, east_asian_width

from memlens.cli.output import output_columns, say
from memlens.units import plain

ELLIPSIS = "…"
_NARROWEST = 20
_BEFORE_TEXT = re.compile(r" *(\d+\. )?")
_SHORTEST_NAME = 4
_SHORTEST_FILE = 12
"""Characters that a name and that a file's name keep if they are cut."""


class Piece(NamedTuple):
    """A part of a label. Paths, names and remarks may be shortened, other words may not."""

    text: str
    kind: Literal["path", "name", "more", "words"] = "words"


class Row(NamedTuple):
    """A row's figures, and its label: in pieces on one line, or a sentence that is wrapped."""

    cells: Sequence[str]
    label: Sequence[Piece] | str


def say_tables(*tables: Sequence[Row], columns: int | None = None) -> None:
    """Print tables with common columns, a blank line between them; the first row of each has its headings.

    They are as wide as ``columns``, or as :func:`output_columns` says.
    """
    rows = [row for table in tables for row in table]
    widths = [max(map(width_of, cells)) for cells in zip(*(row.cells for row in rows), strict=True)]
    left = max((columns or output_columns()) - sum(widths) - len(widths) - 1, _NARROWEST)
    for number, table in enumerate(tables):
        if number:
            say("")
        for row in table:
            figures = " ".join(_padded(cell, width) for cell, width in zip(row.cells, widths, strict=True))
            for line in _lines(row.label, left):
                say(f"{figures}  {line}".rstrip())
                figures = " " * width_of(figures)


def say_wrapped(sentence: str) -> None:
    """Print a sentence on as many lines as it needs."""
    for line in wrap(sentence, max(output_columns(), _NARROWEST), break_on_hyphens=False):
        say(line)


def say_paragraph(sentence: str) -> None:
    """Print a sentence on one line; in a terminal it is wrapped between words, below a number's text."""
    if not sys.stdout.isatty():
        say(sentence)
        return
    indent = _BEFORE_TEXT.match(sentence)
    further = " " * len(indent[0]) if indent else ""
    for line in wrap(
        sentence, max(output_columns(), _NARROWEST), subsequent_indent=further, break_on_hyphens=False
    ) or [""]:
        say(line)


_LONGEST_LABEL = 2_000
"""Characters of a name that are looked at, however long it is."""


_OTHERS = re.compile(r"[^\x00-\x7f]+")


def width_of(text: str) -> int:
    """Return how many columns a text takes in a terminal."""
    if text.isascii():
        return len(text)
    # most of a long text is ASCII, and few of its other characters differ
    others = "".join(_OTHERS.findall(text))
    return (
        len(text)
        - len(others)
        + sum(
            count
            * (0 if category(each) in ("Mn", "Me", "Cf") else 2 if east_asian_width(each) in "WF" else 1)
            for each, count in Counter(others).items()
        )
    )


def _padded(cell: str, width: int) -> str:
    return " " * (width - width_of(cell)) + cell


def _lines(label: Sequence[Piece] | str, width: int) -> Iterable[str]:
    return wrap(label, width) or [""] if isinstance(label, str) else [fitted(label, width)]


def fitted(pieces: Sequence[Piece], width: int) -> str:
    """Return a label of at most ``width`` columns: paths are shortened first, then names, file names last."""
    texts = [plain(_without_middle(piece.text, max(_LONGEST_LABEL, 2 * width))) for piece in pieces]
    widths = list(map(width_of, texts))
    for kind, shorten in _WAYS:
        for place, piece in enumerate(pieces):
            excess = sum(widths) - width
            if excess > 0 and piece.kind == kind:
                texts[place] = shorten(texts[place], max(widths[place] - excess, 1))
                widths[place] = width_of(texts[place])
    return beginning("".join(texts), width)


def _without_middle(text: str, most: int) -> str:
    """Return a text shortened in the middle to ``most`` characters, which is more than is ever shown."""
    return text if len(text) <= most else f"{text[: most // 2]}{ELLIPSIS}{text[-most // 2 :]}"


def without_folders(path: str, width: int) -> str:
    """Return a path without some of its folders in the middle; its last part always stays.

    The first folder stays if there is room, and as many of the last ones as there is room for.
    """
    if width_of(path) <= width:
        return path
    slash = "/" if "/" in path else "\\"
    folders = path.split(slash)
    # "/home" is the first folder of a path that begins with a slash, "http://host" that of an address
    first = 2 if folders[0] == "" else 3 if folders[0].endswith(":") and folders[1:2] == [""] else 1
    start = slash.join(folders[:first]) + slash
    # each with the separator before it: a path may have thousands
    widths = [1 + width_of(folder) for folder in folders]
    left = width_of(ELLIPSIS) + sum(widths[first:])
    for kept in range(len(folders) - first - 1, 0, -1):
        left -= widths[-kept - 1]
        for before, columns in ((start, width_of(start)), ("", 0)):
            if columns + left <= width:
                return before + slash.join([ELLIPSIS, *folders[-kept:]])
    shortest = f"{ELLIPSIS}{slash}{folders[-1]}"
    return shortest if width_of(shortest) < width_of(path) else path


def cut(text: str, width: int) -> str:
    """Return a text with its middle left out, to fit into ``width`` columns."""
    if width_of(text) <= width:
        return text
    if width <= 1:
        return ELLIPSIS
    head = beginning(text, (width - 1) // 2, "")
    tail = "".join(reversed(beginning(text[::-1], width - 1 - width_of(head), "")))
    return f"{head}{ELLIPSIS}{tail}"


def _shorter_name(text: str, width: int) -> str:
    return cut(text, max(width, _SHORTEST_NAME))


def _shorter_file(text: str, width: int) -> str:
    return cut(text, max(width, _SHORTEST_FILE))


def beginning(text: str, width: int, end: str = ELLIPSIS) -> str:
    """Return the beginning of a text, with an ellipsis if that isn't all of it."""
    if width_of(text) <= width:
        return text
    used, kept = width_of(end), ""
    for each in text:
        used += width_of(each)
        if used > width:
            break
        kept += each
    return kept + end


_WAYS = (
    ("path", without_folders),
    ("more", beginning),
    ("name", _shorter_name),
    ("path", _shorter_file),
    ("name", cut),
)
"""How labels are shortened, one way after the other."""

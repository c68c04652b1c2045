"""What the editor shows beside source: the heat of lines, and cells of notebooks."""

from typing import Literal

from msgspec import Struct

from memlens.model.attribution import Attribution, FrameKind
from memlens.server.protocol.base import Count, Line
from memlens.server.protocol.sources import ChangedLine, Document
from memlens.views.answers import FrameSource


class ShownValue(Struct, frozen=True):
    """Which of a profile's values its view shows, by its number."""

    snapshot: str
    value: int


class LineHeatParams(Struct, frozen=True):
    """All lines of a document in any open snapshot; of a profile by the value that its view shows."""

    document: Document
    shown: list[ShownValue] = []


class HeatLine(Struct, frozen=True):
    """A line's figures, inclusive and charged to itself; ``line`` is its number in the editor now.

    ``source`` is "forward" or "fx" if no recorded stack has the line. ``changed`` is set if the line in the editor
    isn't what ran.
    """

    line: int
    function: str
    kind: FrameKind
    source: FrameSource
    live_at_peak_bytes: int
    total_bytes: int
    count: int
    self_live_at_peak_bytes: int
    self_total_bytes: int
    changed: ChangedLine | None


class FigureWords(Struct, frozen=True):
    """The words after a figure's number, and its unit: ``bytes``, ``nanoseconds`` and others."""

    words: str
    unit: str


class FileHeat(Struct, frozen=True):
    """A document's lines in one snapshot, by line. ``most_*`` are those of the hottest line of the whole snapshot.

    ``file`` is as the snapshot spells it; ``note`` says why it may not be this document. ``peak`` and ``total``
    describe the two figures: "live at peak"; a profile has other values in their place. By ``attribution`` figures are
    charged to a line itself.
    """

    snapshot: str
    title: str
    path: str
    file: str
    note: str
    peak: FigureWords
    total: FigureWords
    attribution: Attribution
    most_live_at_peak_bytes: int
    most_total_bytes: int
    lines: list[HeatLine]


class LineHeatResult(Struct, frozen=True):
    """The lines in each open snapshot that has any of the document, in the order in which they were opened."""

    files: list[FileHeat]


class LineFindingsParams(Struct, frozen=True):
    """The lines of a document that findings of open snapshots are about."""

    document: Document


class LineFindingsResult(Struct, frozen=True):
    """Their numbers in the editor now, in order."""

    lines: list[int]


class KnownDocumentsParams(Struct, frozen=True):
    """Documents that may have lines in an open snapshot."""

    documents: list[Document]


class KnownDocumentsResult(Struct, frozen=True):
    """One answer for each document."""

    known: list[bool]


class EditedLines(Struct, frozen=True):
    """From ``line`` on (counted from 1), ``removed`` lines were replaced by ``added`` ones."""

    line: Line
    removed: Count
    added: Count


class LinesMovedParams(Struct, frozen=True):
    """What happened to a file in the editor: its lines moved, it was saved, closed unsaved, or changed by others."""

    path: str
    what: Literal["edited", "saved", "discarded", "reloaded"]
    edits: list[EditedLines]


class HoverParams(Struct, frozen=True):
    """A line of a notebook's cell, the counterpart of LSP's hover for files."""

    document: Document
    line: Line


class HoverResult(Struct, frozen=True):
    """Markdown; empty for nothing."""

    markdown: str


class OpenCell(Struct, frozen=True):
    """A code cell in the editor. ``index`` counts all cells from 0."""

    index: Count
    text: str
    execution_count: int | None


class OpenNotebook(Struct, frozen=True):
    """A notebook as it is in the editor, saved or not."""

    path: str
    cells: list[OpenCell]


class CellParams(Struct, frozen=True):
    """A frame whose ``file`` names a cell: ``/tmp/ipykernel_…/HASH.py``, ``<ipython-input-…>``."""

    snapshot: str
    file: str
    line: Line
    open_notebooks: list[OpenNotebook]


class GoToArguments(Struct, frozen=True):
    """The argument of the editor's command ``memlens.goToLine``, which hovers carry."""

    path: str
    line: int

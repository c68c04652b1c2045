"""The headline and the findings as plain data, for the command line and for the wire alike.

A sentence is a part made of others, which a view can link and say in another language; a terminal, a report or a
clipboard gets the English.
"""

from collections.abc import Mapping
from string import Formatter
from typing import Literal

from msgspec import Struct

from memlens.model.info import FileWarning
from memlens.texts import Text
from memlens.units import format_value
from memlens.views.answers import FrameSource
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groupings import GroupKind

FigureKind = Literal[
    "live",
    "requested",
    "free",
    "reserved",
    "grown",
    "allocated",
    "survived",
    "leaked",
    "temporary",
    "inactive_split",
    "wholly_free",
    "retained",
    "shallow",
    "count",
    "value",
]
"""What a figure measures: bytes ``live`` at the evidence's moment, ``requested`` by an allocation that failed, ``free``
on the device, ``reserved`` by the allocator, ``grown`` from the first step's end to the last one's, ``allocated`` in
the whole run, ``survived`` from a moment on, ``leaked`` (live at the end of the program), ``temporary``, free in split
segments or in segments without a block; of a heap dump's objects what would be freed without them (``retained``) or
their own bytes (``shallow``); a number of things; any other ``value`` of a profile."""

FindingPane = Literal["liveSet", "flame", "oom", "steps", "state"]
"""The pane that shows the evidence; names are those of ``PaneId`` in the extension's commands."""


class Figure(Struct, frozen=True):
    """An amount with its unit (``bytes``, ``count`` or the profile's own) and what it measures.

    ``sql`` is a query whose only value is the same amount, for ``memlens sql``; empty where no table has it.
    """

    amount: int
    unit: str
    kind: FigureKind
    sql: str = ""

    def __str__(self) -> str:
        return format_value(self.amount, self.unit)


class LineLink(Struct, frozen=True):
    """A line of source, 0 where only the file is known. ``frame`` is its number in the snapshot, ``file`` as the
    snapshot spells it.
    """

    file: str
    line: int
    function: str
    frame: int
    source: FrameSource = "recorded"


class Evidence(Struct, frozen=True):
    """What a view opens as evidence of a sentence: a pane with a set of allocations or samples.

    ``of`` always has its moment, since a filter would move the peak; its ``filter`` becomes the view's. ``by`` groups
    the tables, None leaves them as they are. ``event`` is the out-of-memory event of the pane ``oom``. ``allocation``
    is one to select.
    """

    pane: FindingPane
    of: AllocationSet
    by: GroupKind | None = None
    event: int | None = None
    allocation: int | None = None


ObjectsKind = Literal["object", "type", "group", "thread", "images", "query"]


class ObjectsLink(Struct, frozen=True):
    """A link to objects of a heap dump, of one of six kinds.

    ``number`` is that of one ``object``, of a ``type``, of a node (``group``) of the dominator tree grouped by type, or
    of a ``thread``; ``images`` are all of the dump, those first of which equal ones would free most.
    ``sql`` is a query that gives them in its column ``object``; for the other kinds it is empty.
    """

    kind: ObjectsKind
    number: int = 0
    sql: str = ""


class TextPart(Text, frozen=True):
    """A sentence or a piece of one. ``line`` opens a source file, ``evidence`` shows a set, ``objects`` those of a heap
    dump.

    A part may have several of them or none; what one with any is made of has none.
    """

    values: Mapping[str, "TextPart"] = {}
    figure: Figure | None = None
    line: LineLink | None = None
    evidence: Evidence | None = None
    objects: ObjectsLink | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it has neither a link nor a figure."""
        return self.figure is None and self.line is None and self.evidence is None and self.objects is None

    def as_data(self) -> object:
        """A sentence for scripts: the list of its parts in English."""
        kept = [field for field in self.__struct_fields__ if field not in ("template", "values")]
        return [{field: getattr(piece, field) for field in kept} for piece in pieces(self)]


class HeadlineAnswer(Struct, frozen=True):
    """A snapshot in one or two sentences, the first the shortest.

    Sentences are to be joined by blanks; ``text`` is that in English, without links. ``rule`` names what the headline
    is about, as ``out_of_memory`` or ``peak``. ``warnings`` are about what the file lacks.
    """

    rule: str
    sentences: list[TextPart]
    text: str
    warnings: list[FileWarning]


class FindingName(Struct, frozen=True):
    """A finding's rule, and its title in English, a template without values.

    ``subject`` and ``figure`` are the finding's.
    """

    rule: str
    title: str
    subject: str
    figure: Figure


class SnapshotFinding(Struct, frozen=True):
    """A finding: something in the snapshot that is worth a look, in one sentence.

    ``title`` is the rule's name for people in English, a template without values; ``text`` is the sentence in English.
    ``inferred`` marks findings that depend on something inferred. ``line`` is the line to look at, where there is one.
    The evidence of a heap dump's findings is their ``objects``, and that of other models' an ``evidence``; the other of
    the two is None. ``evidence_from`` names the findings about the same bytes, whose sentences follow its own.
    ``subject`` says, of a rule that finds several things in a heap dump, which of them this is, in words that are the
    same in another dump of the program; it is empty for other rules. ``is_note`` marks what is common and rarely a
    fault, such as an empty cache after a run: it comes after all others. ``brief`` is what stands above its line in an
    editor, in a few words; None for its title and figure.
    """

    rule: str
    title: str
    sentence: TextPart
    text: str
    figure: Figure
    evidence: Evidence | None
    line: LineLink | None = None
    inferred: bool = False
    objects: ObjectsLink | None = None
    evidence_from: list[FindingName] = []
    subject: str = ""
    is_note: bool = False
    brief: Text | None = None

    @property
    def name(self) -> FindingName:
        """Its own name."""
        return FindingName(self.rule, self.title, self.subject, self.figure)

    @property
    def names(self) -> list[FindingName]:
        """Its own name, and those of the findings whose sentences follow."""
        return [self.name, *self.evidence_from]


def inferred_mark(finding: SnapshotFinding) -> str:
    """``(inferred)`` for a finding that depends on something inferred, unless its sentence says so itself."""
    return "(inferred)" if finding.inferred and "(inferred)" not in finding.text else ""


class FindingsAnswer(Struct, frozen=True):
    """The findings, the most important first."""

    findings: list[SnapshotFinding]


def pieces(part: TextPart) -> list[TextPart]:
    """A sentence in English, split into links and the words between them."""
    if not part.template or not part.is_plain:
        alone = TextPart(
            part.text, figure=part.figure, line=part.line, evidence=part.evidence, objects=part.objects
        )
        return [alone] if part.text else []
    found: list[TextPart] = []
    for words, name, _, _ in Formatter().parse(part.template):
        for each in [TextPart(words)] * bool(words) + (pieces(part.values[name]) if name else []):
            if found and found[-1].is_plain and each.is_plain:
                found[-1] = TextPart(found[-1].text + each.text)
            else:
                found.append(each)
    return found

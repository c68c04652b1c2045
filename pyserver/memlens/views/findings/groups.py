"""The largest groups of a set, with names, links and queries for sentences."""

from dataclasses import dataclass
from typing import assert_never

import numpy as np

from memlens.arrays import U32
from memlens.model.attribution import Attribution, FrameKind
from memlens.model.distinct import distinct
from memlens.model.frames import is_by_address
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, function_name, in_a_row, in_parentheses, phrase
from memlens.views.answers import Frame
from memlens.views.findings.answers import Evidence, Figure, FigureKind, FindingPane, LineLink, TextPart
from memlens.views.findings.writing import amount, called, linked, percent, short_function, text_in_sql
from memlens.views.selection.columns import device_of
from memlens.views.selection.items import meaning_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import AMOUNT
from memlens.views.tables.groupings import (
    ALLOCATED_BEFORE,
    INFERRED,
    LINE_UNKNOWN,
    NO_SOURCE,
    NO_STACK_IN_FILE,
    NO_STACK_NAME,
    NOT_RECORDED,
    ONLY_NATIVE,
    GroupKind,
    perhaps_inferred,
)
from memlens.views.tables.groups import Branch, Group, groups

_NO_STACK = (NO_STACK_NAME, NO_STACK_IN_FILE)
"""The names of groups without stacks."""
_WHY_NO_STACK: dict[str, Text] = {
    "": phrase("no stack"),
    NOT_RECORDED.text: phrase("no stack (not recorded)"),
    ALLOCATED_BEFORE.text: phrase("no stack (allocated before recording)"),
}
"""The same within a sentence."""
"""The end of names of modules and categories that are inferred."""

PROBABLY_YOURS = phrase("probably your code")

_CHARGED: dict[Attribution, str] = {"mine": "frame", "any": "innermost_frame"}
"""The columns of SQL's stacks that say which frame is charged."""


@dataclass(frozen=True, slots=True)
class TopGroup:
    """A group: its name for a sentence, its amount, its evidence.

    ``largest`` is its largest allocation's size, 0 where that isn't known.
    """

    title: Text
    function: str
    amount: int
    count: int | None
    largest: int
    line: LineLink | None
    kind: FrameKind | None
    evidence: Evidence
    figure: Figure
    is_bare: bool
    """Whether it is the group without stacks."""
    is_doubtful: bool
    """Whether its line is only probably the program's own: no rule names it, but stacks begin in another project."""

    @property
    def name(self) -> str:
        """Its name in English."""
        return self.title.text

    @property
    def inferred(self) -> bool:
        """Whether its line, module or category is inferred."""
        return self.name.endswith("(inferred)")

    def named(self) -> TextPart:
        """Its name, as a link to it."""
        return linked(self.title, line=self.line, evidence=self.evidence)

    def with_function(self) -> Text:
        """Its name; a line's with the function, and a note if it is only probably the user's, in parentheses."""
        function = [function_name(self.function)] if self.function and self.line is not None else []
        remarks = [*function, *([PROBABLY_YOURS] if self.is_doubtful else [])]
        if not remarks:
            return self.named()
        return in_a_row([self.named(), in_parentheses(in_a_row(remarks, ", "))], " ")

    def measured(self) -> TextPart:
        """Its amount, as a link to it."""
        return amount(self.figure, self.evidence)


@dataclass(frozen=True, slots=True)
class TopGroups:
    """The largest groups in order, the number of all groups, and the sum of the whole set."""

    groups: list[TopGroup]
    count: int
    total: int
    unit: str


def top_groups(
    snapshot: Snapshot,
    of: AllocationSet,
    by: GroupKind,
    limit: int,
    kind: FigureKind = "live",
    narrow: str = "",
    attribution: Attribution = "mine",
    pane: FindingPane = "liveSet",
) -> TopGroups:
    """The first groups of a set, narrowed by a filter. Raises :class:`BadRequestError`."""
    branch = Branch(of, [by], narrow=narrow, attribution=attribution)
    answer = groups(snapshot, branch, "bytes", 0, limit, descending=True)
    unit = meaning_of(snapshot, of).types[AMOUNT].unit
    found = []
    for row in answer.rows:
        filter_text = f"{row.filter} {narrow}".strip()
        shown = AllocationSet(of.device, of.kind, of.from_moment, of.to_moment, filter_text, of.value)
        line = line_link(snapshot, row.place)
        figure = Figure(row.bytes, unit, kind, _sql(snapshot, of, by, row, narrow, attribution))
        found.append(
            TopGroup(
                _name(row, by),
                _function(row),
                row.bytes,
                row.count,
                row.largest_bytes or 0 if answer.largest != "stack" else 0,
                line,
                row.place.kind if row.place is not None else None,
                Evidence(pane, shown, by),
                figure,
                row.name in _NO_STACK,
                line is not None and bool(snapshot.frames.doubtful[line.frame]),
            )
        )
    return TopGroups(found, answer.groups, answer.set_bytes, unit)


def _function(row: Group) -> str:
    """The function of a group's line; in formats without functions it repeats the line."""
    if row.place is None or row.place.function in ("", row.name.text, "<module>"):
        return ""
    return short_function(row.place.function)


def _name(row: Group, by: GroupKind) -> Text:
    """A group's name within a sentence."""
    if row.name in _NO_STACK:
        return _WHY_NO_STACK.get(row.detail.text) or phrase("no stack ({why})", why=row.detail)
    if by == "category":
        return perhaps_inferred(row.name.text.replace("_", " "))
    if by == "module":
        path = row.name.text.removesuffix(INFERRED).split(" / ")
        short = ("…" if len(path) > 2 else "") + " / ".join(path[-2:])
        return perhaps_inferred(short + (INFERRED if row.name.text.endswith(INFERRED) else ""))
    if row.place is None or not row.place.line:
        return _without_line(row)
    if row.place.source == "inferred":
        return phrase("{name} (inferred)", name=row.name)
    if not row.inferred_bytes:
        return row.name
    return phrase("{name} ({share} inferred)", name=row.name, share=percent(row.inferred_bytes, row.bytes))


def _without_line(row: Group) -> Text:
    """A function without a line; if it has no name either, its module and address."""
    if row.detail == ONLY_NATIVE:
        return phrase("{name} (C++ only)", name=row.name)
    if is_by_address(row.name.text):
        return row.name
    name = short_function(row.name.text)
    return phrase("{name} (line unknown)", name=name) if row.detail == LINE_UNKNOWN else Text(called(name))


def line_link(snapshot: Snapshot, place: Frame | None) -> LineLink | None:
    """The line of a place; None for a place without one."""
    if place is None or not place.file or not place.line:
        return None
    frames = snapshot.frames
    file = snapshot.strings.find(_files(snapshot), place.file)
    found = np.flatnonzero((frames.file == file) & (frames.line == place.line))
    return LineLink(place.file, place.line, place.function, int(found[0]), place.source)


@kept
def _files(snapshot: Snapshot) -> U32:
    """The distinct files of frames: a file may have very many lines, and each file is looked up."""
    return distinct(snapshot.frames.file)


def _sql(
    snapshot: Snapshot, of: AllocationSet, by: GroupKind, row: Group, narrow: str, attribution: Attribution
) -> str:
    """A query for the contents of a group; empty where no table has them."""
    match snapshot.info:
        case TimelineInfo():
            moment = of.to_moment if of.to_moment is not None else of.from_moment
            if of.kind not in ("live", "survived") or (of.kind == "survived" and of.from_moment):
                return ""
            if moment is None:
                moment = device_of(snapshot, of.device).info.peak_moment
            place = row.place
            if by == "line" and place is not None and not row.inferred_bytes and not narrow:
                where = f"file = {text_in_sql(place.file)} AND line = {place.line}"
                return f"SELECT sum(size_bytes) FROM live_at({of.device}, {moment}) WHERE {where}"
            if not row.filter:
                return ""
            terms = text_in_sql(f"{row.filter} {narrow}".strip())
            early = "" if of.kind == "live" else " WHERE start_moment > 0"
            return f"SELECT sum(size_bytes) FROM live_at({of.device}, {moment}, {terms}){early}"
        case ProfileInfo() | GraphInfo():
            whole = of.from_moment is None and of.to_moment is None and not narrow
            if by != "line" or not whole:
                return ""
            value = snapshot.profile.default_value if of.value is None else of.value
            return sample_sql(value, _place_in_sql(row), attribution)
        case _:
            assert_never(snapshot.info)


def sample_sql(value: int, where: str = "", attribution: Attribution = "mine") -> str:
    """A query for the sum of a value over the profile's samples that are charged to a place."""
    if not where:
        return f"SELECT total FROM value_types WHERE value = {value}"
    return (
        "SELECT sum(amount) FROM sample_values JOIN samples USING (sample) JOIN stacks USING (stack) "
        f"LEFT JOIN frames ON frames.frame = stacks.{_CHARGED[attribution]} WHERE value = {value} AND {where}"
    )


def _place_in_sql(row: Group) -> str:
    if row.place is not None and row.place.line:
        return f"file = {text_in_sql(row.place.file)} AND line = {row.place.line}"
    if row.name in _NO_STACK:
        return "frames.frame IS NULL"
    ends = row.detail.text.split(", perhaps")[0]
    file = (
        "file = ''"
        if ends == NO_SOURCE.text
        else f"(file = {text_in_sql(ends)} OR file LIKE {text_in_sql('%/' + ends)})"
    )
    function = "" if row.name.text == "?" else row.name.text
    return f"{file} AND function = {text_in_sql(function)} AND kind = 'native'"

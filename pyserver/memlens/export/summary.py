"""A summary of a snapshot for use outside the view: the headline, findings, figures, and tables of the largest
items.
"""

from pathlib import Path
from typing import assert_never

from msgspec import Struct

from memlens.model.info import GraphInfo, ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.store.models import LackingError, categories_of, graph_of, heap_dump_of, timeline_of
from memlens.store.snapshot import Snapshot
from memlens.units import (
    counted,
    format_bytes,
    format_change,
    format_date,
    format_share,
    format_time,
    format_value,
)
from memlens.views.findings.ahead import findings, headline
from memlens.views.findings.answers import HeadlineAnswer, SnapshotFinding, TextPart
from memlens.views.findings.compared import ComparedFinding, FindingsComparison
from memlens.views.findings.contents import finding_without_contents, headline_without_contents
from memlens.views.heap.listing.bookmarks import HeapBookmark, heap_bookmark_name, heap_bookmarks
from memlens.views.heap.listing.lists import heap_types
from memlens.views.selection.sets import AllocationSet
from memlens.views.tables.groupings import GroupKind
from memlens.views.tables.groups import Branch, Group, groups
from memlens.views.trace.bookmarks import PlacedBookmark, allocation_name, bookmarks, moment_name

MOST_ROWS = 25
WITHOUT_CONTENTS = "What strings contain is left out."
WITH_CONTENTS = "Quotes what strings of the program contain: don't share it if they are secret."


class Row(Struct, frozen=True):
    """A row of a table; ``detail`` is shown if there is room for it, ``share`` is the share of the whole, 0 to 1."""

    cells: list[str]
    share: float
    detail: str = ""


class Table(Struct, frozen=True):
    """A table; ``named`` is the index of the column with names, ``more`` says what was left out."""

    title: str
    columns: list[str]
    named: int
    rows: list[Row]
    more: str = ""


class Summary(Struct, frozen=True):
    """The whole summary. ``facts`` are labelled figures, the most important first. If there are bookmarks, they are the
    first table. ``contents`` says whether texts of the program's strings are in it; it is empty where there are none.
    """

    title: str
    kind: str
    facts: list[tuple[str, str]]
    headline: HeadlineAnswer
    findings: list[SnapshotFinding]
    tables: list[Table]
    contents: str = ""


def summary(
    snapshot: Snapshot,
    device: int | None = None,
    most_findings: int = 20,
    compared: Table | None = None,
    *,
    values: bool = False,
) -> Summary:
    """The summary of a snapshot; for a trace it is about one device, None for the one that is shown first.

    Without ``values`` it quotes no string of the program.

    ``compared`` is a table that comes first. Raises :class:`memlens.errors.BadRequestError`.
    """
    info = snapshot.info
    if device is not None:
        timeline_of(info, "devices")
    first, found = _findings(snapshot, device, most_findings)
    facts, tables = _facts(info, device), _tables(snapshot, device)
    if compared is not None:
        tables.insert(0, compared)
    if not values:
        first, found = headline_without_contents(first), [finding_without_contents(each) for each in found]
    contents = ""
    if heap_dump_of(info) is not None:
        contents = WITH_CONTENTS if values else WITHOUT_CONTENTS
    return Summary(Path(info.path).name, info.kind, facts, first, found, tables, contents)


def _findings(
    snapshot: Snapshot, device: int | None, most: int
) -> tuple[HeadlineAnswer, list[SnapshotFinding]]:
    """The headline and the findings; for a model without rules, the figures are the headline."""
    try:
        return headline(snapshot, device), findings(snapshot, device, most).findings
    except LackingError:
        (first, text), *rest = _facts(snapshot.info, device)
        sentence = f"{first}: {text}. " + " ".join(f"{name}: {each}." for name, each in rest)
        return HeadlineAnswer("figures", [TextPart(sentence)], sentence, snapshot.info.warnings), []


def findings_table(comparison: FindingsComparison, before: str, *, values: bool = False) -> Table:
    """The findings of a heap dump beside those of an earlier one, whose file is called ``before``.

    Without ``values`` it quotes no string of the program.
    """

    def row(each: ComparedFinding) -> Row:
        figures = [each.before_figure, each.after_figure]
        unit = next(figure.unit for figure in figures if figure is not None)
        change = each.change if each.change in ("new", "gone") else ""
        return Row(
            [
                f"{each.title}: {each.subject}" if each.subject else each.title,
                *("" if figure is None else str(figure) for figure in figures),
                format_change(each.difference, unit), change,
            ],
            0,
            each.shown.text if values else finding_without_contents(each.shown).text,
        )  # fmt: skip

    columns = ["Finding", "Before", "After", "Difference", "Change"]
    more = "" if comparison.rows else "Neither dump has findings"
    return Table(f"Findings since {before}", columns, 0, [row(each) for each in comparison.rows], more)


def set_of(info: SnapshotInfo, device: int | None) -> AllocationSet | None:
    """The set that pictures and tables are about: the peak of a device, or a profile's first value; else None."""
    match info:
        case TimelineInfo():
            return AllocationSet(info.default_device if device is None else device)
        case ProfileInfo():
            return AllocationSet(0)
        case GraphInfo():
            return None if info.allocations is None else AllocationSet(0)
        case _:
            assert_never(info)


def unit_of(info: SnapshotInfo) -> tuple[str, str]:
    """A label for the set of :func:`set_of`, and its unit."""
    match info:
        case TimelineInfo():
            return "live at the peak", "bytes"
        case ProfileInfo():
            value = info.values[info.default_value]
            return value.title.text, value.unit
        case GraphInfo():
            if info.allocations is None:
                return "", "bytes"
            return unit_of(info.allocations)
        case _:
            assert_never(info)


def _facts(info: SnapshotInfo, device: int | None) -> list[tuple[str, str]]:
    size = ("File", f"{info.kind}, {format_bytes(info.file_bytes)}")
    match info:
        case TimelineInfo():
            number = info.default_device if device is None else device
            one = next((each for each in info.devices if each.device == number), None)
            if one is None:
                return [size]
            when = "" if one.peak_time_us is None else f" after {format_time(one.peak_time_us)}"
            end = f"{format_bytes(one.live_at_end_bytes)} in {counted(one.live_at_end_count, 'allocation')}"
            return [
                (f"Peak of {one.name}", f"{format_bytes(one.peak_bytes)}{when}"),
                ("Live at the end", end),
                ("Recorded", f"{counted(one.events, 'event')}, {counted(one.allocations, 'allocation')}"),
                size,
            ]
        case ProfileInfo():
            values = [(value.title.text, format_value(value.total, value.unit)) for value in info.values]
            samples = f"{counted(info.samples, 'sample')} of {counted(info.stacks, 'stack')}"
            taken = [] if info.written_ms is None else [("Taken", format_date(info.written_ms))]
            return [*values, ("Recorded", samples), *taken, size]
        case GraphInfo():
            reachable = counted(info.reachable_objects, "object")
            kinds = f"{counted(info.types, 'type')}, {counted(info.references, 'reference')}"
            return [
                ("Shallow size of all objects", format_bytes(info.shallow_bytes)),
                ("Reachable from roots", f"{format_bytes(info.reachable_bytes)} in {reachable}"),
                ("Objects", f"{info.objects:,} of {kinds}"),
                *([] if info.written_ms is None else [("Taken", format_date(info.written_ms))]),
                size,
            ]
        case _:
            assert_never(info)


def _tables(snapshot: Snapshot, device: int | None) -> list[Table]:
    info, of = snapshot.info, set_of(snapshot.info, device)
    tables = []
    match info:
        case TimelineInfo():
            tables.append(_bookmarks(snapshot, info))
        case ProfileInfo():
            pass
        case GraphInfo():
            tables += [_heap_bookmarks(snapshot, info), _types(snapshot)]
        case _:
            assert_never(info)
    if of is not None:
        words, unit = unit_of(info)
        tables.append(_grouped(snapshot, of, "line", f"By line: {words}", unit))
        if categories_of(info):
            tables.append(_grouped(snapshot, of, "category", f"By category: {words}", unit))
        tables.append(_grouped(snapshot, of, "file", f"By file: {words}", unit))
    return [table for table in tables if table.rows]


def _grouped(snapshot: Snapshot, of: AllocationSet, by: GroupKind, title: str, unit: str) -> Table:
    answer = groups(snapshot, Branch(of, [by]), "bytes", 0, MOST_ROWS, descending=True)
    whole = answer.set_bytes or 1
    has_counts = any(row.count is not None for row in answer.rows)
    figures = ["Bytes" if unit == "bytes" else "Value", "Share"]

    def cells(row: Group) -> list[str]:
        count = [f"{row.count or 0:,}"] if has_counts else []
        name = row.name.text.replace("_", " ") if by == "category" else row.name.text
        return [name, format_value(row.bytes, unit), format_share(row.bytes, whole), *count]

    def detail(row: Group) -> str:
        if row.place is None or by != "line":
            return row.detail.text if row.place is None else row.place.file.removesuffix(row.name.text)
        where = f"{row.place.file}:{row.place.line}"
        return f"{'' if where == row.name.text else where} {row.place.function}".strip()

    left = answer.groups - len(answer.rows)
    rest = answer.bytes - sum(row.bytes for row in answer.rows)
    return Table(
        title,
        [by.capitalize(), *figures, *([_counted(snapshot.info)] if has_counts else [])],
        0,
        [Row(cells(row), row.bytes / whole, detail(row)) for row in answer.rows],
        f"{left:,} more with {format_value(rest, unit)} together" if left > 0 else "",
    )  # fmt: skip


def _counted(info: SnapshotInfo) -> str:
    """What is counted beside the figures of :func:`unit_of`."""
    match info:
        case TimelineInfo():
            return "Allocations"
        case ProfileInfo():
            return "Samples" if info.values[info.default_value].count is None else "Allocations"
        case GraphInfo():
            return "Objects"
        case _:
            assert_never(info)


def _bookmarks(snapshot: Snapshot, info: TimelineInfo) -> Table:
    """The bookmarks of all devices."""

    def cells(each: PlacedBookmark) -> list[str]:
        device = [each.device_name.text] if len(info.devices) > 1 else []
        live = f"{format_bytes(each.at.live_bytes)} in {counted(each.at.live_count, 'allocation')}"
        return [each.note, *device, moment_name(each), live, allocation_name(each)]

    rows = [Row(cells(each), 0) for each in bookmarks(snapshot).bookmarks]
    device = ["Device"] if len(info.devices) > 1 else []
    return Table("Bookmarks", ["Note", *device, "At", "Live then", "Allocation"], 0, rows)


def _heap_bookmarks(snapshot: Snapshot, info: GraphInfo) -> Table:
    rows = [
        Row([each.note, heap_bookmark_name(each, info.kind), _retained(each)], 0)
        for each in heap_bookmarks(snapshot).bookmarks
    ]
    return Table("Bookmarks", ["Note", "Of", "Retained"], 0, rows)


def _retained(one: HeapBookmark) -> str:
    return "" if one.retained_bytes is None else format_bytes(one.retained_bytes)


def _types(snapshot: Snapshot) -> Table:
    # of the reachable heap, as the shares in findings are
    info = graph_of(snapshot.info)
    answer = heap_types(snapshot, "-unreachable", "retained", None, "package", 0, MOST_ROWS, reverse=False)
    whole = info.reachable_bytes or 1
    left = answer.total - len(answer.rows)
    notes = [f"{left:,} more types"] if left > 0 else []
    if info.reachable_objects < info.objects:
        lost = counted(info.objects - info.reachable_objects, "object")
        size = format_bytes(info.shallow_bytes - info.reachable_bytes)
        notes.append(f"shares are of the reachable heap; {size} in {lost} that no root reaches are left out")
    return Table(
        "By type: what its objects retain",
        ["Type", "Retained", "Share", "Shallow", "Objects"],
        0,
        [
            Row(
                [
                    row.type, format_bytes(row.retained_bytes), format_share(row.retained_bytes, whole),
                    format_bytes(row.shallow_bytes), f"{row.count:,}",
                ],
                row.retained_bytes / whole,
                row.kind,
            )
            for row in answer.rows
        ],
        "; ".join(notes),
    )  # fmt: skip

"""Rows of tables for answers whose own rows have parts: paths, findings, replays and places on two sides."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from memlens.api.table import Table
from memlens.views.compare.heaps import HeapSeries
from memlens.views.compare.rows import CompareAnswer
from memlens.views.compare.series import PlaceSeries
from memlens.views.findings.answers import SnapshotFinding
from memlens.views.heap.listing.contents import row_without_contents
from memlens.views.heap.objects.lines import HeapFile, HeapLine
from memlens.views.heap.objects.rows import ObjectRow
from memlens.views.heap.paths.with_cut import PathsToObject
from memlens.views.trace.what_if import WhatIf

if TYPE_CHECKING:
    from memlens.api.arrow import ColumnType


class Finding(Struct, frozen=True):
    """A finding, with the line to look at if there is one; ``subject`` tells findings of one rule apart."""

    rule: str
    title: str
    text: str
    amount: int
    unit: str
    file: str | None
    line: int | None
    function: str | None
    subject: str
    inferred: bool
    is_note: bool

    @classmethod
    def of(cls, finding: SnapshotFinding) -> "Finding":
        """The row of a finding."""
        at = finding.line
        return cls(
            finding.rule, finding.title, finding.text, finding.figure.amount, finding.figure.unit,
            None if at is None else at.file, None if at is None else at.line or None,
            None if at is None else at.function, finding.subject, finding.inferred, finding.is_note,
        )  # fmt: skip


class Definition(Struct, frozen=True):
    """A line, or only a file, that defines a type or a function of a heap dump, and its objects."""

    file: str
    line: int | None
    name: str
    count: int
    shallow_bytes: int
    retained_bytes: int

    @classmethod
    def of(cls, row: HeapLine | HeapFile) -> "Definition":
        """The row of a definition."""
        return cls(row.file, row.line, row.name, row.count, row.shallow_bytes, row.retained_bytes)


class ComparedPlace(Struct, frozen=True):
    """A line, a function, a file or a stack on two sides: where it is after, or if it is gone, where it was before."""

    file: str
    line: int
    function: str
    kind: str
    how: str
    before_bytes: int
    after_bytes: int
    difference_bytes: int
    before_count: int
    after_count: int


def compared_places(answer: CompareAnswer) -> Iterator[ComparedPlace]:
    """The rows of a comparison."""
    for row in answer.rows:
        place = row.after or row.before
        if place is not None:
            yield ComparedPlace(
                place.file, place.line, place.function, place.kind, row.how, row.before_bytes, row.after_bytes,
                row.difference_bytes, row.before_count, row.after_count,
            )  # fmt: skip


def series_of_places_table(answer: PlaceSeries, data: Any) -> Table:
    """A row a place, its bytes in each snapshot, their difference, and whether they always grow."""
    rows = answer.rows
    return _series_table(
        {
            "file": [row.place.file for row in rows],
            "line": [row.place.line for row in rows],
            "function": [row.place.function for row in rows],
            "kind": [row.place.kind for row in rows],
            **_numbered("bytes", [row.bytes for row in rows], len(answer.total_bytes)),
            "difference_bytes": [row.difference_bytes for row in rows],
            "grows": [row.grows for row in rows],
        },
        data,
    )


def series_of_types_table(answer: HeapSeries, data: Any) -> Table:
    """A row a type, what it retains in each dump, its objects, and whether what it retains always grows."""
    rows, dumps = answer.types, len(answer.objects)
    retained = [row.retained_bytes for row in rows]
    return _series_table(
        {
            "type": [row.type for row in rows],
            **_numbered("retained_bytes", retained, dumps),
            **_numbered("count", [row.counts for row in rows], dumps),
            "difference_bytes": [each[-1] - each[0] for each in retained],
            "grows": [row.grows for row in rows],
        },
        data,
    )


def _series_table(columns: dict[str, list[Any]], data: Any) -> Table:
    others: dict[str, ColumnType] = dict.fromkeys(("file", "function", "kind", "type"), "text")
    others["grows"] = "boolean"
    return Table(columns, {name: others.get(name, "integer") for name in columns}, data)


def _numbered(name: str, rows: Sequence[Sequence[int]], snapshots: int) -> dict[str, list[int]]:
    """A column for each snapshot: ``bytes_1``, ``bytes_2`` and so on."""
    return {f"{name}_{number + 1}": [row[number] for row in rows] for number in range(snapshots)}


class Step(Struct, frozen=True):
    """A step of a path from a root to an object: a reference and its target. The first step has the kind of root."""

    path: int
    step: int
    reference: str
    strength: str
    id: int
    type: str
    name: str
    shallow_bytes: int
    retained_bytes: int
    freed_bytes: int | None
    file: str | None
    line: int | None


def steps_of(answer: PathsToObject, *, values: bool) -> Iterator[Step]:
    """The steps of all paths, from the root down, without those that the answer leaves out of a long path.

    Without ``values``, objects and references have no names that are contents.
    """
    shown: Callable[[Any], Any] = (lambda row: row) if values else row_without_contents

    def step(path: int, number: int, reference: str, strength: str, to: ObjectRow, freed: int | None) -> Step:
        return Step(
            path, number, reference, strength, to.id, to.type, to.name, to.shallow_bytes, to.retained_bytes, freed,
            to.file, to.line,
        )  # fmt: skip

    for number, path in enumerate(answer.paths, 1):
        roots = ", ".join(dict.fromkeys(root.kind for root in path.roots))
        yield step(number, 0, roots, "strong", shown(path.root), None)
        for place, each in enumerate(path.steps):
            skipped = path.left_out if place >= len(path.steps) // 2 else 0
            named = shown(each)
            yield step(
                number, place + 1 + skipped, named.name, each.strength, shown(each.object), each.freed_bytes
            )


class Replay(Struct, frozen=True):
    """A replay of a trace: what would have been live and reserved at the peak, and where memory would have run out."""

    settings: str
    without: str
    halve: str
    free_at_once: str
    recompute: str
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    out_of_memory_event: int | None
    asked_bytes: int | None
    missing_bytes: int | None


def replays_of(answer: WhatIf) -> Iterator[Replay]:
    """The rows of the answer, the recorded trace first."""
    for row in answer.rows:
        changes, failure = row.changes, row.out_of_memory
        yield Replay(
            row.settings,
            " ".join(changes.without),
            " ".join(changes.halve),
            " ".join(changes.free_at_once),
            " ".join(changes.recompute),
            row.peak_allocated_bytes,
            row.peak_reserved_bytes,
            None if failure is None else failure.event,
            None if failure is None else failure.asked_bytes,
            None if failure is None else failure.missing_bytes,
        )

"""Rows of tables for answers whose own rows have parts: paths, findings, replays and places on two sides."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from memlens.views.compare.rows import CompareAnswer
from memlens.views.findings.answers import SnapshotFinding
from memlens.views.heap.listing.contents import row_without_contents
from memlens.views.heap.objects.lines import HeapFile, HeapLine
from memlens.views.heap.objects.rows import ObjectRow
from memlens.views.heap.paths.with_cut import PathsToObject
from memlens.views.trace.what_if import WhatIf


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

"""The tables of a fleet's summaries, declared once: a struct for each, a field for each column.

SQLite's tables, the Parquet schema and the tables of docs/fleet.md follow from these structs. ``snapshot`` is the
number of a row of ``snapshots``. Bytes are the snapshot's own figures; times are microseconds, ``unix_us`` since 1970
by the clock of the recording machine. What a file doesn't say is NULL.

Summaries have names from code (files, functions, types, steps) and figures, but none of the program's data: no contents
of strings, no labels, no metadata.
"""

from functools import cache
from typing import Annotated, Literal, NamedTuple, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct

SCHEMA_VERSION = 1
"""Raised whenever a summary of an older version could be misread."""

SCHEMA_KEY = "memlens.schema_version"
"""Where Parquet files have it."""

Status = Literal["ok", "damaged", "other", "failed"]
"""Read; damaged; not a snapshot; not read, for a reason that is not in the file."""


def _is(description: str) -> Meta:
    return Meta(description=description)


Text = str
"""A text with few distinct values: tables keep its number in ``names``."""


class SnapshotRow(Struct, frozen=True):
    """A file of the fleet."""

    snapshot: Annotated[int, _is("the file's number in these tables")]
    name: Annotated[str, _is("its path below PLACE")]
    rank: Annotated[
        int | None, _is("inferred: the number after “rank” in the name, else the last that stands alone")
    ]
    status: Annotated[
        Status,
        _is("ok; damaged; other: not a snapshot; failed: not read, for a reason that is not in the file"),
    ]
    problem_code: Annotated[str | None, _is("of what kind the problem is, where there is one")]
    problem: Annotated[str | None, _is("the problem as a sentence, with its place in the file")]
    model: Annotated[str | None, _is("timeline, profile or graph")]
    kind: Annotated[str | None, _is("the format")]
    size_bytes: Annotated[int, _is("the size of the file")]
    content: Annotated[str | None, _is("XXH64 of the file's bytes")]
    identity: Annotated[
        str, _is("what shows in the store that the file has changed: its size, with time or tag")
    ]
    peak_bytes: Annotated[
        int | None,
        _is(
            "the most that was live on the device shown first; of a profile live or at the peak; of a dump reachable"
        ),
    ]
    peak_unix_us: Annotated[int | None, _is("when that was")]
    end_bytes: Annotated[int | None, _is("live at the end on that device")]
    ooms: Annotated[int, _is("out-of-memory events on all devices")]
    steps: Annotated[int, _is("steps found on all devices")]
    lines_left_out: Annotated[int, _is("lines that are in the snapshot and not in the summary: the smallest")]
    types_left_out: Annotated[int, _is("likewise of types")]
    worker: Annotated[str | None, _is("who read it")]
    attempts: Annotated[int, _is("how many workers began to read it")]
    seconds: Annotated[float, _is("how long the last of them took, with fetching")]
    memory_bytes: Annotated[
        int | None, _is("the peak resident set of the process that read it, with mapped pages")
    ]


class FigureRow(Struct, frozen=True, array_like=True):
    """A figure of a whole snapshot."""

    device: Annotated[int | None, _is("the device, NULL for other models")]
    name: Annotated[Text, _is("what it is: a column of `memlens info`, or the name of a profile's value")]
    unit: Annotated[Text, _is("bytes, count or the profile's own")]
    amount: Annotated[int, _is("the figure")]


class PeakRow(Struct, frozen=True, array_like=True):
    """A device of a trace at its peak."""

    device: Annotated[int, _is("the device; 65,536 is pinned host memory")]
    peak_bytes: Annotated[int, _is("the most that was live")]
    peak_moment: Annotated[int, _is("after how many events")]
    peak_us: Annotated[int | None, _is("when, since the first event")]
    peak_unix_us: Annotated[int | None, _is("when, by the clock")]
    origin_unix_us: Annotated[int | None, _is("when the first event was")]
    end_bytes: Annotated[int, _is("live at the end")]
    end_count: Annotated[int, _is("allocations live at the end")]
    reserved_bytes: Annotated[int | None, _is("reserved at the end")]
    ooms: Annotated[int, _is("out-of-memory events")]


class CurveRow(Struct, frozen=True, array_like=True):
    """One of the columns of equal length into which a device's or a profile's whole time is divided."""

    device: Annotated[int, _is("the device; 0 for a profile")]
    number: Annotated[int, _is("the column, from 0")]
    unit: Annotated[
        Text, _is("of from_x and to_x: microseconds since the first event, events, or the profile's own")
    ]
    from_x: Annotated[float, _is("where the column begins")]
    to_x: Annotated[float, _is("where it ends")]
    highest_bytes: Annotated[int, _is("the most that was live in it")]
    lowest_bytes: Annotated[int, _is("the least")]


class LineRow(Struct, frozen=True, array_like=True):
    """A source line and what is charged to it: rows of a snapshot add up to all that has been allocated.

    What is charged to no line has an empty file and line 0. Of a trace with several devices each counts at its peak.
    """

    file: Annotated[Text, _is("as the snapshot spells it")]
    line: Annotated[int, _is("from 1")]
    function: Annotated[Text, _is("the function on that line")]
    code: Annotated[Text, _is("user, library or native")]
    peak_bytes: Annotated[int, _is("live at the peak")]
    end_bytes: Annotated[int, _is("live at the end")]
    total_bytes: Annotated[int, _is("allocated in total")]
    count: Annotated[int, _is("allocations in total")]


class StepRow(Struct, frozen=True, array_like=True):
    """A step of a run."""

    device: Annotated[int, _is("the device")]
    number: Annotated[int, _is("from 0")]
    name: Annotated[Text, _is("the name of its annotation, or a number")]
    inferred: Annotated[bool, _is("whether it was inferred from the period of the trace")]
    from_us: Annotated[float | None, _is("when it begins, since the first event")]
    to_us: Annotated[float | None, _is("when it ends")]
    peak_bytes: Annotated[int, _is("the most that was live in it")]
    end_bytes: Annotated[int, _is("live at its end")]
    allocated_bytes: Annotated[int, _is("allocated in it")]
    kept_bytes: Annotated[int, _is("allocated in it and live at the end of the trace")]


class FindingRow(Struct, frozen=True, array_like=True):
    """A finding: docs/findings.md has the rules."""

    rule: Annotated[Text, _is("the rule's stable name")]
    title: Annotated[Text, _is("the rule's name for people")]
    text: Annotated[str, _is("the sentence; of a dump title and figure, since its sentences quote data")]
    amount: Annotated[int, _is("its figure")]
    unit: Annotated[Text, _is("the figure's unit")]
    figure: Annotated[Text, _is("what the figure measures")]
    file: Annotated[Text, _is("where to look, empty for nowhere")]
    line: Annotated[int, _is("its line, 0 for none")]
    function: Annotated[Text, _is("its function")]
    inferred: Annotated[bool, _is("whether it rests on something inferred")]


class TypeRow(Struct, frozen=True, array_like=True):
    """A type of a heap dump's objects."""

    type: Annotated[Text, _is("its name")]
    kind: Annotated[Text, _is("its kind")]
    count: Annotated[int, _is("its objects")]
    shallow_bytes: Annotated[int, _is("their own bytes")]
    retained_bytes: Annotated[int, _is("what would be freed with them")]
    file: Annotated[Text, _is("where it is defined, empty where that isn't known")]
    line: Annotated[int, _is("its line, 0 for none")]


class OomRow(Struct, frozen=True, array_like=True):
    """An out-of-memory event."""

    device: Annotated[int, _is("the device")]
    event: Annotated[int, _is("its number there, from 0")]
    us: Annotated[float | None, _is("when, since the first event")]
    unix_us: Annotated[int | None, _is("when, by the clock")]
    requested_bytes: Annotated[int, _is("what was requested, 0 where that isn't known")]
    device_free_bytes: Annotated[int | None, _is("what the device had free")]
    live_bytes: Annotated[int, _is("what was live")]
    text: Annotated[str, _is("what happened, in a sentence")]
    file: Annotated[Text, _is("the line that asked, empty where that isn't known")]
    line: Annotated[int, _is("its line, 0 for none")]
    function: Annotated[Text, _is("its function")]


class Summary(Struct, frozen=True):
    """The summary of one snapshot. The first fields are those of :class:`SnapshotRow`, the others are tables."""

    model: str
    kind: str
    peak_bytes: int | None
    peak_unix_us: int | None
    end_bytes: int | None
    lines_left_out: int
    types_left_out: int
    memory_bytes: int | None
    figures: list[FigureRow]
    peaks: list[PeakRow]
    curves: list[CurveRow]
    lines: list[LineRow]
    steps: list[StepRow]
    findings: list[FindingRow]
    types: list[TypeRow]
    ooms: list[OomRow]


class Column(NamedTuple):
    """A column of a table."""

    name: str
    type: Literal["integer", "real", "text", "boolean"]
    optional: bool
    named: bool
    """Whether tables keep a name's number and not its text."""
    description: str


SNAPSHOTS = "snapshots"

TABLES: dict[str, type[Struct]] = {
    "figures": FigureRow,
    "peaks": PeakRow,
    "curves": CurveRow,
    "lines": LineRow,
    "steps": StepRow,
    "findings": FindingRow,
    "types": TypeRow,
    "ooms": OomRow,
}
"""The tables with rows for each snapshot, in the order of the docs; their first column is ``snapshot``."""

_TYPES: dict[object, Literal["integer", "real", "text", "boolean"]] = {
    int: "integer", float: "real", str: "text", bool: "boolean",
}  # fmt: skip
_FREE_TEXTS = {"text", "problem"}
"""Sentences, which are nearly all distinct."""


@cache
def columns_of(table: str) -> tuple[Column, ...]:
    """The columns of a table in SQL and Parquet."""
    if table == SNAPSHOTS:
        return tuple(_columns(SnapshotRow, named=False))
    number = Column("snapshot", "integer", False, False, "a row of `snapshots`")
    return (number, *_columns(TABLES[table], named=True))


def _columns(row: type[Struct], *, named: bool) -> list[Column]:
    hints = get_type_hints(row, include_extras=True)
    columns = []
    for name in row.__struct_fields__:
        kind, meta = get_args(hints[name])
        optional = type(None) in get_args(kind)
        if optional:
            kind = next(part for part in get_args(kind) if part is not type(None))
        kind = str if get_origin(kind) is Literal else kind
        is_named = named and kind is str and name not in _FREE_TEXTS
        columns.append(Column(name, _TYPES[kind], optional, is_named, meta.description))
    return columns

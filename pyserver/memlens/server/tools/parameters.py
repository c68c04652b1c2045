"""The arguments of the tools. A model reads the descriptions."""

from typing import Annotated, Literal, TypeVar

from msgspec import UNSET, Meta, Struct, UnsetType, field

from memlens.model.attribution import Attribution
from memlens.model.graph import RETAINING, Strength
from memlens.views.compare.sides import CompareBy
from memlens.views.flame.calls import MOST_LEVELS, CallsOf
from memlens.views.heap.listing.lists import GroupedBy
from memlens.views.selection.sets import SetKind
from memlens.views.tables.groupings import GroupKind

T = TypeVar("T")

MOST_ROWS = 100
MOST_FILES = 20
"""Of a series."""

Path = Annotated[
    str,
    Meta(description="The snapshot file, as an absolute path or one relative to the working directory."),
]
Device = Annotated[
    int,
    Meta(ge=0, description="The device of a trace; the one with the highest peak if left out."),
]
Filter = Annotated[
    str,
    Meta(
        max_length=4096,
        description="Terms as in Memlens's filter, all of which must match. Traces and profiles: line:train.py:46, "
        "function:forward, file:model.py, by:=train.py:46, size>1MiB, category:gradient. Heap dumps: type:Session, "
        "extends:AbstractMap, name:onTick, retained>1MiB, shallow>1KiB, field:cache, held-by:Map, distance<5, "
        'unreachable, is:detached, finding:"Duplicate strings", query:"SELECT object FROM objects WHERE …"; where '
        "ids last in:FILE, what another dump of the process has as well: of a third dump -in:FIRST in:SECOND is what "
        "was allocated between these two. A leading - negates a term.",
    ),
]
ValueName = Annotated[
    str,
    Meta(
        max_length=1000,
        description="Profiles only: which value is summed, by its name in memlens_summary, or as live, peak, total, "
        "count, temporary or leaked.",
    ),
]
Limit = Annotated[int, Meta(ge=1, le=MOST_ROWS, description="The maximum number of rows in each list.")]
Inclusive = Annotated[bool, Meta(description="Count what a place allocated, including all that it called.")]
Search = Annotated[
    str, Meta(max_length=1000, description="Only rows whose names contain all of these words.")
]
AnyCode = Annotated[
    bool,
    Meta(
        description="Charge bytes to the innermost frame of any code, not to the innermost of the user's own code."
    ),
]
Values = Annotated[
    bool,
    Meta(
        description="Also send what objects contain: the text of strings, and the values of fields. Ask for it only "
        "if the question can't be answered by types, names and sizes: they may be private."
    ),
]
Number = Annotated[
    int, Meta(ge=0, description="The object's number: the field `object` of a row of any answer.")
]
Id = Annotated[
    str, Meta(max_length=100, description="The object's own id or address, such as 5143, @5143 or 0x7f00.")
]


def given(value: T | UnsetType) -> T | None:
    """An argument, None if it was left out."""
    return None if value is UNSET else value


def attribution_of(*, any_code: bool) -> Attribution:
    """The rule by which frames are charged."""
    return "any" if any_code else "mine"


class Asked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question about one file."""

    path: Path | UnsetType = UNSET


class SummaryArguments(Asked, frozen=True, kw_only=True):
    """Arguments of ``memlens_summary``."""

    device: Device | UnsetType = UNSET
    of: Annotated[
        str,
        Meta(
            max_length=4096,
            description="Heap dumps only: instead of the whole dump, what is wasted in what the objects of this filter "
            "retain together, such as package:org.acme or @5143: copies, empty and sparse collections, boxes.",
        ),
    ] = ""
    values: Values = False


By = Literal[GroupKind, GroupedBy, "type", "object"]

Moment = Annotated[
    str,
    Meta(
        max_length=100,
        description='When, always with a unit. Traces: peak, end, all (all that was ever allocated), start, "11712 '
        'events" (after so many), or a time: "545.6 ms" or "0.5456 s" since the first event, or a time of day with its '
        'zone such as "2026-03-04T05:06:07Z". Profiles over time: peak, end, all, a time since the start, or '
        '"12 bins". If left out, the peak of a trace, or the value of a profile that is shown first.',
    ),
]
End = Annotated[
    str,
    Meta(
        max_length=100,
        description="The end of a range of moments, written like `at`, which is its beginning (the start if left out).",
    ),
]
Kind = Annotated[
    SetKind,
    Meta(
        description="Of a range: what was live in it (as if left out), allocated or freed in it, or allocated in it "
        "and live at its end (survived)."
    ),
]


class OfSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The allocations or samples that a question is about."""

    at: Moment | UnsetType = UNSET
    to: End | UnsetType = UNSET
    kind: Kind | UnsetType = UNSET
    filter: Filter = ""
    device: Device | UnsetType = UNSET
    value: ValueName | UnsetType = UNSET


class TopArguments(OfSet, frozen=True, kw_only=True):
    """Arguments of ``memlens_top``."""

    path: Path | UnsetType = UNSET
    by: (
        Annotated[
            By,
            Meta(
                description="What rows are. All but heap dumps: line, function, file, stack, size; traces also module, "
                "freed (the line that freed), category, stream, pool; profiles also package, thread, label. Heap "
                "dumps: type, package, kind, object, thread, and line (of definition, or of allocation if the dump has "
                "stacks; then also function, file, stack). If left out, line, or type for a heap dump."
            ),
        ]
        | UnsetType
    ) = UNSET
    inclusive: Annotated[
        bool,
        Meta(
            description="By line or function: rank by what each allocated, including what it called. Such sums overlap."
        ),
    ] = False
    any_code: AnyCode = False
    group: (
        Annotated[
            int,
            Meta(ge=0, description="Heap dumps by object: only those of this group of the dominator tree."),
        ]
        | UnsetType
    ) = UNSET
    values: Values = False
    limit: Limit = 20


class CallsArguments(OfSet, frozen=True, kw_only=True):
    """Arguments of ``memlens_calls``."""

    path: Path | UnsetType = UNSET
    of: Annotated[
        CallsOf,
        Meta(
            description="Callers: through what the place was reached. Callees: in what it called bytes were allocated."
        ),
    ]
    function: Annotated[
        str, Meta(max_length=1000, description="The function's name, exactly, or else a part of it.")
    ] = ""
    file: Annotated[
        str,
        Meta(max_length=4096, description="The function's file or the line's: its path, or the end of it."),
    ] = ""
    line: (
        Annotated[
            int,
            Meta(
                ge=1, description="A line's number in `file`; rows are then lines, otherwise whole functions."
            ),
        ]
        | UnsetType
    ) = UNSET
    levels: Annotated[
        int, Meta(ge=1, le=MOST_LEVELS, description="How many levels of callers or callees.")
    ] = 1
    limit: Annotated[
        int, Meta(ge=1, le=MOST_ROWS, description="The maximum number of rows for each place.")
    ] = 20


class StackArguments(Asked, frozen=True, kw_only=True):
    """Arguments of ``memlens_stack``."""

    allocation: (
        Annotated[int, Meta(ge=0, description="Traces only: the number of an allocation.")] | UnsetType
    ) = UNSET
    stack: (
        Annotated[
            int, Meta(ge=0, description="The number of a stack: the key of a row of memlens_top by stack.")
        ]
        | UnsetType
    ) = UNSET
    thread: (
        Annotated[
            int,
            Meta(
                ge=0, description="Heap dumps: the number of a thread, from a row of memlens_top by thread."
            ),
        ]
        | UnsetType
    ) = UNSET
    values: Values = False


class StepsArguments(Asked, frozen=True, kw_only=True):
    """Arguments of ``memlens_steps``."""

    device: Device | UnsetType = UNSET
    filter: Filter = ""
    limit: Limit = 20


FilterText = Annotated[str, Meta(max_length=4096)]
"""One of several filters."""


class WhatIfArguments(Asked, frozen=True, kw_only=True):
    """Arguments of ``memlens_what_if``."""

    device: Device | UnsetType = UNSET
    settings: Annotated[
        list[Annotated[str, Meta(max_length=400)]],
        Meta(
            max_length=8,
            description="Settings to try, each as a value of PYTORCH_CUDA_ALLOC_CONF, as expandable_segments:True or "
            "max_split_size_mb:128. Without any, and without changes, some that may help.",
        ),
    ] = field(default_factory=list)
    without: Annotated[
        list[FilterText],
        Meta(
            max_length=8,
            description="Filters whose allocations are left out, as by:train.py:46 or category:gradient.",
        ),
    ] = field(default_factory=list)
    halve: Annotated[
        list[FilterText],
        Meta(max_length=8, description="Filters whose allocations have half as many bytes."),
    ] = field(default_factory=list)
    free_at_once: Annotated[
        list[FilterText],
        Meta(max_length=8, description="Filters whose allocations are freed before the next event."),
    ] = field(default_factory=list)
    recompute: Annotated[
        list[FilterText],
        Meta(
            max_length=8,
            description="Filters whose allocations are freed when their layer has run and computed again in the "
            "backward pass (activation checkpointing), as module:Block.",
        ),
    ] = field(default_factory=list)
    beside: (
        Annotated[
            str,
            Meta(
                description="A trace of the same program with a smaller batch, sequence or model, for `sizes`; an "
                "absolute path or one relative to the working directory."
            ),
        ]
        | UnsetType
    ) = UNSET
    sizes: Annotated[
        list[Annotated[int, Meta(ge=1, lt=10**12)]],
        Meta(
            max_length=16,
            description="The trace's size alone, to learn which larger one certainly fits; or that of `beside`, that "
            "of the trace, and others to work out. Not with settings or changes.",
        ),
    ] = field(default_factory=list)
    capacity_bytes: (
        Annotated[
            int,
            Meta(
                ge=1, le=1 << 60, description="What can be reserved; by the first out of memory if left out."
            ),
        ]
        | UnsetType
    ) = UNSET


class ObjectArguments(Asked, frozen=True, kw_only=True):
    """Arguments of ``memlens_object``."""

    id: Id | UnsetType = UNSET
    number: Number | UnsetType = UNSET
    values: Values = False
    limit: Limit = 10


class PathsArguments(Asked, frozen=True, kw_only=True):
    """Arguments of ``memlens_paths``."""

    id: Id | UnsetType = UNSET
    number: Number | UnsetType = UNSET
    filter: Annotated[
        str,
        Meta(
            max_length=4096,
            description='Instead of one object, all that match a filter such as type:"=Session": their paths merged '
            "into a tree of types and reference names, with counts and bytes.",
        ),
    ] = ""
    through: Annotated[
        list[Strength],
        Meta(
            max_length=6,
            description="Follow references of these strengths besides strong ones; soft ones if left out.",
        ),
    ] = field(default_factory=lambda: list[Strength](RETAINING))
    values: Values = False
    limit: Annotated[
        int,
        Meta(
            ge=1,
            le=MOST_ROWS,
            description="The maximum number of paths to one object (at most 20), or of steps of the tree.",
        ),
    ] = 3


class CompareArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``memlens_compare``."""

    before: Path
    after: Path | UnsetType = UNSET
    by: (
        Annotated[
            Literal[CompareBy, "type", "finding"],
            Meta(
                description="What rows are. If left out, type for heap dumps, else line. Of two heap dumps finding "
                "says which findings are new or gone, and how much each grew."
            ),
        ]
        | UnsetType
    ) = UNSET
    at: Moment | UnsetType = UNSET
    before_at: (
        Annotated[
            str,
            Meta(
                max_length=100,
                description="When in the first file, in place of `at`: to compare two moments of one run.",
            ),
        ]
        | UnsetType
    ) = UNSET
    after_at: (
        Annotated[str, Meta(max_length=100, description="When in the second file, in place of `at`.")]
        | UnsetType
    ) = UNSET
    device: Annotated[int, Meta(ge=0, description="The device of both traces.")] | UnsetType = UNSET
    value: ValueName | UnsetType = UNSET
    inclusive: Inclusive = False
    any_code: AnyCode = False
    search: Search = ""
    filter: Annotated[
        str, Meta(max_length=4096, description="Heap dumps only: compare the objects that match this filter.")
    ] = ""
    values: Values = False
    limit: Limit = 20


class SeriesArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of ``memlens_series``."""

    paths: Annotated[
        list[Path],
        Meta(
            min_length=2,
            max_length=MOST_FILES,
            description="The snapshot files, all of one kind, the earliest first.",
        ),
    ]
    by: (
        Annotated[
            Literal["line", "function", "file", "type"],
            Meta(description="What rows are. Heap dumps are compared by type, others by line if left out."),
        ]
        | UnsetType
    ) = UNSET
    at: Moment | UnsetType = UNSET
    device: Annotated[int, Meta(ge=0, description="The device of all traces.")] | UnsetType = UNSET
    value: ValueName | UnsetType = UNSET
    inclusive: Inclusive = False
    any_code: AnyCode = False
    search: Search = ""
    filter: Filter = ""
    limit: Limit = 20


class SqlArguments(Asked, frozen=True, kw_only=True):
    """Arguments of ``memlens_sql``."""

    query: Annotated[
        str,
        Meta(
            max_length=100_000,
            description="One SELECT in SQLite's dialect. If empty, the answer is the file's tables with their columns, "
            "and example queries: ask for these first.",
        ),
    ] = ""
    values: Annotated[
        bool,
        Meta(
            description="Heap dumps: also read what objects contain. Without it the columns of names and texts are "
            "NULL. Ask for it only if types, sizes and references don't answer the question: they may be private."
        ),
    ] = False
    limit: Annotated[int, Meta(ge=1, le=500, description="The maximum number of rows.")] = 50

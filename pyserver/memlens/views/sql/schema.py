"""Descriptions of the tables and functions for SQL, from the schema's comments, for completion and for people."""

import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib.resources import files
from typing import Literal, assert_never

from msgspec import Struct

from memlens.model.info import GraphInfo, ProfileInfo, SnapshotInfo, TimelineInfo
from memlens.packs import registry
from memlens.store.models import heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.store.tables.schema import SHARED, statements
from memlens.views.heap.objects.realms import has_realms
from memlens.views.heap.objects.unread_variables import has_unread
from memlens.views.sql.confined import FUNCTIONS
from memlens.views.sql.heap import HEAP_FUNCTIONS
from memlens.views.sql.live import LIVE_FUNCTIONS
from memlens.views.sql.what_if import WHAT_IF_FUNCTIONS

TableKind = Literal["table", "view", "function"]

_KEYWORDS = """
    ALL AND AS ASC BETWEEN BY CASE CAST COLLATE CROSS CURRENT DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS EXPLAIN FILTER
    FIRST FOLLOWING FROM FULL GLOB GROUP HAVING IN INNER INTERSECT IS ISNULL JOIN LAST LEFT LIKE LIMIT MATERIALIZED
    NATURAL NOT NOTNULL NULL NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PLAN PRECEDING QUERY RANGE RECURSIVE RIGHT
    ROW ROWS SELECT THEN UNBOUNDED UNION USING VALUES WHEN WHERE WINDOW WITH
"""
KEYWORDS = tuple(_KEYWORDS.split())


class SqlTableColumn(Struct, frozen=True):
    """A column, with its unit in its description."""

    name: str
    type: str
    description: str


class SqlTable(Struct, frozen=True):
    """Something to select from. ``arguments`` are those of a function, in order; each is optional."""

    name: str
    kind: TableKind
    description: str
    arguments: list[str]
    columns: list[SqlTableColumn]


class SqlExample(Struct, frozen=True):
    """A query that answers the question of its title."""

    title: str
    query: str


class SqlSchema(Struct, frozen=True):
    """Everything that a query may name, and example queries."""

    tables: list[SqlTable]
    functions: list[str]
    keywords: list[str]
    examples: list[SqlExample]


_OF_ALL = frozenset(("stacks", "stack_frames", "frames", "lines", "by_line"))
_OF_PROFILES = frozenset(("value_types", "samples", "sample_values", "labels", '"values"'))
_OF_GRAPHS = frozenset(
    ("objects", "refs", "types", "roots", "strings", "threads", "thread_frames", "variables", *HEAP_FUNCTIONS)
)


_OF_FRAMEWORKS = {
    "unread": frozenset(("unread_variables",)),
    "realms": frozenset(("realms",)),
}
"""By what only some programs and dumps have."""


def schema_of(snapshot: Snapshot) -> SqlSchema:
    """The schema of a snapshot: the tables that its model and its program fill, and queries about them."""
    frameworks = []
    if heap_dump_of(snapshot.info) is not None:
        known = {"unread": has_unread, "realms": has_realms}
        frameworks = [name for name, has in known.items() if has(snapshot)]
    return schema(snapshot.info, frameworks)


def schema(info: SnapshotInfo, frameworks: Collection[str] = ()) -> SqlSchema:
    """The same by what is known of a snapshot, and which frameworks the program of a heap dump has."""
    names = {table.name for table in _tables()} - _OF_ALL
    has_stacks = True
    match info:
        case TimelineInfo():
            own = names - _OF_PROFILES - _OF_GRAPHS
            own -= frozenset(WHAT_IF_FUNCTIONS if registry.replay_of(info.kind) is None else ())
        case ProfileInfo():
            own = names & _OF_PROFILES
        case GraphInfo():
            has_stacks = info.allocations is not None
            own = names & (_OF_GRAPHS | _OF_PROFILES if has_stacks else _OF_GRAPHS)
        case _:
            assert_never(info)
    for framework, of_framework in _OF_FRAMEWORKS.items():
        own -= of_framework if framework not in frameworks else frozenset()
    chosen = (_OF_GRAPHS & own, own - _OF_GRAPHS, _OF_ALL if has_stacks else frozenset[str]())
    # those first that only such files have: what is about objects, then what is about allocations
    tables = [table for some in chosen for table in _tables() if table.name in some]
    functions: list[str] = sorted(name for name in FUNCTIONS if name[0].isalpha())
    return SqlSchema(tables, functions, list(KEYWORDS), examples(info, frameworks))


def examples(info: SnapshotInfo, frameworks: Collection[str] = ()) -> list[SqlExample]:
    """Example queries, each below its title, from a file for each model.

    Those about a profile name the value that it shows first; those about labels, sizes or threads are listed if it has
    any.
    """
    match info:
        case TimelineInfo():
            return [
                SqlExample(title, query)
                for needs, title, query in _queries(_file("timeline_examples.sql"))
                if not needs or registry.replay_of(info.kind) is not None
            ]
        case ProfileInfo():
            return _profile_examples(info)
        case GraphInfo():
            own = registry.sql_examples(info.kind)
            strings = ", ".join(
                f"'{name}'" for name in sorted({"String", *registry.objects_of(info.kind).texts.strings})
            )
            return [
                SqlExample(title, query.replace("STRING_TYPES", strings))
                for needs, title, query in (*_queries(_file("graph_examples.sql")), *_queries(own))
                if not needs or (needs == "threads" and info.threads) or needs in frameworks
            ]
        case _:
            assert_never(info)


def _profile_examples(profile: ProfileInfo) -> list[SqlExample]:
    has = {"": True, "labels": bool(profile.labels), "sizes": profile.has_sizes}
    value = profile.values[profile.default_value].name.replace("'", "''")
    return [
        SqlExample(title, query.replace("VALUE", value))
        for needs, title, query in _queries(_file("profile_examples.sql"))
        if has[needs]
    ]


@cache
def _file(name: str) -> str:
    return files("memlens.views.sql").joinpath(name).read_text("utf-8")


def _queries(text: str) -> list[tuple[str, str, str]]:
    """The requirement, title and text of each query of a file."""
    parts = re.split(r"^-- #([a-z]*) (.+)\n", text, flags=re.MULTILINE)[1:]
    return [
        (needs, title, query.strip())
        for needs, title, query in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    ]


_COLUMN = re.compile(r"^ {4}(?P<name>[a-z_]+) (?P<type>[A-Z]+)\b.*?(--\s*(?P<description>.*))?$")
_LATER = re.compile(r"^ {4}-- (?P<name>[a-z_]+): (?P<description>.*)$")
_OF_VIEW = re.compile(r"^ {4}.*-- (?P<name>[a-z_]+) (?P<type>[A-Z]+): (?P<description>.*)$")
_SELECTED = re.compile(r"\b(?:[a-z]\.)?([a-z_]+)(?=[,\n])")


@cache
def _tables() -> tuple[SqlTable, ...]:
    """All tables, views and functions."""
    return tuple(_described())


def _described() -> Iterator[SqlTable]:
    known: dict[str, SqlTableColumn] = {}
    of_tables: dict[str, dict[str, SqlTableColumn]] = {}
    for statement in statements():
        if statement.kind == "INDEX" or statement.name in SHARED:
            continue
        columns = _columns(statement.sql)
        if columns:
            of_tables[statement.name] = {column.name: column for column in columns}
        else:
            names = _SELECTED.findall(statement.sql[: statement.sql.index("\nFROM")] + "\n")
            columns = [known[name] for name in names]
        for column in columns:
            known.setdefault(column.name, column)
        name = '"values"' if statement.name == "values" else statement.name
        yield SqlTable(name, "table" if statement.kind == "TABLE" else "view", statement.about, [], columns)
    for name, function in (LIVE_FUNCTIONS | WHAT_IF_FUNCTIONS).items():
        columns = [(known | _OF_REPLAYS)[column] for column in function.columns]
        yield SqlTable(name, "function", function.about, list(function.arguments), columns)
    for name, function in HEAP_FUNCTIONS.items():
        # where a reference is named, its name and kind stand beside the object
        of_reference = of_tables["refs"] if "kind" in function.columns else {}
        own = _OWN_COLUMNS | of_tables["objects"] | of_reference | _COLUMNS_OF.get(name, {})
        columns = [own[column] for column in function.columns]
        yield SqlTable(name, "function", function.about, list(function.arguments), columns)


_OF_REPLAYS = {
    "replay": SqlTableColumn("replay", "INTEGER", "number of the replay; 0 is the trace itself"),
    "settings_tried": SqlTableColumn(
        "settings_tried", "TEXT", "its settings, as PYTORCH_CUDA_ALLOC_CONF has them"
    ),
    "peak_allocated_bytes": SqlTableColumn(
        "peak_allocated_bytes",
        "INTEGER",
        "the most that was live at one moment, up to the failure if there is one",
    ),
    "peak_reserved_bytes": SqlTableColumn("peak_reserved_bytes", "INTEGER", "the most that was reserved"),
    "failed_event": SqlTableColumn(
        "failed_event",
        "INTEGER",
        "the event, of those of the device, that got no memory; -1 for what was live before the first; NULL for none",
    ),
    "missing_bytes": SqlTableColumn(
        "missing_bytes", "INTEGER", "what it would have needed more; NULL if that isn't known"
    ),
}

_OWN_COLUMNS = {
    "class": SqlTableColumn("class", "INTEGER", "the object that is the class"),
    "steps": SqlTableColumn("steps", "INTEGER", "how many classes it is below; 0 for the class itself"),
    "path": SqlTableColumn("path", "INTEGER", "number of the path, the shortest 0"),
    "step": SqlTableColumn("step", "INTEGER", "references from the root"),
    "refs": SqlTableColumn("refs", "INTEGER", "how many such references there are"),
    "referrers": SqlTableColumn("referrers", "INTEGER", "how many objects refer so"),
    "objects": SqlTableColumn("objects", "INTEGER", "how many objects of the type they refer to"),
    "field": SqlTableColumn("field", "TEXT", "the field's name"),
    "content": SqlTableColumn(
        "content", "ANY", "its value, or the text or value of the object it refers to; NULL if not known"
    ),
    "position": SqlTableColumn("position", "INTEGER", "from 0, in a list the index"),
    "key": SqlTableColumn("key", "INTEGER", "the object that is the key; NULL for lists and sets"),
    "key_type": SqlTableColumn("key_type", "TEXT", "its type's name"),
    "key_name": SqlTableColumn("key_name", "TEXT", "its own name, a string's text or a number's value"),
    "size": SqlTableColumn("size", "INTEGER", "how many elements it has; NULL if not known"),
    "slots": SqlTableColumn("slots", "INTEGER", "the length of its own array; NULL if it has none"),
    "used_slots": SqlTableColumn(
        "used_slots", "INTEGER", "those that aren't null; in hash tables less than size where keys collide"
    ),
    "length": SqlTableColumn("length", "INTEGER", "how many elements it has"),
    "used": SqlTableColumn(
        "used",
        "INTEGER",
        "of references those that aren't null, of numbers those up to the last that isn't 0",
    ),
    "is_constant": SqlTableColumn(
        "is_constant", "INTEGER", "1 if all numbers in it are equal, else 0; NULL for references"
    ),
    "contents": SqlTableColumn(
        "contents", "TEXT", "a hash of its numbers, which equal arrays share; NULL for references"
    ),
    "realm": SqlTableColumn(
        "realm",
        "INTEGER",
        "the object that is the realm; NULL for what is of none, -1 for what several share",
    ),
    "address": SqlTableColumn(
        "address", "TEXT", "its address, with the script that defines most of its functions"
    ),
    "context": SqlTableColumn("context", "INTEGER", "the context of closures that has the variable"),
    "variable": SqlTableColumn("variable", "TEXT", "its name"),
    "scope": SqlTableColumn(
        "scope", "INTEGER", "a number of the scope that declares it, for its contexts together"
    ),
    "function": SqlTableColumn("function", "TEXT", "the function that declares it"),
    "held_otherwise": SqlTableColumn(
        "held_otherwise", "INTEGER", "0 if only such variables keep the object alive, else 1"
    ),
}
"""Columns of functions that no table has."""

_COLUMNS_OF = {
    "elements_of": {
        "value": SqlTableColumn(
            "value",
            "ANY",
            "its number, of characters the code; NULL for references, and for what isn't a number",
        )
    },
    "referrers_by_type": {
        "object": SqlTableColumn("object", "INTEGER", "one of the objects that refer so"),
        "retained_bytes": SqlTableColumn(
            "retained_bytes", "INTEGER", "what the objects that they refer to retain together"
        ),
    },
    "realms": {"objects": SqlTableColumn("objects", "INTEGER", "how many objects belong to it")},
}
"""Columns that mean something else in one function."""


def _columns(body: str) -> list[SqlTableColumn]:
    columns: dict[str, SqlTableColumn] = {}
    for line in body.splitlines():
        if (of_view := _OF_VIEW.match(line)) is not None:
            columns[of_view["name"]] = SqlTableColumn(**of_view.groupdict())
        elif (later := _LATER.match(line)) is not None:
            kind = columns[later["name"]].type
            columns[later["name"]] = SqlTableColumn(later["name"], kind, later["description"])
        elif (found := _COLUMN.match(line)) is not None:
            columns[found["name"]] = SqlTableColumn(found["name"], found["type"], found["description"] or "")
    return list(columns.values())

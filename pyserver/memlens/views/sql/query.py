"""SQL queries on a connection to the archive's tables that can only read.

A :class:`SqlSession` is used by one thread at a time and never by the thread that answers the views, so an endless
query slows down nothing else. It is confined by:

* files that are opened read-only and as immutable, and SQLite in defensive mode with an untrusted schema;
* an authorizer that allows SELECT, recursion, the functions and tables that are named here, and the pragmas that
  describe tables; everything else is refused when the query is compiled;
* limits on values, on the query, on its program and on memory, see :mod:`memlens.views.sql.confined`;
* pages of rows, in which long values are cut.
"""

import contextlib
import difflib
import functools
import itertools
import re
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import apsw
import numpy as np

from memlens.arrays import Mask
from memlens.errors import MemlensError
from memlens.kernels.base.work import Work
from memlens.store.manifest import ArchiveError, InconsistentError
from memlens.store.models import graph_of, heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.store.tables.database_file import add_computed
from memlens.store.tables.fill import are_filled
from memlens.store.tables.graph import packages_and_modules
from memlens.store.tables.packed_pages import uri
from memlens.store.tables.schema import FILE_NAMES, PARTS, SHARED, Part, parts_of, statements
from memlens.texts import Text, as_text, phrase
from memlens.units import shortened
from memlens.views.heap.objects.plain_names import WITHOUT_CONTENTS
from memlens.views.selection.expressions import regexp
from memlens.views.sql.confined import (
    FUNCTIONS,
    check_text,
    confine,
    first_statement,
    is_counted_only,
    is_nothing,
    limit_error,
    modules_of,
)
from memlens.views.sql.contents import FUNCTIONS as OF_CONTENTS
from memlens.views.sql.contents import check_joins, has_contents, is_without_contents
from memlens.views.sql.heap import HEAP_FUNCTIONS, add_heap_functions
from memlens.views.sql.live import LIVE_FUNCTIONS, add_live_at
from memlens.views.sql.object_sets import ObjectSets
from memlens.views.sql.pages import MOST_ROWS, Running, SqlAnswer, SqlError, SqlSort, page
from memlens.views.sql.what_if import WHAT_IF_FUNCTIONS, add_what_if

_STEPS_BETWEEN_CHECKS = 5_000
_ROWS_AT_ONCE = 4_096
_KEPT_KIB = 64 << 10
"""How much of each file's pages is kept in memory."""

TABLES = (
    "value_types", "samples", "sample_values", "labels", "values",
    "devices", "events", "notes", "allocations", "stacks", "stack_frames", "frames", "lines", "segments", "blocks",
    "annotations", "live_at_peak", "by_line", "survivors", "objects", "refs", "types", "roots", "strings",
    "threads", "thread_frames", "variables",
)  # fmt: skip
_READABLE = frozenset(
    (
        *TABLES,
        *SHARED,
        *LIVE_FUNCTIONS,
        *WHAT_IF_FUNCTIONS,
        *HEAP_FUNCTIONS,
        "json_each",
        "json_tree",
        "sqlite_schema",
        "sqlite_master",
    )
)

_HEAP_FUNCTIONS = frozenset(HEAP_FUNCTIONS)
_OF_COLUMNS = frozenset(("package_of_type", "module_of_type"))
"""What computes columns."""

_PRAGMAS = frozenset(("table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"))
"""Pragmas that only describe; each also exists as a table-valued function, ``pragma_table_info``."""


class SqlSession:
    """A connection with its own snapshot, which it closes. Not thread-safe except for :meth:`interrupt`.

    It has the tables that exist when it is made, at least those of the part ``base``; or, with ``names_only``, all
    tables without rows, for :meth:`needs`.
    """

    def __init__(self, snapshot: Snapshot, *, names_only: bool = False) -> None:
        self._snapshot = snapshot
        self.parts: tuple[Part, ...] = () if names_only else _filled_parts(snapshot)
        """The parts of the tables that it has."""
        self._refused = ""
        self._named: set[str] = set()
        self._is_heap = heap_dump_of(snapshot.info) is not None
        self._hides = False
        self._reads_contents = False
        self._stop = threading.Event()
        self._kept: tuple[str, SqlSort | None, int, Running] | None = None
        self._sets = ObjectSets()
        try:
            self._connection = (
                _named_only(snapshot, self._sets)
                if names_only
                else _connect(snapshot, self.parts, self._sets)
            )
        except ArchiveError:
            snapshot.close()
            raise
        except (apsw.NotADBError, apsw.CorruptError, apsw.CantOpenError) as error:
            snapshot.close()
            raise ArchiveError(
                phrase("The tables for SQL are damaged: {reason}", reason=str(error))
            ) from error
        self._modules = modules_of(self._connection)
        self._connection.authorizer = self._authorize
        self._connection.set_progress_handler(self._must_end, _STEPS_BETWEEN_CHECKS)

    def close(self) -> None:
        """Close the connection and its snapshot."""
        self._kept = None
        self._connection.close(True)
        self._snapshot.close()

    def interrupt(self) -> None:
        """End the running query, if any, and a walk through a heap dump that it waits for; from any thread."""
        self._connection.interrupt()
        self._snapshot.work.stop()

    @property
    def has_more(self) -> bool:
        """True if the last query was kept open because it has more rows."""
        return self._kept is not None

    def continues(self, query: str, offset: int, sort: SqlSort | None) -> bool:
        """True if these rows start where the last page of the same query ended."""
        return self._kept is not None and self._kept[:3] == (query, sort, offset)

    def needs(self, query: str, sort: SqlSort | None = None) -> tuple[Part, ...]:
        """The parts that a query reads, always including ``base``, which is made quickly. Raises :class:`SqlError`.

        So errors in a query are raised before its tables are made.
        """
        with self._problems(query):
            self._compiled(query, sort)
        named = parts_of(self._named)
        return tuple(part for part in PARTS if part == "base" or part in named)

    def ask(
        self,
        query: str,
        offset: int = 0,
        limit: int = 1_000,
        sort: SqlSort | None = None,
        stop: threading.Event | None = None,
    ) -> SqlAnswer:
        """A page of a query's rows. Raises :class:`SqlError` and :class:`ArchiveError`.

        ``stop`` ends it as :meth:`interrupt` does, and may be set before the query has begun.

        For the page after the last one the query continues; otherwise it is run again, with the same rows in the same
        order, since the tables never change.
        """
        began = time.perf_counter()
        self._begin(stop)
        kept, self._kept = self._kept if self.continues(query, offset, sort) else None, None
        with self._problems(query):
            if kept is not None:
                running = kept[3]
            else:
                running = self._run(query, sort)
                for _ in range(offset):
                    if running.cursor.fetchone() is None:
                        break
            answer = page(running, offset, min(limit, MOST_ROWS), began)
        if answer.more:
            self._kept = (query, sort, offset + len(answer.rows), running)
        return answer

    def objects(self, query: str, stop: threading.Event | None = None) -> Mask:
        """A mask of the heap dump's objects that a query's rows name. Raises as :meth:`ask` does.

        They are in its column ``object``, or in its only one; rows with NULL name none.
        """
        self._begin(stop)
        self._kept = None
        with self._problems(query):
            running = self._run(query, None)
            names = [name.lower() for name, _ in running.columns]
            if len(names) != 1 and names.count("object") != 1:
                raise SqlError(
                    phrase("The query has no column named object"),
                    advice=phrase("Name a column object, as in SELECT source AS object FROM refs."),
                )
            column = 0 if len(names) == 1 else names.index("object")
            chosen = np.zeros(graph_of(self._snapshot.info).objects, np.bool_)
            rows = (row[column] for row in running.cursor)
            while part := list(itertools.islice(rows, _ROWS_AT_ONCE)):
                if self._must_end():
                    raise apsw.InterruptError
                _mark(chosen, part)
        return chosen

    def _begin(self, stop: threading.Event | None) -> None:
        self._stop = stop or threading.Event()
        self._snapshot.work = Work()
        if self._stop.is_set():
            # whoever set it may have interrupted the query before
            self._snapshot.work.stop()

    def stream(self, query: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """The names of the columns, and all rows with SQLite's values, for the command line."""
        with self._problems(query):
            running = self._run(query, None)

        def rows() -> Iterator[tuple[Any, ...]]:
            with self._problems(query):
                yield from running.cursor

        return [name for name, _ in running.columns], rows()

    def _run(self, query: str, sort: SqlSort | None) -> "Running":
        statement, columns = self._compiled(query, sort)
        self._sets.clear()
        cursor = self._connection.cursor().execute(statement)
        return Running(cursor, columns, {}, self._reads_contents)

    def _compiled(self, query: str, sort: SqlSort | None) -> tuple[str, tuple[tuple[str, str | None], ...]]:
        """The one statement of a query, sorted if it should be, and its columns: names and declared types."""
        check_text(query)
        if is_nothing(query):
            table = "by_line" if heap_dump_of(self._snapshot.info) is None else "types"
            raise SqlError(
                phrase("The query is empty"),
                advice=phrase("Write one, for example SELECT * FROM {table}.", table=table),
            )
        statement, description, is_explain = first_statement(self._connection, query)
        rest = query[len(statement) :]
        if not is_nothing(rest):
            raise SqlError(
                phrase("One statement at a time"), offset=_place(query, len(query) - len(rest.lstrip()))
            )
        if sort is not None:
            if not 0 <= sort.column < len(description) or is_explain:
                raise SqlError(phrase("The result can't be sorted by that column"))
            # on separate lines, because the query may end with a comment
            direction = "DESC" if sort.descending else "ASC"
            inner = statement.rstrip().removesuffix(";")
            # the query is the user's own, and the authorizer checks the whole statement
            statement = f"SELECT * FROM (\n{inner}\n) ORDER BY {sort.column + 1} {direction}"  # noqa: S608
        return statement, description

    def _authorize(self, action: int, one: str | None, two: str | None, *_: str | None) -> int:
        match action:
            case apsw.SQLITE_SELECT | apsw.SQLITE_RECURSIVE:
                return apsw.SQLITE_OK
            case apsw.SQLITE_READ if one is not None and self._may_read(one.lower(), two):
                self._named.add(one.lower())
                if not has_contents(one.lower(), (two or "").lower(), _HEAP_FUNCTIONS):
                    return apsw.SQLITE_OK
                self._reads_contents = self._is_heap and not self._hides
                return apsw.SQLITE_IGNORE if self._hides else apsw.SQLITE_OK
            case apsw.SQLITE_FUNCTION if self._hides and two is not None and two.lower() in OF_CONTENTS:
                self._refused = f"{two} answers with what objects contain, which needs `values: true`"
                return apsw.SQLITE_DENY
            case apsw.SQLITE_FUNCTION if two is not None and two.lower() in FUNCTIONS | _OF_COLUMNS:
                self._reads_contents |= self._is_heap and two.lower() in OF_CONTENTS
                return apsw.SQLITE_OK
            case apsw.SQLITE_PRAGMA if one is not None and one.lower() in _PRAGMAS:
                return apsw.SQLITE_OK
        self._refused = self._refused or _refusal(action, one, two)
        return apsw.SQLITE_DENY

    def _may_read(self, table: str, column: str | None) -> bool:
        if table in _READABLE or table.removeprefix("pragma_") in _PRAGMAS:
            return True
        return is_counted_only(table, column, self._modules)

    def _must_end(self) -> bool:
        return self._stop.is_set()

    @contextlib.contextmanager
    def _problems(self, query: str) -> Iterator[None]:
        """Convert SQLite's exceptions to ours."""
        self._refused = ""
        self._hides = self._is_heap and is_without_contents(query)
        if self._hides:
            check_joins(query)
        self._reads_contents = False
        self._named.clear()
        try:
            yield
        except apsw.Error as error:
            raise self._problem(query, error) from error
        except OverflowError as error:
            raise InconsistentError("A column has a larger number than SQLite") from error
        except UnicodeEncodeError as error:
            raise SqlError(
                phrase("The query contains half of a surrogate pair, which isn't valid text")
            ) from error

    def _problem(self, query: str, error: apsw.Error) -> MemlensError:
        limit = limit_error(error)
        if limit is not None:
            return limit
        match error:
            case apsw.InterruptError():
                return SqlError(phrase("The query was cancelled"))
            case apsw.AuthError():
                return SqlError(
                    phrase("The tables can only be read: {reason}", reason=self._refused or str(error)),
                    advice=phrase("Use SELECT."),
                )
            case apsw.CorruptError() | apsw.NotADBError() | apsw.IOError():
                return ArchiveError(phrase("The tables for SQL are damaged: {reason}", reason=str(error)))
        return SqlError(
            as_text(self._refused if self._hides and self._refused else str(error)),
            offset=_characters(query, getattr(error, "error_offset", -1)),
            advice=self._advice(query, str(error)),
        )

    def _of_oql(self, query: str) -> Text:
        """How to name a class's objects, for a query that is not SQL but the language of other heap viewers."""
        found = _OQL.search(query)
        if found is None or heap_dump_of(self._snapshot.info) is None:
            return Text("")
        return phrase(
            "Objects of a class are rows of the table objects: SELECT * FROM objects WHERE type = '{type}'.",
            type=shortened(found["type"], _LONGEST_VALUE),
        )

    def _advice(self, query: str, message: str) -> Text:
        return self._of_oql(query) if "syntax error" in message else self._near_names(query, message)

    def _near_names(self, query: str, message: str) -> Text:
        """A suggestion for a name that doesn't exist."""
        found = _UNKNOWN_NAME.fullmatch(message)
        if found is None:
            return Text("")
        tables = (*TABLES, *LIVE_FUNCTIONS, *WHAT_IF_FUNCTIONS, *HEAP_FUNCTIONS)
        named = []
        match found["kind"]:
            case "column":
                words = frozenset(re.findall(r"\w+", query.lower()))
                named = [table for table in tables if table in words]
                names = [name for table in named or tables for name in self._columns_of(table)]
            case "table":
                names = list(tables)
            case _:
                names = sorted(FUNCTIONS)
        name = found["name"].rpartition(".")[2].lower()
        near = _nearest(name, dict.fromkeys(names))
        if near:
            return _did_you_mean(near)
        if len(named) == 1:
            return phrase("The table {table} has {columns}.", table=named[0], columns=", ".join(names))
        return Text("")

    def _columns_of(self, table: str) -> list[str]:
        # a view can't be described without its tables
        with contextlib.suppress(apsw.SQLError):
            # the name is from our schema
            rows = self._connection.execute(f"SELECT name FROM pragma_table_xinfo('{table}')")  # noqa: S608
            return [str(name) for (name,) in rows]
        return []


def _mark(chosen: Mask, part: list[Any]) -> None:
    """Mark the objects that some rows name. Raises :class:`SqlError` for what names none."""
    numbers = [value for value in part if value is not None]
    wrong = [value for value in numbers if not isinstance(value, int) or not 0 <= value < len(chosen)]
    if wrong:
        raise SqlError(
            phrase("{value} is not the number of an object", value=shortened(repr(wrong[0]), _LONGEST_VALUE)),
            advice=phrase("Select the column object, or one that refers to objects."),
        )
    chosen[numbers] = True


_LONGEST_VALUE = 100


def _nearest(name: str, names: Iterable[str]) -> list[str]:
    """The names that are spelt most like one that doesn't exist, at most 3; if none is, those that share a word."""
    known = list(names)
    near = difflib.get_close_matches(name, known, 3, _NEAR)
    if near or len(name) < _SHORTEST_WORD:
        return near
    words = {word for word in name.split("_") if len(word) >= _SHORTEST_WORD}
    return [each for each in known if name in each or each in name or words & {*each.split("_")}][:3]


def _did_you_mean(names: list[str]) -> Text:
    match names:
        case [first]:
            return phrase("Did you mean {first}?", first=first)
        case [first, second]:
            return phrase("Did you mean {first} or {second}?", first=first, second=second)
        case _:
            first, second, third = names
            return phrase(
                "Did you mean {first} or {second} or {third}?", first=first, second=second, third=third
            )


_NEAR = 0.65
"""How similar suggested names must be, by difflib's measure: one of a few letters may be wrong."""
_SHORTEST_WORD = 3
_UNKNOWN_NAME = re.compile(r"no such (?P<kind>column|table|function): (?P<name>.+)")

_OQL = re.compile(r"\bfrom\s+(?:instanceof\s+|objects\s+)?(?P<type>\w+(?:\.[\w$]+)+(?:\[\])*)", re.IGNORECASE)
"""A class with its package where SQL has a table."""


def _characters(query: str, position_bytes: int) -> int | None:
    """Convert a position in the query's UTF-8 to one in characters."""
    if position_bytes < 0:
        return None
    return _place(query, len(query.encode()[:position_bytes].decode(errors="ignore")))


def _place(query: str, position: int) -> int:
    """A position in the query as it was asked."""
    return max(0, position - len(WITHOUT_CONTENTS)) if is_without_contents(query) else position


_VERBS = {
    apsw.SQLITE_ATTACH: "ATTACH", apsw.SQLITE_DETACH: "DETACH", apsw.SQLITE_INSERT: "INSERT",
    apsw.SQLITE_UPDATE: "UPDATE", apsw.SQLITE_DELETE: "DELETE", apsw.SQLITE_ANALYZE: "ANALYZE",
    apsw.SQLITE_REINDEX: "REINDEX", apsw.SQLITE_ALTER_TABLE: "ALTER TABLE", apsw.SQLITE_TRANSACTION: "BEGIN or END",
    apsw.SQLITE_SAVEPOINT: "SAVEPOINT",
}  # fmt: skip


_SCHEMAS = ("sqlite_master", "sqlite_temp_master")
"""Where SQLite keeps the definitions of tables."""


def _refusal(action: int, one: str | None, two: str | None) -> str:
    match action:
        case apsw.SQLITE_FUNCTION:
            return f"the function {two} is not allowed"
        case apsw.SQLITE_PRAGMA:
            return f"PRAGMA {one} is not allowed"
        case apsw.SQLITE_READ:
            return f"the table {one} is not allowed"
    if one in _SCHEMAS:
        # what CREATE, ALTER and DROP do first
        return "changing tables is not allowed"
    return f"{_VERBS.get(action, 'that statement')} is not allowed"


def _filled_parts(snapshot: Snapshot) -> tuple[Part, ...]:
    return tuple(part for part in PARTS if are_filled(snapshot.origin, (part,)))


def _connect(snapshot: Snapshot, parts: tuple[Part, ...], sets: ObjectSets) -> apsw.Connection:
    """A connection that can only read these parts of the tables."""
    if "base" not in parts:
        raise ArchiveError(phrase("The tables for SQL have not been made"))
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    # cached statements would occupy the connection's fast memory (lookaside), which queries then allocate elsewhere
    connection = apsw.Connection(
        uri(snapshot.archive / FILE_NAMES["base"]), flags=flags, statementcachesize=0
    )
    try:
        for part in parts:
            schema = "main"
            if part != "base":
                schema = f"file_of_{part}"
                connection.execute(f"ATTACH ? AS {schema}", (uri(snapshot.archive / FILE_NAMES[part]),))
            # pages that are read again needn't be unpacked again
            connection.pragma("cache_size", -_KEPT_KIB, schema=schema)
        _add_computed(connection, snapshot)
        _restrict(connection, snapshot, sets)
        for schema in connection.db_names():
            connection.execute(f"SELECT count(*) FROM {schema}.sqlite_schema").fetchall()  # noqa: S608 - our own
    except BaseException:
        connection.close(True)
        raise
    return connection


def _named_only(snapshot: Snapshot, sets: ObjectSets) -> apsw.Connection:
    """A connection that can only read, with the names of all tables, which have no rows."""
    connection = apsw.Connection(":memory:")
    try:
        _add_computed(connection, snapshot)
        for statement in statements():
            if statement.kind == "TABLE":
                connection.execute(statement.sql)
        _restrict(connection, snapshot, sets)
    except BaseException:
        connection.close(True)
        raise
    return connection


def _add_computed(connection: apsw.Connection, snapshot: Snapshot) -> None:
    is_dump = heap_dump_of(snapshot.info) is not None

    def text(which: int, number: Any) -> str | None:
        texts = packages_and_modules(snapshot)[which] if is_dump else []
        return texts[number] if isinstance(number, int) and 0 <= number < len(texts) else None

    add_computed(connection, functools.partial(text, 0), functools.partial(text, 1))


def _restrict(connection: apsw.Connection, snapshot: Snapshot, sets: ObjectSets) -> None:
    """Add the views and functions, then allow only reading."""
    connection.create_scalar_function("regexp", regexp, 2, deterministic=True)
    # a view in one file could not refer to tables in another
    views = (each.sql for each in statements() if each.kind == "VIEW")
    confine(connection, [view.replace("CREATE VIEW", "CREATE TEMP VIEW", 1) for view in views])
    add_live_at(connection, snapshot)
    add_what_if(connection, snapshot)
    add_heap_functions(connection, snapshot, sets)

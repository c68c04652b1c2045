"""What confines a query, on whichever database it runs: read-only connections, limits, functions.

Limits bound values, expressions, programs and memory. They don't bound time: SQLite notices an interrupt only between
some steps of a query's program, and a sort, or a row of functions of long values, may take minutes without one. So
queries run in a process that can be ended: a server's in :mod:`memlens.cli.internal.queries`, those of the command
line in its own, see :mod:`memlens.interrupting`.
"""

import contextlib
import re
from collections.abc import Iterable

import apsw

from memlens.texts import phrase
from memlens.units import format_bytes
from memlens.views.sql.heap import AGGREGATES, SCALARS
from memlens.views.sql.pages import SqlError

MOST_QUERY_CHARACTERS = 100_000
MOST_VALUE_BYTES = 1_000_000
MOST_MEMORY_BYTES = 512 << 20

_FUNCTIONS = """
    abs char coalesce concat concat_ws format glob hex if ifnull iif instr length like likelihood likely lower ltrim max
    min nullif octet_length printf quote random replace round rtrim sign substr substring trim typeof unicode unlikely
    upper
    date datetime julianday strftime time timediff unixepoch
    avg count group_concat max median min percentile percentile_cont percentile_disc string_agg sum total
    cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank row_number
    acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow power
    radians sin sinh sqrt tan tanh trunc
    -> ->> json json_array json_array_length json_extract json_group_array json_group_object json_object json_quote
    json_type json_valid
    regexp
"""
FUNCTIONS = frozenset((*_FUNCTIONS.split(), *AGGREGATES, *SCALARS))
"""The functions that a query may call. None of them reads files, loads code or changes the connection."""

_LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: MOST_VALUE_BYTES,
    apsw.SQLITE_LIMIT_SQL_LENGTH: MOST_QUERY_CHARACTERS * 4,
    apsw.SQLITE_LIMIT_COLUMN: 500,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 200,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    apsw.SQLITE_LIMIT_VDBE_OP: 250_000,
    apsw.SQLITE_LIMIT_FUNCTION_ARG: 100,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    apsw.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
}

FEWER = phrase("Ask for fewer rows or columns before sorting or grouping.")

_UNLISTED_MODULES = {"carray", "generate_series"}

# a comment isn't another statement
_NOTHING = re.compile(r"(\s|;|--[^\n]*(\n|\Z)|/\*(?:[^*]|\*(?!/))*+(\*/|\Z))*")


def confine(connection: apsw.Connection, views: Iterable[str] = (), *, variables: int = 0) -> None:
    """Add temporary views to a connection, then allow it only to read, within limits. The file's schema isn't trusted.

    Queries may have so many ``variables``. The limit on memory is that of the whole process.
    """
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, 0)
    for limit, most in _LIMITS.items():
        connection.limit(limit, most)
    connection.limit(apsw.SQLITE_LIMIT_VARIABLE_NUMBER, variables)
    apsw.hard_heap_limit(MOST_MEMORY_BYTES)
    connection.pragma("cache_size", -16_384)
    # temporary data of a sort is kept in memory, so that it can't fill a disk; changing this later drops the views
    connection.pragma("temp_store", 2)
    for view in views:
        connection.execute(view)
    connection.pragma("query_only", 1)


def modules_of(connection: apsw.Connection) -> frozenset[str]:
    """The virtual tables that a query can name without creating them, which no authorizer is asked about by column."""
    modules = connection.execute("SELECT lower(name) FROM pragma_module_list").fetchall()
    # a table-valued pragma isn't in the list until a query has used it
    return frozenset(str(row[0]) for row in modules) | _UNLISTED_MODULES


def is_counted_only(table: str, column: str | None, modules: frozenset[str]) -> bool:
    """Whether a query reads no column of a table, which may be one of its own in a WITH clause; the name is in lower
    case.

    SQLite passes the name from the query then.
    """
    return column == "" and table not in modules and not table.startswith(("pragma_", "sqlite_"))


def first_statement(
    connection: apsw.Connection, query: str
) -> tuple[str, tuple[tuple[str, str | None], ...], bool]:
    """Compile a query without running it: its first statement, the columns, and whether it is an EXPLAIN."""
    found: tuple[str, tuple[tuple[str, str | None], ...], bool] = "", (), False

    def trace(cursor: apsw.Cursor, statement: str, _: object) -> bool:
        nonlocal found
        found = statement, cursor.get_description(), bool(cursor.is_explain)
        return False  # ends `execute` before the first step

    cursor = connection.cursor()
    cursor.exec_trace = trace
    with contextlib.suppress(apsw.ExecTraceAbort):
        cursor.execute(query, can_cache=False)
    return found


def check_text(query: str) -> None:
    """Check a query before SQLite sees it. Raises :class:`SqlError`."""
    if len(query) > MOST_QUERY_CHARACTERS:
        raise SqlError(phrase("The query is longer than {most} characters", most=MOST_QUERY_CHARACTERS))
    if "\0" in query:
        raise SqlError(phrase("The query contains a NUL character"), offset=query.index("\0"))


def is_nothing(text: str) -> bool:
    """Whether a text has no statement: blanks, semicolons and comments."""
    return _NOTHING.fullmatch(text) is not None


def limit_error(error: apsw.Error) -> SqlError | None:
    """The sentence for a limit that a query has reached; None for any other error."""
    match error:
        case apsw.TooBigError():
            return SqlError(phrase("A value of the query is longer than {most} bytes", most=MOST_VALUE_BYTES))
        case apsw.NoMemError():
            return SqlError(
                phrase(
                    "The query took more than {most} of memory and was ended",
                    most=format_bytes(MOST_MEMORY_BYTES),
                ),
                advice=FEWER,
            )
    return None

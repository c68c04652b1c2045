"""SQL queries on a snapshot's tables."""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.server.protocol.base import Count
from memlens.views.sql.pages import MOST_ROWS, SqlSort


class SqlParams(Struct, frozen=True):
    """Rows ``offset … offset + limit`` of a query's result.

    The names in it are looked up first; then the tables that it reads are made, if they are not there.

    Cancelling this request ends the query. Errors of the query have the code ``sql`` and its position, in
    characters, as ``offset``.
    """

    snapshot: str
    query: str
    offset: Count = 0
    limit: Annotated[int, Meta(ge=1, le=MOST_ROWS)] = 1_000
    sort: SqlSort | None = None


class SqlSchemaParams(Struct, frozen=True):
    """The tables, functions and example queries of a snapshot."""

    snapshot: str


class SqlFillParams(Struct, frozen=True):
    """Make the tables unless they exist; answered when they exist.

    Cancelling the last request that waits for them ends the work.
    """

    snapshot: str


class SqlStateParams(Struct, frozen=True):
    """The progress of making the tables."""

    snapshot: str


class SqlState(Struct, frozen=True):
    """``fraction`` is the part of the tables that exists, None while they aren't being made."""

    filled: bool
    fraction: float | None

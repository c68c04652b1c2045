"""Answers of the queries that limits have: they need tables, which are made beside the snapshot."""

import argparse
from contextlib import closing
from pathlib import Path

from memlens.cli.ask import libraries_for
from memlens.cli.query_rows import with_tables
from memlens.interrupting import ended_by_signals
from memlens.store.relabel import open_with
from memlens.views.check.answers import Limit
from memlens.views.sql.pages import MOST_ROWS, SqlAnswer
from memlens.views.sql.query import SqlSession


def rows_of(options: argparse.Namespace, limit: Limit, path: Path) -> SqlAnswer:
    """The rows of a limit's query. Raises :class:`memlens.views.sql.pages.SqlError`."""

    def rows(archive: Path) -> SqlAnswer:
        with (
            closing(SqlSession(open_with(archive, libraries_for(archive, options)))) as session,
            ended_by_signals(),
        ):
            return session.ask(limit.of, 0, MOST_ROWS)

    return with_tables(options, limit.of, path, rows)

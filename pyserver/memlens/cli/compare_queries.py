"""``memlens compare --sql``: one query about several snapshots, with their rows side by side."""

import argparse
from contextlib import closing
from pathlib import Path

from memlens.cli.ask import libraries_for
from memlens.cli.query_rows import Form, filled, print_rows, with_tables
from memlens.interrupting import ended_by_signals
from memlens.store.relabel import open_with
from memlens.views.sql.compared import Pages, QuerySide, compare_queries
from memlens.views.sql.pages import MOST_ROWS
from memlens.views.sql.query import SqlSession


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    keys = [name.strip() for name in (options.key or "").split(",") if name.strip()]
    # all before rows are kept, so that an error in the query costs little
    paths = (options.before, options.after, *options.more)
    for path in paths:
        filled(options, options.sql, path)
    sides = [
        with_tables(options, options.sql, path, lambda archive: _side(options, archive)) for path in paths
    ]
    compared = compare_queries(sides, keys)
    form: Form = "json" if options.json else "csv" if options.csv else "table"
    names = [column.name for column in compared.columns]
    print_rows(names, iter(map(tuple, compared.rows)), form, options.top, "--top")
    return 0


def _side(options: argparse.Namespace, archive: Path) -> QuerySide:
    pages = Pages()
    session = SqlSession(open_with(archive, libraries_for(archive, options)))
    with closing(session), ended_by_signals():
        while pages.add(session.ask(options.sql, pages.offset, MOST_ROWS)):
            pass
    return pages.side

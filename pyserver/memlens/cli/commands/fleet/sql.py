"""``memlens fleet sql``: a query over all summaries."""

import argparse
import sys

from memlens.cli.output import say
from memlens.cli.parsers import UsageError
from memlens.cli.query_rows import Form, print_rows
from memlens.fleet.questions.sql import query
from memlens.fleet.tables import SNAPSHOTS, TABLES, columns_of
from memlens.interrupting import ended_by_signals
from memlens.texts import phrase


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    if options.schema:
        for table in (SNAPSHOTS, *TABLES):
            say(f"{table}:")
            for column in columns_of(table):
                say(f"    {column.name:22} {column.type:8} {column.description}")
        return 0
    if options.query is None:
        raise UsageError(phrase("There is no query"))
    form: Form = "json" if options.json else "csv" if options.csv else "table"
    statement = sys.stdin.read() if options.query == "-" else options.query
    with ended_by_signals():
        print_rows(*query(options.folder, statement), form, options.limit)
    return 0

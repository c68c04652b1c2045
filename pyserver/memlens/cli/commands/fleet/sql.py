"""Run a read-only SQL query on the summaries."""

import argparse
import sys

from memlens.cli.options import add_folder, add_form, positive
from memlens.cli.output import say
from memlens.cli.parsers import UsageError
from memlens.cli.query_rows import Form, print_rows
from memlens.fleet.questions.sql import query
from memlens.fleet.tables import SNAPSHOTS, TABLES, columns_of
from memlens.interrupting import ended_by_signals
from memlens.texts import phrase


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_folder(command)

    command.add_argument("query", nargs="?", help="one SELECT, or `-` to read it from stdin")
    command.add_argument("--schema", action="store_true", help="print the tables and their columns")
    add_form(command)
    command.add_argument("--limit", type=positive, metavar="N", help="print only the first N rows")


def run(options: argparse.Namespace) -> int:
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

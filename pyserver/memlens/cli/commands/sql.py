"""Run a read-only SQL query on a snapshot.

See [SQL](sql.md).
"""

import argparse
import sys
from pathlib import Path

from memlens.cli.ask import ask, libraries_for
from memlens.cli.options import add_file, add_form, add_libraries, positive
from memlens.cli.output import json_line, say
from memlens.cli.parsers import UsageError
from memlens.cli.query_rows import Form, print_answer, with_tables
from memlens.texts import phrase
from memlens.views.sql.schema import SqlSchema, schema_of

EXAMPLES = (
    (
        'memlens sql samples/train.pickle "SELECT file, line, SUM(size_bytes) AS bytes FROM live_at_peak '
        'GROUP BY file, line ORDER BY bytes DESC LIMIT 5"'
    ),
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    command.add_argument(
        "query", nargs="?", help="one SELECT, or `-` to read it from stdin; see `memlens sql FILE --schema`"
    )
    command.add_argument(
        "--schema", action="store_true",
        help="print the file's tables, their columns, and queries to start with",
    )  # fmt: skip
    add_form(command)
    command.add_argument(
        "--limit", type=positive, metavar="N", help="print only the first N rows (default for a table: 1000)"
    )
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    if options.schema:
        if options.csv:
            raise UsageError(phrase("The tables and their columns are printed as text or with --json"))
        tables = ask(options, schema_of)
        if options.json:
            json_line(tables)
        else:
            print_schema(tables)
        return 0
    if options.query is None:
        raise UsageError(phrase("There is no query"))
    query = sys.stdin.read() if options.query == "-" else options.query
    form: Form = "json" if options.json else "csv" if options.csv else "table"

    def print_rows_of(archive: Path) -> None:
        print_answer(archive, query, form, options.limit, libraries_for(archive, options))

    with_tables(options, query, None, print_rows_of)
    return 0


def print_schema(tables: SqlSchema) -> None:
    """Print the tables and their columns with descriptions, and queries to start with."""
    for table in tables.tables:
        arguments = f"({', '.join(table.arguments)})" if table.arguments else ""
        say(f"{table.name}{arguments}: {table.description}")
        for column in table.columns:
            say(f"    {column.name:22} {column.type:8} {column.description}")
    for example in tables.examples:
        say("")
        say(f"-- {example.title}")
        for line in example.query.splitlines():
            say(line)

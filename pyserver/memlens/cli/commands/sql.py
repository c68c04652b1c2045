"""``memlens sql``: run a query and print a table, JSON or CSV."""

import argparse
import sys
from pathlib import Path

from memlens.cli.ask import ask, libraries_for
from memlens.cli.output import json_line, say
from memlens.cli.parsers import UsageError
from memlens.cli.query_rows import Form, print_answer, with_tables
from memlens.texts import phrase
from memlens.views.sql.schema import SqlSchema, schema_of


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
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

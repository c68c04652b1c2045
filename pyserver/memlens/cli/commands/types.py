"""Print the types of a heap dump's objects, those that retain the most first."""

import argparse

from memlens.api.heaps import types
from memlens.cli.ask import ask
from memlens.cli.columns import Piece, Row, say_tables
from memlens.cli.object_words import place
from memlens.cli.options import add_file, add_filter, add_json, add_libraries, add_top, seconds
from memlens.cli.output import json_line, say, terminal_columns
from memlens.units import counted, format_bytes
from memlens.views.heap.objects.types import TypeRow

EXAMPLES = ("memlens types tests/fixtures/heap/sessions.hprof.zst --top 5",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    command.add_argument(
        "--order",
        choices=("retained", "shallow", "count", "type", "native", "native_retained"),
        default="retained",
    )
    command.add_argument("--since", type=seconds, metavar="SECONDS",
                         help="only objects allocated after this time in a recording")  # fmt: skip
    command.add_argument("--until", type=seconds, metavar="SECONDS",
                         help="only objects allocated before this time in a recording")  # fmt: skip
    add_filter(
        command,
        "count only the objects that match this filter, as in the view: 'finding:\"Duplicate strings\"', "
        "'-unreachable'",
    )
    command.add_argument(
        "--search", default="", metavar="WORDS", help="print only types that contain all of these words"
    )
    add_top(command, 30)
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    answer = ask(
        options,
        lambda snapshot: types(
            snapshot,
            options.order,
            filter_=options.filter,
            search=options.search,
            since=options.since,
            until=options.until,
            top=options.top,
        ),
    )
    if options.json:
        json_line(answer)
        return 0
    if not answer.total:
        say("no type fits")
        return 0
    has_native = any(row.native_bytes is not None for row in answer.types)
    has_unreachable = any(row.unreachable_count for row in answer.types)
    native, lost = ["native"] * has_native, ["unreachable"] * has_unreachable
    table = [Row(("retained", "shallow", *native, "count", *lost), "type")]
    for row in answer.types:
        of_native = [format_bytes(row.native_bytes or 0)] * has_native
        of_lost = [f"{row.unreachable_count:,}"] * has_unreachable
        sizes = (format_bytes(row.retained_bytes), format_bytes(row.shallow_bytes))
        table.append(Row((*sizes, *of_native, f"{row.count:,}", *of_lost), _label(row)))
    say_tables(table, columns=terminal_columns())
    if has_unreachable:
        say("unreachable: how many of them no root reaches; --filter=-unreachable leaves them out")
    left = answer.total - len(answer.types)
    if left:
        say(f"and {counted(left, 'type')} more: use --top")
    return 0


def _label(row: TypeRow) -> list[Piece]:
    # a class loader may be longer than the name of its class
    name, loader, rest = row.type.partition(" (")
    pieces = [Piece(name, "name"), Piece(f"{loader}{rest}{place(row)}", "more")]
    if row.estimated_count is not None and row.estimated_shallow_bytes is not None:
        estimated = format_bytes(row.estimated_shallow_bytes)
        pieces.append(Piece(f", about {row.estimated_count:,} and {estimated} in the program", "more"))
    return pieces

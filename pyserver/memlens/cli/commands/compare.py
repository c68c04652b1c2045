"""Print the differences between two snapshots, largest first.

It compares what was live at the peak, or with ``--at end`` at the end, by ``--by line``, ``function``, ``file`` or
``stack``. Lines that moved are recognised, even when their file has moved too. Of two heap dumps ``--by finding``
says which [findings](findings.md#two-heap-dumps) are new or gone, and how much each grew. More than two files are a
series, in which what never shrinks and has grown most comes first. ``--sql QUERY`` compares the rows of
[a query](sql.md#several-files).
"""

import argparse
from pathlib import Path
from typing import Any

from memlens.api.comparisons import Compared, compared_side
from memlens.cli import compare_heaps, compare_queries, compare_series
from memlens.cli.ask import ask
from memlens.cli.attribution import add_any_code, attribution_of, given, self_words, with_attribution
from memlens.cli.columns import Piece, Row, say_tables
from memlens.cli.options import PROFILE_VALUE, add_device, add_json, add_libraries, add_top, snapshot
from memlens.cli.output import json_line, say
from memlens.cli.parsers import UsageError
from memlens.cli.place_words import place_pieces
from memlens.model.info import SnapshotInfo
from memlens.store.models import heap_dump_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, phrase
from memlens.units import KIND_WORDS, SOURCE_WORDS, format_change, format_share, format_value
from memlens.views.answers import Frame
from memlens.views.compare.kinds import check_comparable
from memlens.views.compare.order import out_of_order
from memlens.views.compare.rows import CompareAnswer, ComparedRow, compare
from memlens.views.selection.columns import MOST_ROWS

EXAMPLES = ("memlens compare samples/train.pickle samples/train.pickle --at end",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("before", type=snapshot)
    command.add_argument("after", type=snapshot)
    # with a default, since argparse calls what may be left out required without one
    command.add_argument(
        "more", type=snapshot, nargs="*", default=[],
        help="further files, compared as a series",
    )  # fmt: skip
    add_device(command, "the device in both (default: the one that each view shows first)")
    command.add_argument(
        "--other-device", type=int, metavar="N", help="the device in the second, if it differs"
    )
    command.add_argument(
        "--at", choices=("peak", "end"),
        help="compare what was live then (default: a trace's peak, or the profile value that is shown "
        "first)",
    )  # fmt: skip
    command.add_argument("--value", metavar="V", help=PROFILE_VALUE)
    command.add_argument(
        "--by", choices=("line", "function", "file", "stack", "type", "finding"),
        help="what rows are (default: types for heap dumps, else lines; a heap dump's lines are those "
        "that allocated); for two heap dumps also findings",
    )  # fmt: skip
    command.add_argument(
        "--inclusive",
        action="store_true",
        help="include what a line allocated through the functions it called",
    )
    command.add_argument(
        "--sql", metavar="QUERY", help="compare the rows of this query, instead of what holds memory"
    )
    command.add_argument(
        "--key", metavar="COLUMNS",
        help="with --sql: the columns that say which rows belong together (default: those that aren't numbers)",
    )  # fmt: skip
    command.add_argument("--csv", action="store_true", help="with --sql: print CSV")
    add_any_code(command)
    command.add_argument(
        "--search", default="", metavar="WORDS", help="print only rows that contain all of these words"
    )
    add_top(command, 30, "N rows")
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    if options.sql is not None:
        return compare_queries.run(options)
    if options.key is not None or options.csv:
        raise UsageError(phrase("--key and --csv are for --sql"))
    infos = _comparable_infos(options)
    if options.by in (None, "type", "finding"):
        if heap_dump_of(infos[0]) is not None:
            for option in given(options, "--at", "--value", "--inclusive", "--any-code"):
                raise UsageError(
                    phrase("Heap dumps are compared by type, so {option} doesn't apply", option=option),
                    advice=phrase(
                        "It applies to the allocations of dumps with stacks: --by line, function or file."
                    ),
                )
            return compare_heaps.run(options)
        if options.by == "type":
            raise UsageError(phrase("Only heap dumps can be compared by type"))
        if options.by == "finding":
            raise UsageError(phrase("Only findings of heap dumps can be compared"))
    if options.more:
        compare_series.check(options)

    def side(path: Path, device: int | None) -> Compared:
        return ask(
            options,
            lambda snapshot: compared_side(
                snapshot, options.at, device, options.value, attribution_of(options)
            ),
            path,
        )

    before = side(options.before, options.device)
    after = side(options.after, options.device if options.other_device is None else options.other_device)
    if options.more:
        compare_series.run(options, [before, after, *(side(path, options.device) for path in options.more)])
        return 0
    measure: Any = "inclusive" if options.inclusive else "own"
    comparison = compare(before.side, after.side, options.by or "line")
    answer = comparison.answer(measure, options.search, "difference", 0, min(options.top, MOST_ROWS))
    if options.json:
        json_line(with_attribution(options, answer))
    else:
        _print_comparison(answer, self_words(options), after.unit)
    return 0


def _comparable_infos(options: argparse.Namespace) -> list[SnapshotInfo]:
    infos = [ask(options, _info, path) for path in (options.before, options.after, *options.more)]
    check_comparable(*infos)
    order = out_of_order(*infos)
    if order is not None:
        say(f"note: {order}", error=True)
    return infos


def _info(snapshot: Snapshot) -> SnapshotInfo:
    return snapshot.info


def _print_comparison(answer: CompareAnswer, self_meaning: str, unit: str) -> None:
    table = [Row(("before", "after", "difference"), f"place ({self_meaning})")]
    for row in answer.rows:
        place = row.after or row.before
        if place is None:  # never: every row has at least one side
            continue
        table.append(Row(_cells(row.before_bytes, row.after_bytes, unit), _place(row, place)))
    total = answer.total
    table.append(Row(_cells(total.before_bytes, total.after_bytes, unit), "total"))
    say_tables(table)
    if not any(each.rows for each in (answer.grown, answer.shrunk, answer.only_before, answer.only_after)):
        say("Nothing differs between the two.")


def _cells(before: int, after: int, unit: str) -> tuple[str, str, str]:
    return format_value(before, unit), format_value(after, unit), format_change(after - before, unit)


def _place(row: ComparedRow, place: Frame) -> list[Piece]:
    kind = KIND_WORDS[place.kind] if place.line else ""
    moved = f", moved from line {row.before.line}" if row.how == "moved" and row.before else ""
    renamed = f", was {row.before.function}" if row.how == "renamed" and row.before else ""
    words = f"{kind}{_inferred(row, place)}{moved}{renamed}{_one_sided(row)}"
    return [*place_pieces(place), Piece(words)]


def _inferred(row: ComparedRow, place: Frame) -> Text:
    """How a line is known. If it is inferred for only some of its bytes, their share on both sides."""
    part = row.before_inferred_bytes + row.after_inferred_bytes
    if place.source == "inferred" or not part:
        return SOURCE_WORDS[place.source]
    return phrase(" ({share} inferred)", share=format_share(part, row.before_bytes + row.after_bytes))


def _one_sided(row: ComparedRow) -> str:
    if row.before_count == 0:
        return ", only after"
    return ", only before" if row.after_count == 0 else ""

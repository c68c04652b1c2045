"""Print lines of source across all snapshots."""

import argparse

from memlens.cli.options import add_folder, add_json, add_top
from memlens.cli.output import json_line, say
from memlens.fleet.database import reading
from memlens.fleet.questions.lines import LineOfSnapshot, line, lines
from memlens.units import format_bytes


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_folder(command)

    add_json(command)
    command.add_argument(
        "line", nargs="?", metavar="FILE:LINE",
        help="each snapshot's figures of one line; the end of its path is enough",
    )  # fmt: skip
    command.add_argument(
        "--at", choices=("peak", "end"), default="peak", help="what was live then (default peak)"
    )
    command.add_argument(
        "--search", default="", metavar="WORDS", help="only lines that contain all of these words"
    )
    add_top(command, 30)


def run(options: argparse.Namespace) -> int:
    with reading(options.folder) as fleet:
        if options.line is not None:
            return _one(options, line(fleet, options.line)[: options.top])
        rows = lines(fleet, options.at, options.search, options.top)
    if options.json:
        json_line(rows)
        return 0
    say(f"charged to the line, live at the {options.at}; the median is of the snapshots that have the line")
    say(f"{'most':>10} {'median':>10} {'least':>10} {'snapshots':>9}  line")
    for row in rows:
        say(
            f"{format_bytes(row.most_bytes):>10} {format_bytes(row.median_bytes):>10} "
            f"{format_bytes(row.least_bytes):>10} {row.snapshots:>9,}  {row.file}:{row.line} {row.function}, most in "
            f"{row.most_name}"
        )
    return 0


def _one(options: argparse.Namespace, rows: list[LineOfSnapshot]) -> int:
    if options.json:
        json_line(rows)
        return 0
    say(f"{'at peak':>10} {'at end':>10} {'total':>10} {'count':>10}  snapshot")
    for row in rows:
        say(
            f"{format_bytes(row.peak_bytes):>10} {format_bytes(row.end_bytes):>10} {format_bytes(row.total_bytes):>10} "
            f"{row.count:>10,}  {row.name}, {row.file} {row.function}"
        )
    return 0

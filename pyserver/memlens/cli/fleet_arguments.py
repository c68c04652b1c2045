"""The arguments of ``memlens fleet``."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from memlens.cli.parsers import snapshot

QUESTIONS = ("peaks", "lines", "ooms", "growth", "curves", "sql")
COMMANDS = ("run", "summary", "reader", *QUESTIONS)

TOP_PEAKS = 20
TOP_OOMS = 50
TOP_CURVES = 100
TOP_LINES = 30
TOP_GROWTH = 20

Positive = Callable[[str], int]


def with_run(arguments: Sequence[str]) -> list[str]:
    """Insert ``run`` where it was left out: ``memlens fleet PLACE`` is short for ``memlens fleet run PLACE``."""
    words = list(arguments)
    if words[:1] == ["fleet"] and len(words) > 1 and words[1] not in (*COMMANDS, "-h", "--help"):
        words.insert(1, "run")
    return words


def add_fleet(command: Callable[[str, str], argparse.ArgumentParser], positive: Positive) -> None:
    """Add the command with its subcommands."""
    fleet = command(
        "fleet", "Summarise many snapshots with many workers, and ask about all of them: memlens fleet PLACE."
    )
    commands = fleet.add_subparsers(required=True, dest="what", metavar="PLACE|COMMAND")

    def sub(name: str, description: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=description, description=description)

    _run(
        sub("run", "Read all snapshots of a place and write their summaries: `run` may be left out."),
        positive,
    )
    _summary(sub("summary", "Print the summary of one snapshot as JSON, as a worker makes it."))
    _reader(
        commands.add_parser("reader", description="Read files for a worker, which starts this."), positive
    )
    peaks = sub(
        "peaks", "Print each snapshot's peak, the outliers, and by which lines they differ from the median."
    )
    lines = sub("lines", "Print lines of source across all snapshots.")
    ooms = sub("ooms", "Print all out-of-memory events in order of time.")
    growth = sub("growth", "Print the lines and types that grow over a series of snapshots.")
    curves = sub("curves", "Print what was live over time in each snapshot, aligned.")
    sql = sub("sql", "Run a read-only SQL query on the summaries.")
    for each in (peaks, lines, ooms, growth, curves, sql):
        each.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of the summaries")
    for each in (peaks, lines, ooms, growth, curves):
        each.add_argument("--json", action="store_true", help="print JSON")
    peaks.add_argument("--sort", choices=("peak", "name", "rank", "time"), default="peak")
    lines.add_argument(
        "line",
        nargs="?",
        metavar="FILE:LINE",
        help="each snapshot's figures of one line; the end of its path is enough",
    )
    lines.add_argument(
        "--at", choices=("peak", "end"), default="peak", help="what was live then (default peak)"
    )
    lines.add_argument(
        "--search", default="", metavar="WORDS", help="only lines that contain all of these words"
    )
    growth.add_argument("--order", choices=("name", "time"), default="name",
                        help="what orders the series (default: the names, numbers in them as numbers)")  # fmt: skip
    growth.add_argument("--of", choices=("lines", "types"), help="what grows (default: both)")
    growth.add_argument("--match", default="", metavar="GLOB", help="only snapshots with such a name")
    curves.add_argument(
        "--align", choices=("start", "clock", "step"), default="start",
        help="what is at one place: times since the first event, times by the clock, or steps (default start)",
    )  # fmt: skip
    curves.add_argument(
        "--columns", type=positive, default=60, metavar="N", help="columns of the axis (default 60)"
    )
    for each, top in ((peaks, TOP_PEAKS), (ooms, TOP_OOMS), (curves, TOP_CURVES)):
        each.add_argument(
            "--top", type=positive, metavar="N",
            help=f"print only the first N (default {top}; as JSON all)",
        )  # fmt: skip
    for each, top in ((lines, TOP_LINES), (growth, TOP_GROWTH)):
        each.add_argument("--top", type=positive, metavar="N", help=f"print only the first N (default {top})")
    _sql(sql, positive)


def _run(run: argparse.ArgumentParser, positive: Positive) -> None:
    run.add_argument("place", metavar="PLACE", help="a folder, a glob, or a URL (s3, gs, az, ssh, file)")
    run.add_argument(
        "--out", type=Path, metavar="FOLDER", help="the folder of the summaries (default PLACE.fleet)"
    )
    run.add_argument("--scheduler", metavar="ADDRESS",
                     help="the Dask scheduler to use (default: workers are started here, one a core)")  # fmt: skip
    run.add_argument("--workers", type=positive, metavar="N", help="how many workers are started here")
    run.add_argument("--memory-limit", type=positive, metavar="BYTES", default=0,
                     help="the memory that reading a file may use (default: the worker's own limit)")  # fmt: skip
    run.add_argument(
        "--archives", metavar="PLACE", help="a folder or URL where archives are kept (default: dropped)"
    )
    run.add_argument("--progress", choices=("auto", "json"), default="auto",
                     help="auto: on a terminal; json: JSON lines on stdout")  # fmt: skip


def _summary(summary: argparse.ArgumentParser) -> None:
    summary.add_argument("file", type=snapshot)
    summary.add_argument("--progress", choices=("auto", "none"), default="none")
    summary.add_argument("--memory-limit", type=positive_or_zero, metavar="BYTES", default=0,
                         help="the memory that reading the file may use (default: no limit)")  # fmt: skip


def _reader(reader: argparse.ArgumentParser, positive: Positive) -> None:
    reader.add_argument("--parent", type=positive, metavar="PID", required=True)


def positive_or_zero(text: str) -> int:
    """Parse a number of bytes, in which 0 means no limit."""
    value = int(text)
    if not 0 <= value < 2**62:
        raise argparse.ArgumentTypeError("must be 0 or more and less than 2^62")
    return value


def _sql(sql: argparse.ArgumentParser, positive: Positive) -> None:
    sql.add_argument("query", nargs="?", help="one SELECT, or `-` to read it from stdin")
    sql.add_argument("--schema", action="store_true", help="print the tables and their columns")
    form = sql.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print all rows as an array of objects")
    form.add_argument("--csv", action="store_true", help="print all rows as comma-separated values")
    sql.add_argument("--limit", type=positive, metavar="N", help="print only the first N rows")

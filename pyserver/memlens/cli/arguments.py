"""What the command line takes."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from memlens.cli.attribution import add_any_code
from memlens.units import plain

AddCommand = Callable[[str, str], argparse.ArgumentParser]
"""Of a command's name, which is that of its file here, and of what it does."""


class _Parser(argparse.ArgumentParser):
    """Wrong arguments are told in one sentence, like everything else that goes wrong."""

    def error(self, message: str) -> NoReturn:
        self.exit(1, f"memlens: {plain(message)}. Try {self.prog} --help.\n")


def parser() -> argparse.ArgumentParser:
    """The parser of all commands; ``options.command`` names the one that is asked for."""
    found = _Parser(prog="memlens", description="Reads memory snapshots.")
    found.add_argument("--version", action="version", version=_version())
    commands = found.add_subparsers(required=True, dest="command", metavar="COMMAND")

    def command(name: str, what: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=what, description=what)

    ingest = _ingest(command)
    printing = [*_reports(command), _compare(command), _steps(command)]
    for sub in printing:
        sub.add_argument("--json", action="store_true", help="print JSON")
    asking = [*printing, _flame(command), *_sql_and_export(command)]
    for sub in asking:
        sub.add_argument(
            "--libraries", action="append", metavar="PATTERN",
            help="take these paths or functions for library code, or behind ! for your own; may be repeated, and the "
            "last that fits decides",
        )  # fmt: skip
    for sub in (ingest, *asking):
        sub.add_argument("--cache-dir", type=Path, help="where archives are kept")
        sub.add_argument(
            "--cache-limit", type=_positive, metavar="BYTES", help="how large they may be together"
        )
    command("lsp", "Run the language server on stdin and stdout.")
    return found


_OF_PROFILES = (
    "of profiles: which value, by its name in info or as live, peak, total, count, temporary or leaked"
)


def _long_work(command: argparse.ArgumentParser) -> None:
    command.add_argument("--progress", choices=("auto", "json", "none"), default="auto",
                         help="auto: on a terminal; json: JSON lines on stdout")  # fmt: skip
    command.add_argument("--background", action="store_true", help="let other work on this machine go first")
    command.add_argument("--parent", type=_positive, metavar="PID",
                         help="end when that process does, which is the one that started this one")  # fmt: skip


def _ingest(command: AddCommand) -> argparse.ArgumentParser:
    ingest = command("ingest", "Read a snapshot into an archive and print the archive's folder.")
    ingest.add_argument("file", type=Path)
    ingest.add_argument("--out", type=Path, help="the archive folder to make, instead of one in the cache")
    _long_work(ingest)
    ingest.add_argument("--memory-limit", type=_positive, metavar="BYTES", default=0,
                        help="how much memory it may take (Linux); without it, what there is")  # fmt: skip
    ingest.add_argument("--memray-python", metavar="PATH", default="",
                        help="the Python that has memray; else MEMLENS_MEMRAY_PYTHON names it")  # fmt: skip
    return ingest


def _reports(command: AddCommand) -> list[argparse.ArgumentParser]:
    """The commands that print what one snapshot tells."""
    info = command("info", "Print what a snapshot holds: devices, peaks, warnings.")
    oom = command("oom", "Explain a snapshot's out-of-memory events.")
    lines = command("lines", "Print the source lines that allocated the most, the user's own first.")
    stack = command("stack", "Print an allocation and its stack.")
    reports = [info, oom, lines, stack]
    for report in reports:
        report.add_argument("file", type=Path)
    lines.add_argument("--value", metavar="V", help=_OF_PROFILES)
    add_any_code(lines)
    lines.add_argument("--top", type=_positive, metavar="N", help="only the first N lines")
    stack.add_argument("allocation", type=int, metavar="ALLOCATION_ID")
    return reports


def _compare(command: AddCommand) -> argparse.ArgumentParser:
    compare = command("compare", "Print what is different between two snapshots, largest first.")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    compare.add_argument(
        "--device", type=int, metavar="N", help="of both; else the one that each shows first"
    )
    compare.add_argument("--other-device", type=int, metavar="N", help="of the second, where it is another")
    compare.add_argument(
        "--at", choices=("peak", "end"), default="peak", help="what was live there (default peak)"
    )
    compare.add_argument("--value", metavar="V", help=_OF_PROFILES)
    compare.add_argument("--by", choices=("line", "function", "file", "stack"), default="line")
    compare.add_argument("--inclusive", action="store_true", help="count what a line called as its own")
    add_any_code(compare)
    compare.add_argument("--search", default="", metavar="WORDS", help="only rows with all of these words")
    compare.add_argument(
        "--top", type=_positive, default=30, metavar="N", help="the first N rows (default 30)"
    )
    return compare


def _steps(command: AddCommand) -> argparse.ArgumentParser:
    steps = command("steps", "Print the steps of a run and the lines that grow from step to step.")
    steps.add_argument("file", type=Path)
    steps.add_argument("--device", type=int, metavar="N", help="instead of the one that a view shows first")
    steps.add_argument(
        "--top", type=_positive, default=10, metavar="N", help="only the first N lines that grow"
    )
    steps.add_argument("--filter", default="", metavar="TEXT", help="only what fits a filter")
    return steps


def _flame(command: AddCommand) -> argparse.ArgumentParser:
    flame = command("flame", "Print where memory was allocated as a tree of calls, or as folded stacks.")
    flame.add_argument("file", type=Path)
    flame.add_argument("--device", type=int, metavar="N", help="else the one that the view shows first")
    flame.add_argument(
        "--value", metavar="V",
        help="live or peak: bytes live at the peak (the default of traces); total: of all allocations; count: how many "
        "there were; leaked: live at the end. Of a profile one of its values, by the name that memlens info prints, or "
        "live, peak, total, count, temporary or leaked for the one that means it",
    )  # fmt: skip
    flame.add_argument(
        "--bottom-up", action="store_true", help="from where memory is allocated to its callers"
    )
    flame.add_argument("--by-line", action="store_true", help="tell the lines of a function apart")
    add_any_code(flame)
    flame.add_argument("--filter", default="", metavar="TEXT", help="only these allocations, as in the view")
    flame.add_argument(
        "--diff", type=Path, metavar="OTHER",
        help="what this file has (before) beside what OTHER has (after), frames paired as `compare` pairs them",
    )  # fmt: skip
    form = flame.add_mutually_exclusive_group()
    form.add_argument(
        "--folded", action="store_true",
        help="print a line a stack, `outermost;…;innermost VALUE`, for flamegraph.pl, speedscope and others; "
        "with --diff `… BEFORE AFTER`, as difffolded.pl does, and of a profile with negative values `… LESS MORE`",
    )  # fmt: skip
    form.add_argument("--json", action="store_true", help="print the functions, largest first")
    return flame


def _sql_and_export(command: AddCommand) -> tuple[argparse.ArgumentParser, ...]:
    """The commands about tables: their making, questions to them, and the device's trace for others."""
    tables = command("tables", "Make the tables for SQL in an archive, ahead of the first query.")
    tables.add_argument("archive", type=Path, help="an archive's folder, as `memlens ingest` prints it")
    tables.add_argument("--part", choices=("base", "allocations", "events"), action="append",
                        help="only that table, or the base: all others; may be repeated")  # fmt: skip
    _long_work(tables)
    sql = command("sql", "Ask a snapshot in SQL; the tables can only be read.")
    sql.add_argument("file", type=Path)
    sql.add_argument("query", help="one SELECT, or `-` to read it from stdin; see `memlens sql FILE --schema`",
                     nargs="?")  # fmt: skip
    sql.add_argument(
        "--schema",
        action="store_true",
        help="print the file's tables, their columns, and queries to begin with",
    )
    form = sql.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print an array of objects, all rows")
    form.add_argument("--csv", action="store_true", help="print comma-separated values, all rows")
    sql.add_argument("--limit", type=_positive, metavar="N", help="only the first N rows (a table: 1000)")
    export = command("export", "Write a device's trace, or stacks with bytes and counts, for another tool.")
    export.add_argument("file", type=Path)
    target = export.add_mutually_exclusive_group(required=True)
    target.add_argument("--snapviewer", type=Path, metavar="OUT.zip",
                        help="the trace as an archive for SnapViewer, to be unzipped for it")  # fmt: skip
    target.add_argument("--speedscope", type=Path, metavar="OUT.json", help="stacks for speedscope.app")
    target.add_argument(
        "--pprof", type=Path, metavar="OUT.pb.gz", help="stacks for `go tool pprof` and others"
    )
    export.add_argument("--at", choices=("peak", "end", "all"), default="peak",
                        help="the stacks of what was live at the peak (the default) or at the end of the trace, "
                        "or of all allocations")  # fmt: skip
    export.add_argument("--filter", default="", metavar="TEXT", help="only these allocations, as in the view")
    export.add_argument("--device", type=int, metavar="N", help="which device (else the one shown first)")
    return tables, sql, export


def _positive(text: str) -> int:
    value = int(text)
    if not 0 < value < 2**62:
        raise argparse.ArgumentTypeError("must be more than 0, and a number that a computer can count to")
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"memlens {version('memlens')}"
    except PackageNotFoundError:
        return "memlens (not installed)"

"""The command line's arguments."""

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import get_args

from memlens.cli.attribution import add_any_code
from memlens.cli.fleet_arguments import add_fleet
from memlens.cli.parsers import INTERNAL, LeftOut, Parser, Version, snapshot, with_language
from memlens.model.graph import Strength
from memlens.packs import registry
from memlens.store.tables.schema import PARTS
from memlens.units import object_id, whole_number

AddCommand = Callable[[str, str], argparse.ArgumentParser]
"""Adds a command, given its name, which is also the name of its module here with underscores, and its description."""


_OF_FILTERS = ("--filter", "--of")
_SHORT_OPTIONS = ("-h", "-o")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line; ``command`` is the name of the command."""
    options: argparse.Namespace = parser(words[0] if words else "").parse_args(
        _with_filters(words) or ["--help"]
    )
    return options


def _with_filters(words: Sequence[str]) -> list[str]:
    """The words of a command line, filters that begin with a minus joined to their options.

    argparse would take ``-unreachable`` after ``--filter`` for another option.
    """
    joined: list[str] = []
    for word in words:
        is_negated = word[:1] == "-" and word[1:2] not in ("", "-") and word not in _SHORT_OPTIONS
        if is_negated and joined and joined[-1] in _OF_FILTERS:
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


def parser(first: str, *, alone: bool = True) -> argparse.ArgumentParser:
    """Return a parser for the command ``first`` alone; for all commands if there is no such command, or not ``alone``.

    Building the parsers of all commands takes as long as most of a command's imports.
    """
    root = Parser(prog="memlens", description="Reads memory snapshots.")
    root.add_argument("--version", action=Version, nargs=0, help="print the version and exit")
    commands = root.add_subparsers(required=True, dest="command", metavar="COMMAND")

    def command(name: str, description: str) -> argparse.ArgumentParser:
        if alone and name != first:
            return LeftOut()
        if name in INTERNAL:
            # without a help, so that the list of commands lacks it
            return commands.add_parser(name, description=description)
        return commands.add_parser(name, help=description, description=description)

    ingest = _ingest(command)
    printing = [*_reports(command), _compare(command), _steps(command), *_of_graphs(command)]
    for sub in printing:
        sub.add_argument("--json", action="store_true", help="print JSON")
    reading = [*printing, _flame(command), *_sql_and_export(command), *_files(command)]
    for sub in reading:
        _libraries_and_cache(sub)
    _symbols_and_cache(ingest)
    _dump(command)
    _record(command)
    _redact(command)
    add_fleet(command, _positive)
    _cache(command("diagnostics", "Print what a bug report needs to say about this installation."))
    new_pack = command("new-pack", "Make a package that teaches Memlens a format of your own.")
    new_pack.add_argument("name", metavar="NAME", help="the format's name, as my_tool")
    new_pack.add_argument(
        "--out", type=Path, metavar="DIR", help="the folder to make (default: memlens-NAME)"
    )
    language = command("filter", "Print how filters are written: their terms, with examples.")
    language.add_argument("--markdown", action="store_true", help="print Markdown")
    if first == "filter":
        with_language(language)
    command("lsp", "Run the language server on stdin and stdout.")
    _completion(command)
    mcp = command("mcp", "Answer language models: run an MCP server on stdin and stdout.")
    mcp.add_argument(
        "--root", type=Path, action="append", metavar="DIR",
        help="read only files in this folder; may be repeated. If left out, those in the client's own roots, else in "
        "the folder that it starts the server in",
    )  # fmt: skip
    mcp.add_argument(
        "--values", action="store_true",
        help="allow a model to ask for what objects contain: the text of strings, and the values of fields",
    )  # fmt: skip
    _libraries_and_cache(mcp)
    return root if commands.choices else parser(first, alone=False)


def _completion(command: AddCommand) -> None:
    completion = command("completion", "Print what a shell needs to complete commands, options and files.")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="whose script to print")


def _libraries_and_cache(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--libraries", action="append", metavar="PATTERN",
        help="treat matching paths or functions as library code, or with a leading ! as your own; may be "
        "repeated, and the last match decides",
    )  # fmt: skip
    _symbols_and_cache(command)


def _symbols_and_cache(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--symbols", type=Path, action="append", metavar="DIR",
        help="look in this folder for the binaries of a native program and their debug files, to name its addresses; "
        "may be repeated (default: those of MEMLENS_SYMBOLS; then beside the profile, and where the program ran)",
    )  # fmt: skip
    _cache(command)


def _force(
    command: argparse.ArgumentParser,
    help_text: str = "overwrite OUT if it exists, unless it is what is read, an archive, or another kind of snapshot",
) -> None:
    command.add_argument("--force", action="store_true", help=help_text)


def _cache(command: argparse.ArgumentParser) -> None:
    command.add_argument("--cache-dir", type=Path, help="the folder of the archives")
    command.add_argument(
        "--cache-limit", type=_positive, metavar="BYTES", help="the maximum size of all archives together"
    )


GROUPINGS = (
    "line", "function", "file", "caller", "module", "stack", "freed", "category", "stream", "pool", "size", "package",
    "thread", "label",
)  # fmt: skip
"""What allocations can be grouped by: the groupings of :mod:`memlens.views.tables.groupings`, which takes a while to
import.
"""
_PROFILE_VALUE = (
    "profiles only: the value, by its name in `memlens info` "
    "or as live, peak, total, count, temporary or leaked"
)
_SNAPSHOT = "a file, - for stdin, or a URL (https, s3, gs, az, ssh) where fsspec is installed"
_DEVICE = "the device (default: the one that the view shows first)"
_FILTER = "use only the allocations that match this filter, as in the view; `memlens filter` lists the terms"
_TREE = (
    "for a heap dump: print the tree of its dominators (the default without stacks) or that of the shortest paths from "
    "roots"
)


def _long_work(command: argparse.ArgumentParser) -> None:
    command.add_argument("--progress", choices=("auto", "json", "none"), default="auto",
                         help="auto: on a terminal; json: JSON lines on stdout")  # fmt: skip
    command.add_argument("--background", action="store_true", help="run with low priority")
    command.add_argument("--parent", type=_positive, metavar="PID",
                         help="end when this process, which must be the parent, ends")  # fmt: skip


def _ingest(command: AddCommand) -> argparse.ArgumentParser:
    ingest = command("ingest", "Read a snapshot into an archive and print the archive's folder.")
    ingest.add_argument("file", type=snapshot, metavar="FILE", help=_SNAPSHOT)
    ingest.add_argument("--out", type=Path, help="the archive folder to create, instead of one in the cache")
    _force(ingest, "replace the archive at --out even if it is of another file")
    _long_work(ingest)
    ingest.add_argument("--memory-limit", type=_positive, metavar="BYTES", default=0,
                        help="the memory that may be used (Linux only; default no limit)")  # fmt: skip
    ingest.add_argument("--dump", type=_positive, metavar="NUMBER",
                        help="which dump to read from a file with several (default: the last heap dump, or the "
                        "first of several snapshots)")  # fmt: skip
    ingest.add_argument("--no-findings", action="store_true",
                        help="compute a large heap dump's findings only when they are first asked for")  # fmt: skip
    ingest.add_argument("--memray-python", metavar="PATH", default="",
                        help="a Python that has memray (default: that of MEMLENS_MEMRAY_PYTHON)")  # fmt: skip
    ingest.add_argument("--source-folder", type=Path, metavar="DIR", action="append",
                        help="where scripts and their source maps may be, if not where they ran; may be repeated "
                        "(default: the current folder)")  # fmt: skip
    ingest.add_argument(
        "--only-folders", action="store_true", help="look for scripts and binaries nowhere else"
    )
    return ingest


def _reports(command: AddCommand) -> list[argparse.ArgumentParser]:
    """Add the commands that print a report of one snapshot."""
    info = command("info", "Print a summary of a snapshot: devices, peaks, warnings.")
    oom = command("oom", "Explain a snapshot's out-of-memory events.")
    lines = command("lines", "Print the source lines that hold the most themselves at the peak.")
    stack = command("stack", "Print an allocation and its stack.")
    findings = command("findings", "Print what fills the memory, by whose lines, and what is worth a look.")
    bookmarks = command("bookmarks", "Print the bookmarks of a trace or a heap dump, with their notes.")
    reports = [info, findings, oom, lines, stack, bookmarks]
    for report in reports:
        if report in (info, findings):
            report.add_argument("files", type=snapshot, metavar="FILE", nargs="+", help=_SNAPSHOT)
        else:
            report.add_argument("file", type=snapshot, metavar="FILE", help=_SNAPSHOT)
    findings.add_argument("--device", type=int, metavar="N", help=_DEVICE)
    findings.add_argument(
        "--values",
        action="store_true",
        help="with --markdown: also quote what strings of a heap dump contain",
    )
    findings.add_argument(
        "--top", type=_positive, default=20, metavar="N", help="print only the first N findings"
    )
    findings.add_argument(
        "--of", dest="filter", metavar="TEXT",
        help="of a heap dump: print what is wasted in what the objects of this filter retain, as 'package:org.acme' or "
        "'@5143'",
    )  # fmt: skip
    findings.add_argument("--markdown", action="store_true", help="print Markdown")
    lines.add_argument(
        "--by", choices=GROUPINGS, default="line",
        help="what a row is (default line); of a profile also package, thread and label, of a trace module, freed "
        "(the line that freed), category, stream and pool",
    )  # fmt: skip
    lines.add_argument(
        "--at", metavar="MOMENT",
        help="when: peak (the default for a trace), end, all (whatever was allocated), a time since the first event as "
        "'300 ms', or '11712 events'; of a profile over time also '12 bins'",
    )  # fmt: skip
    lines.add_argument("--device", type=int, metavar="N", help="only this device (default: all of them)")
    lines.add_argument("--filter", default="", metavar="TEXT", help=_FILTER)
    lines.add_argument("--value", metavar="V", help=_PROFILE_VALUE)
    add_any_code(lines)
    lines.add_argument(
        "--top", type=_positive, metavar="N", help="print only the first N rows (default 10,000)"
    )
    lines.add_argument(
        "--sort", choices=("self", "peak", "end", "total", "count", "freed"),
        help="the order: what a row holds itself at the peak or the MOMENT (self, the default), or with what it calls "
        "at the peak, at the end, or in all, how many allocations, or what the line freed; of a profile self or total",
    )  # fmt: skip
    lines.add_argument("--csv", action="store_true", help="print CSV, with whole paths and exact bytes")
    stack.add_argument("allocation", type=int, metavar="ALLOCATION_ID")
    return reports


def _of_graphs(command: AddCommand) -> list[argparse.ArgumentParser]:
    """Add the commands that print a report of a heap dump."""
    types = command("types", "Print the types of a heap dump's objects, those that retain the most first.")
    one = command("object", "Print an object of a heap dump: what it refers to, and what refers to it.")
    paths = command("paths", "Print why an object of a heap dump is alive: paths to it from roots.")
    threads = command(
        "threads", "Print a heap dump's threads: their frames, and what the variables of each retain."
    )
    images = command(
        "images", "Print the images of a heap dump, the largest first; those with the same pixels as one row."
    )
    for report in (types, one, paths, threads, images):
        report.add_argument("file", type=snapshot, metavar="FILE", help=_SNAPSHOT)
    images.add_argument("--order", choices=("bytes", "freed"), default="bytes",
                        help="freed: first those of which keeping only one would free the most")  # fmt: skip
    images.add_argument(
        "--filter", default="", metavar="TEXT",
        help="print only the images that match this filter, as in the view: 'held-by:Cache', '-held-by:Cache'",
    )  # fmt: skip
    orders = ("retained", "shallow", "count", "type", "native", "native_retained")
    types.add_argument("--order", choices=orders, default="retained")
    types.add_argument("--since", type=_seconds, metavar="SECONDS",
                       help="only objects allocated once a recording (.heaptimeline) had run that long")  # fmt: skip
    types.add_argument("--until", type=_seconds, metavar="SECONDS",
                       help="only objects allocated before a recording had run that long")  # fmt: skip
    types.add_argument(
        "--filter", default="", metavar="TEXT",
        help='count only the objects that match this filter, as in the view: \'finding:"Duplicate strings"\', '
        "'-unreachable'",
    )  # fmt: skip
    threads.add_argument(
        "--filter", default="", metavar="TEXT",
        help="print only the variables whose objects match this filter, as in the view: 'thread:main type:Session'",
    )  # fmt: skip
    threads.add_argument(
        "--variables", type=_positive, default=5, metavar="N",
        help="print only the first N variables of each frame (default 5)",
    )  # fmt: skip
    types.add_argument(
        "--search", default="", metavar="WORDS", help="print only types that contain all of these words"
    )
    for report in (one, paths):
        report.add_argument(
            "object", type=_object_id, metavar="ID", nargs="?" if report is paths else None,
            help="the object's id or address in the file, such as 5143, @5143 or 0x7f00",
        )  # fmt: skip
        report.add_argument(
            "--by-number",
            action="store_true",
            help="take ID as the object's number in the file, counted from 0",
        )
    one.add_argument(
        "--contents", type=Path, metavar="OUT",
        help="write all elements of an array of numbers, or the whole text of a string, to a file instead (Java)",
    )  # fmt: skip
    _force(one)
    paths.add_argument(
        "--of", metavar="FILTER",
        help="instead of one object: the paths to all objects that match this filter, merged by types and references, "
        "as in the view: 'type:=Session'",
    )  # fmt: skip
    paths.add_argument("--markdown", action="store_true", help="with --of: print Markdown")
    paths.add_argument(
        "--through", action="append", choices=get_args(Strength),
        help="follow references of this strength besides strong ones; may be repeated (default: soft)",
    )  # fmt: skip
    paths.add_argument(
        "--without", action="append", metavar="HOLDER",
        help="leave out what TYPE.NAME, .NAME of any type, all objects of a TYPE or the object @ID refer to, to see "
        "what else holds the object; may be repeated",
    )  # fmt: skip
    paths.add_argument(
        "--top", type=_positive, metavar="N",
        help="print only the first N paths (default 3), or with --of the N largest steps (default 40)",
    )  # fmt: skip
    for report, top in ((types, 30), (one, 20), (threads, 10), (images, 30)):
        report.add_argument(
            "--top", type=_positive, default=top, metavar="N", help=f"print only the first N (default {top})"
        )
    return [types, one, paths, threads, images]


_PROGRAM = (
    "a process id; a page as HOST:PORT of its browser's debugging, with /ID if there are several (the beginning is "
    "enough); or the page's own address, http://…"
)


def _dump(command: AddCommand) -> None:
    from memlens.dumping.runtimes import dumped_titles

    dump = command(
        "dump",
        f"Write the heap of a running process to a file ({dumped_titles()} or Python), or of a page or worker of a "
        "browser that runs with --remote-debugging-port. Without PID or PAGE, list those that can be dumped.",
    )
    dump.add_argument("program", metavar="PID|PAGE", nargs="?", help=_PROGRAM)
    dump.add_argument("out", type=Path, metavar="OUT", nargs="?",
                      help="the file to write; HOST:PORT without it lists the pages of that browser")  # fmt: skip
    _force(dump)
    dump.add_argument("--no-texts", action="store_true",
                      help="Python only: leave out the text of strings and numbers")  # fmt: skip
    dump.add_argument("--all", action="store_true", help="Java only: include unreachable objects (garbage)")
    dump.add_argument("--timeout", type=_seconds, default=60.0, metavar="SECONDS",
                      help="how long to wait for an answer (default: 60)")  # fmt: skip
    dump.add_argument("--every", type=_seconds, metavar="SECONDS",
                      help="take a series, a dump in so many seconds: OUT with a number before its ending")  # fmt: skip
    dump.add_argument("--count", type=_positive, metavar="N", help="how many dumps of a series to take")
    dump.add_argument("--json", action="store_true", help="print JSON")
    _long_work(dump)


def _record(command: AddCommand) -> None:
    record = command(
        "record",
        "Record what a running Node.js process or a browser's page allocates, until Ctrl+C or for a time: each object "
        "that is still alive at the end, when it was allocated and by which stack. Meanwhile V8 collects garbage 20 "
        "times a second. --sampling only estimates what each stack holds, at little cost.",
    )
    record.add_argument("program", metavar="PID|PAGE", help=_PROGRAM)
    record.add_argument("out", type=Path, metavar="OUT", nargs="?",
                        help="the file to write (default: named for the program and the time)")  # fmt: skip
    record.add_argument("--for", type=_seconds, metavar="SECONDS", dest="seconds",
                        help="stop after so long (default: at Ctrl+C)")  # fmt: skip
    record.add_argument("--sampling", action="store_true",
                        help="only estimates by stack (.heapprofile), for programs in production")  # fmt: skip
    _force(record)
    record.add_argument("--timeout", type=_seconds, default=60.0, metavar="SECONDS",
                        help="how long to wait for an answer (default: 60)")  # fmt: skip
    record.add_argument("--json", action="store_true", help="print JSON")
    _long_work(record)


def _redact(command: AddCommand) -> None:
    redact = command(
        "redact",
        "Write a copy of a heap dump without its values, or of a profile without names of people, to share it.",
    )
    redact.add_argument("file", type=snapshot, metavar="FILE", help=_SNAPSHOT)
    redact.add_argument("out", type=Path, metavar="OUT",
                        help="the file to write; compressed if its name ends in .gz or .zst")  # fmt: skip
    redact.add_argument("--keep-numbers", action="store_true",
                        help="remove only what may be text: strings, bytes, characters, and arrays of int")  # fmt: skip
    redact.add_argument("--rename", action="store_true",
                        help="also replace names of your classes, their members, functions and files, and of "
                             "threads")  # fmt: skip
    redact.add_argument("--mapping", type=Path, metavar="PATH",
                        help="with --rename: file that leads back to the names, or its folder; keep it")  # fmt: skip
    redact.add_argument("--keep-shared", action="store_true",
                        help="V8, Java, Android and Python: keep what leads to shared objects such as true, small "
                             "numbers and enum constants, addresses, and order, which tell values")  # fmt: skip
    redact.add_argument("--keep-time", action="store_true",
                        help="keep when the dump was written, the process id, and the build of Python")  # fmt: skip
    redact.add_argument("--keep-thread-names", action="store_true",
                        help="Java, Android and Python: keep the names that the program gave its threads")  # fmt: skip
    redact.add_argument("--allow-damaged", action="store_true",
                        help="write a truncated or damaged dump up to the damage, instead of refusing it")  # fmt: skip
    redact.add_argument("--report", type=Path, metavar="FILE",
                        help="write a list of every text that stays, by reason; those that look like e-mail addresses, "
                             "numbers of cards, home folders, hosts or keys are marked")  # fmt: skip
    redact.add_argument("--verify", action="store_true",
                        help="write no copy, but compare OUT, a copy, with FILE: exit with 1 if it has any content of "
                             "FILE; give the --keep options that it was written with")  # fmt: skip
    redact.add_argument("--forbid", type=Path, metavar="LINES",
                        help="with --verify: a file with texts and numbers, one in each line, that must not be in OUT "
                             "in any encoding, nor in compressed bytes within it")  # fmt: skip
    _force(redact)
    redact.add_argument("--json", action="store_true", help="print JSON")
    _long_work(redact)


def _compare(command: AddCommand) -> argparse.ArgumentParser:
    compare = command("compare", "Print the differences between two snapshots, largest first.")
    compare.add_argument("before", type=snapshot)
    compare.add_argument("after", type=snapshot)
    # with a default, since argparse calls what may be left out required without one
    compare.add_argument(
        "more",
        type=snapshot,
        nargs="*",
        default=[],
        help="further files, compared as a series: of heap dumps by type, of any snapshots with --sql",
    )
    compare.add_argument(
        "--device",
        type=int,
        metavar="N",
        help="the device in both (default: the one that each view shows first)",
    )
    compare.add_argument(
        "--other-device", type=int, metavar="N", help="the device in the second, if it differs"
    )
    compare.add_argument(
        "--at",
        choices=("peak", "end"),
        help="compare what was live then (default: of a trace the peak, of a profile the value that is shown first)",
    )
    compare.add_argument("--value", metavar="V", help=_PROFILE_VALUE)
    compare.add_argument(
        "--by", choices=("line", "function", "file", "stack", "type", "finding"),
        help="what rows are (default: types for heap dumps, else lines; a heap dump's lines are those that allocated); "
        "of two heap dumps also findings",
    )  # fmt: skip
    compare.add_argument(
        "--inclusive",
        action="store_true",
        help="include what a line allocated through the functions it called",
    )
    compare.add_argument(
        "--sql", metavar="QUERY", help="compare the rows of this query, instead of what holds memory"
    )
    compare.add_argument(
        "--key", metavar="COLUMNS",
        help="with --sql: the columns that say which rows belong together (default: those that aren't numbers)",
    )  # fmt: skip
    compare.add_argument("--csv", action="store_true", help="with --sql: print CSV")
    add_any_code(compare)
    compare.add_argument(
        "--search", default="", metavar="WORDS", help="print only rows that contain all of these words"
    )
    compare.add_argument(
        "--top", type=_positive, default=30, metavar="N", help="print only the first N rows (default 30)"
    )
    return compare


def _steps(command: AddCommand) -> argparse.ArgumentParser:
    steps = command("steps", "Print the steps of a run and the lines that grow from step to step.")
    steps.add_argument("file", type=snapshot, metavar="FILE", help=_SNAPSHOT)
    steps.add_argument("--device", type=int, metavar="N", help=_DEVICE)
    steps.add_argument(
        "--top",
        type=_positive,
        default=10,
        metavar="N",
        help="print only the first N growing lines (default 10)",
    )
    steps.add_argument("--filter", default="", metavar="TEXT", help=_FILTER)
    return steps


def _flame(command: AddCommand) -> argparse.ArgumentParser:
    flame = command(
        "flame",
        "Print where memory was allocated as a call tree, or as folded stacks; for a heap dump "
        "without stacks, the dominator tree in groups; with --tree paths the shortest paths from roots.",
    )
    flame.add_argument("file", type=snapshot, metavar="FILE", help=_SNAPSHOT)
    flame.add_argument("--device", type=int, metavar="N", help=_DEVICE)
    flame.add_argument(
        "--value", metavar="V",
        help="for a trace: live or peak, the bytes live at the peak (the default); total, the bytes of all "
        "allocations; count, their number; leaked, the bytes live at the end. For a profile: one of its values, by "
        "its name in `memlens info` or as live, peak, total, count, temporary or leaked",
    )  # fmt: skip
    flame.add_argument(
        "--bottom-up",
        action="store_true",
        help="start with the functions that allocate, and add their callers",
    )
    flame.add_argument("--by-line", action="store_true", help="distinguish the lines of a function")
    flame.add_argument(
        "--group",
        choices=("type", "package", "module"),
        help="for a tree of a heap dump's objects: what to group by (default type)",
    )
    flame.add_argument("--tree", choices=("dominators", "paths"), help=_TREE)
    add_any_code(flame)
    flame.add_argument("--filter", default="", metavar="TEXT", help=_FILTER)
    flame.add_argument(
        "--diff", type=snapshot, metavar="OTHER",
        help="compare this file (before) with OTHER (after); frames are paired as in `memlens compare`",
    )  # fmt: skip
    form = flame.add_mutually_exclusive_group()
    form.add_argument(
        "--folded", action="store_true",
        help="print a line per stack, `outermost;…;innermost VALUE`, for flamegraph.pl, speedscope and others; with "
        "--diff, `… BEFORE AFTER` as difffolded.pl does; for a profile with negative values, `… LESS MORE`",
    )  # fmt: skip
    form.add_argument("--json", action="store_true", help="print the functions, largest first")
    return flame


def _sql_and_export(command: AddCommand) -> tuple[argparse.ArgumentParser, ...]:
    """Add the commands that make SQL tables, query them, and write files for other tools."""
    tables = command("tables", "Make an archive's tables for SQL ahead of the first query.")
    tables.add_argument("--part", choices=PARTS, action="append",
                        help="make only this table, or with `base` all others; may be repeated")  # fmt: skip
    examine = command(
        "examine", "Make the findings of a heap dump's archive before they are first asked for."
    )
    queries = command("queries", "Answer a server's SQL queries on an archive.")
    for each in (tables, examine, queries):
        each.add_argument("archive", type=Path, help="an archive's folder, as `memlens ingest` prints it")
        _long_work(each)
    sql = command("sql", "Run a read-only SQL query on a snapshot.")
    sql.add_argument("file", type=snapshot, metavar="FILE", help=_SNAPSHOT)
    sql.add_argument("query", help="one SELECT, or `-` to read it from stdin; see `memlens sql FILE --schema`",
                     nargs="?")  # fmt: skip
    sql.add_argument(
        "--schema",
        action="store_true",
        help="print the file's tables, their columns, and queries to start with",
    )
    form = sql.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print all rows as an array of objects")
    form.add_argument("--csv", action="store_true", help="print all rows as comma-separated values")
    sql.add_argument(
        "--limit", type=_positive, metavar="N", help="print only the first N rows (default for a table: 1000)"
    )
    export = command("export", "Write a device's trace, or stacks with bytes and counts, for another tool.")
    export.add_argument("file", type=snapshot, metavar="FILE", help=_SNAPSHOT)
    target = export.add_mutually_exclusive_group(required=True)
    target.add_argument("--speedscope", type=Path, metavar="OUT.json", help="stacks for speedscope.app")
    for name, writer in (*registry.trace_writers(), *registry.writers()):
        target.add_argument(f"--{name}", type=Path, metavar=writer.file, help=writer.help)
    _force(export)
    export.add_argument("--at", choices=("peak", "end", "all"), default="peak",
                        help="write the stacks of what was live at the peak (the default) or at the end of the trace, "
                        "or of all allocations")  # fmt: skip
    export.add_argument("--filter", default="", metavar="TEXT", help=_FILTER)
    export.add_argument("--device", type=int, metavar="N", help=_DEVICE)
    return tables, examine, queries, sql, export


def _files(command: AddCommand) -> tuple[argparse.ArgumentParser, ...]:
    """Add the commands that make a page or a picture for people."""
    report = command("report", "Write a snapshot's findings, pictures and tables as one HTML page.")
    picture = command("picture", "Draw a snapshot's timeline, flame graph or dominators as SVG.")
    for each in (report, picture):
        each.add_argument("file", type=snapshot, metavar="FILE", help=_SNAPSHOT)
        each.add_argument(
            "-o", "--out", type=Path, metavar="OUT", help="the file to write, instead of stdout"
        )
        each.add_argument("--device", type=int, metavar="N", help=_DEVICE)
        _force(each)
    report.add_argument("--markdown", action="store_true", help="write Markdown, without pictures")
    report.add_argument(
        "--values", action="store_true",
        help="of a heap dump: also quote what strings contain, such as the most copied ones",
    )  # fmt: skip
    report.add_argument(
        "--before", type=snapshot, metavar="FILE",
        help="of a heap dump: also compare its findings with those of this earlier dump",
    )  # fmt: skip
    picture.add_argument("--of", choices=("timeline", "flame", "dominators", "sunburst"),
                         help="what to draw (default: a trace's timeline, a profile's flame graph, a heap dump's "
                              "dominators)")  # fmt: skip
    picture.add_argument("--tree", choices=("dominators", "paths"), default="dominators",
                         help="for dominators and sunburst: the tree to draw (default dominators)")  # fmt: skip
    picture.add_argument("--by", choices=("line", "function", "module", "category", "file", "size"), default="line",
                         help="what the timeline's areas show (default line)")  # fmt: skip
    picture.add_argument("--value", metavar="V", help="for a flame graph: as in `memlens flame`")
    picture.add_argument(
        "--diff",
        type=snapshot,
        metavar="AFTER",
        help="draw the difference flame graph of FILE (before) and this one (after)",
    )
    picture.add_argument("--bottom-up", action="store_true", help="for a flame graph: as in `memlens flame`")
    picture.add_argument("--by-line", action="store_true", help="for a flame graph: as in `memlens flame`")
    picture.add_argument("--filter", default="", metavar="TEXT", help=_FILTER)
    picture.add_argument("--theme", choices=("light", "dark", "both"), default="both",
                         help="both (the default) follows what the reader's system prefers")  # fmt: skip
    return report, picture


def _object_id(text: str) -> int:
    value = object_id(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text} is not the id or the address of an object")
    return value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < 2**31:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds")
    return value


def _positive(text: str) -> int:
    value = whole_number(text)
    if value is None or not 0 < value < 2**62:
        raise argparse.ArgumentTypeError(f"{text} is not a number more than 0 and less than 2^62")
    return value

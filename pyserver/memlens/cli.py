"""The ``memlens`` command: exit status 0, or 1 with one sentence on stderr."""

import argparse
import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, TextIO, TypeVar

import msgspec

from memlens.errors import MemlensError, OutOfMemoryError, Problem
from memlens.units import SOURCE_WORDS, plain

# what a command needs is imported in the function: `memlens ingest` must not wait for
# pygls, nor `memlens lsp` for NumPy

# no command multiplies matrices; starting NumPy's threads for it would take longer than some commands do
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_PROGRESS_SECONDS = 0.1
T = TypeVar("T")


class _Parser(argparse.ArgumentParser):
    """Wrong arguments are told in one sentence, like everything else that goes wrong."""

    def error(self, message: str) -> NoReturn:
        self.exit(1, f"memlens: {message}. Try {self.prog} --help.\n")


def _terminated(_signal: int, _frame: object) -> NoReturn:
    """Being told to end leaves nothing behind either."""
    raise KeyboardInterrupt


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = _parser().parse_args(arguments)
    for name in ("SIGTERM", "SIGHUP"):
        if options.run is not _lsp and hasattr(signal, name):
            signal.signal(getattr(signal, name), _terminated)
    try:
        status: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader (head, a pager) has seen enough
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _fail(options, Problem("interrupted", "Interrupted", "Nothing was left behind."))
    except Exception as error:  # noqa: BLE001 - one sentence for people, whatever it is
        return _fail(options, problem_of(error))
    return status


def problem_of(error: Exception) -> Problem:
    """What went wrong, as data: our own errors as they are, the system's in our words."""
    match error:
        case MemlensError():
            return error.problem()
        case MemoryError():
            return Problem(
                "out-of-memory", "There is not enough memory for this file", "Close other programs."
            )
        case OSError():
            message = f"{error.filename or 'A file'}: {error.strerror or error}"
            return Problem("system", message, "Check the disk and your rights on it.")
        case _ if type(error).__module__ == "apsw":
            # apsw is imported only where a database is written; what fails there is the disk
            return Problem(
                "system", f"The archive can't be written: {error}", "Check the disk and your rights on it."
            )
        case _:
            message = f"Memlens failed: {type(error).__name__}: {error}"
            return Problem("internal", message, "Please report this.")


def _fail(options: argparse.Namespace, problem: Problem) -> int:
    if getattr(options, "progress", None) == "json":
        _json_line({"type": "error", "problem": problem})
    where = ""
    if problem.offset is not None:
        # people count characters from 1
        where = (
            f" (at character {problem.offset + 1:,})"
            if problem.code == "sql"
            else f" (at byte {problem.offset:,})"
        )
    sentence = f"memlens: {problem.message}{where}. {problem.advice}"
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    # one line, whatever a file's name or text holds
    print("".join(char if char.isprintable() else "?" for char in sentence).strip(), file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="memlens", description="Reads memory snapshots.")
    parser.add_argument("--version", action="version", version=_version())
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], int], what: str) -> argparse.ArgumentParser:
        found = commands.add_parser(name, help=what, description=what)
        found.set_defaults(run=run)
        return found

    ingest = command("ingest", _ingest, "Read a snapshot into an archive and print the archive's folder.")
    ingest.add_argument("file", type=Path)
    ingest.add_argument("--out", type=Path, help="the archive folder to make, instead of one in the cache")
    ingest.add_argument("--progress", choices=("auto", "json", "none"), default="auto",
                        help="auto: on a terminal; json: JSON lines on stdout")  # fmt: skip
    ingest.add_argument("--memory-limit", type=_positive, metavar="BYTES", default=0,
                        help="how much memory it may take (Linux); without it, what there is")  # fmt: skip
    info = command("info", _info, "Print what a snapshot holds: devices, peaks, warnings.")
    info.add_argument("file", type=Path)
    oom = command("oom", _oom, "Explain a snapshot's out-of-memory events.")
    oom.add_argument("file", type=Path)
    lines = command("lines", _lines, "Print the source lines that allocated the most.")
    lines.add_argument("file", type=Path)
    lines.add_argument("--top", type=_positive, metavar="N", help="only the first N lines")
    stack = command("stack", _stack, "Print an allocation and its stack.")
    stack.add_argument("file", type=Path)
    stack.add_argument("allocation", type=int, metavar="ALLOCATION_ID")
    compare = command("compare", _compare, "Print what is different between two snapshots, largest first.")
    compare.add_argument("before", type=Path)
    compare.add_argument("after", type=Path)
    compare.add_argument(
        "--device", type=int, metavar="N", help="of both; else the one that each shows first"
    )
    compare.add_argument("--other-device", type=int, metavar="N", help="of the second, where it is another")
    compare.add_argument(
        "--at", choices=("peak", "end"), default="peak", help="what was live there (default peak)"
    )
    compare.add_argument("--by", choices=("line", "function", "file", "stack"), default="line")
    compare.add_argument("--inclusive", action="store_true", help="count what a line called as its own")
    compare.add_argument("--search", default="", metavar="WORDS", help="only rows with all of these words")
    compare.add_argument(
        "--top", type=_positive, default=30, metavar="N", help="the first N rows (default 30)"
    )
    steps = command("steps", _steps, "Print the steps of a run and the lines that grow from step to step.")
    step_options: dict[str, dict[str, Any]] = {
        "file": {"type": Path},
        "--device": {"type": int, "metavar": "N", "help": "instead of the one that a view shows first"},
        "--top": {
            "type": _positive,
            "default": 10,
            "metavar": "N",
            "help": "only the first N lines that grow",
        },
        "--filter": {"default": "", "metavar": "TEXT", "help": "only what fits a filter"},
    }
    for name, more in step_options.items():
        steps.add_argument(name, **more)
    for sub in (info, oom, lines, stack, compare, steps):
        sub.add_argument("--json", action="store_true", help="print JSON")
    flame = _flame_arguments(
        command("flame", _flame, "Print where memory was allocated as a tree of calls, or as folded stacks.")
    )
    tables, sql, export = _sql_parsers(command)
    for sub in (ingest, info, oom, lines, stack, compare, steps, flame, tables, sql, export):
        sub.add_argument("--cache-dir", type=Path, help="where archives are kept")
        sub.add_argument(
            "--cache-limit", type=_positive, metavar="BYTES", help="how large they may be together"
        )
    command("lsp", _lsp, "Run the language server on stdin and stdout.")
    return parser


def _flame_arguments(flame: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """What ``memlens flame`` takes."""
    flame.add_argument("file", type=Path)
    flame.add_argument("--device", type=int, metavar="N", help="else the one that the view shows first")
    flame.add_argument(
        "--value", choices=("live", "total", "count"), default="live",
        help="bytes live at the peak (the default), bytes of all allocations, or how many there were",
    )  # fmt: skip
    flame.add_argument(
        "--bottom-up", action="store_true", help="from where memory is allocated to its callers"
    )
    flame.add_argument("--by-line", action="store_true", help="tell the lines of a function apart")
    flame.add_argument("--filter", default="", metavar="TEXT", help="only these allocations, as in the view")
    form = flame.add_mutually_exclusive_group()
    form.add_argument(
        "--folded", action="store_true",
        help="print a line a stack, `outermost;…;innermost VALUE`, for flamegraph.pl, speedscope and others",
    )  # fmt: skip
    form.add_argument("--json", action="store_true", help="print the functions, largest first")
    return flame


def _sql_parsers(command: Callable[..., argparse.ArgumentParser]) -> tuple[argparse.ArgumentParser, ...]:
    """The commands about tables: their making, questions to them, and the device's trace for others."""
    tables = command("tables", _tables, "Make the tables for SQL in an archive, ahead of the first query.")
    tables.add_argument("archive", type=Path, help="an archive's folder, as `memlens ingest` prints it")
    tables.add_argument("--progress", choices=("auto", "json", "none"), default="auto",
                        help="auto: on a terminal; json: JSON lines on stdout")  # fmt: skip
    sql = command("sql", _sql, "Ask a snapshot in SQL; the tables can only be read.")
    sql.add_argument("file", type=Path)
    sql.add_argument("query", help="one SELECT, or `-` to read it from stdin; see `memlens sql FILE --schema`",
                     nargs="?")  # fmt: skip
    sql.add_argument("--schema", action="store_true", help="print the tables and their columns")
    form = sql.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print an array of objects, all rows")
    form.add_argument("--csv", action="store_true", help="print comma-separated values, all rows")
    sql.add_argument("--limit", type=_positive, metavar="N", help="only the first N rows (a table: 1000)")
    export = command("export", _export, "Write a device's trace for another tool.")
    export.add_argument("file", type=Path)
    export.add_argument("--snapviewer", type=Path, metavar="OUT.zip", required=True,
                        help="an archive for SnapViewer, to be unzipped for it")  # fmt: skip
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


def _cache(options: argparse.Namespace) -> Any:
    from memlens.store.cache import DEFAULT_LIMIT_BYTES, Cache

    return Cache(options.cache_dir, options.cache_limit or DEFAULT_LIMIT_BYTES)


def _json_line(value: Any) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()


def _ingest(options: argparse.Namespace) -> int:
    from memlens import limits
    from memlens.ingest import ingest
    from memlens.units import format_bytes

    report = _reporter(options.progress)
    limited = limits.limit(options.memory_limit)
    try:
        archive = ingest(options.file, _cache(options), report, options.out)
    except MemoryError as error:
        if not limited:
            raise
        raise OutOfMemoryError(
            f"Reading {options.file} takes more than the {format_bytes(options.memory_limit)} that it may take"
        ) from error
    report("done", 1.0)
    if options.progress == "json":
        _json_line({"type": "done", "archive": str(archive)})
    else:
        print(archive)
    return 0


def _reporter(style: str, terminal: TextIO | None = None) -> Callable[[str, float], None]:
    """How progress is told: JSON lines, a line that changes on a terminal, or not at all."""
    terminal = terminal or sys.stderr
    last = [0.0]

    def due() -> bool:
        now = time.monotonic()
        if now - last[0] < _PROGRESS_SECONDS:
            return False
        last[0] = now
        return True

    def json_lines(stage: str, fraction: float) -> None:
        if stage != "done" and due():
            _json_line({"type": "progress", "stage": stage, "fraction": round(fraction, 4)})

    def on_terminal(stage: str, fraction: float) -> None:
        if stage == "done":
            terminal.write("\r\x1b[K")
        elif due():
            terminal.write(f"\r\x1b[K{stage} {fraction:4.0%}")
        terminal.flush()

    if style == "json":
        return json_lines
    if style == "auto" and terminal.isatty():
        return on_terminal
    return lambda _stage, _fraction: None


def _ask(options: argparse.Namespace, question: Callable[[Any], T], path: Path | None = None) -> T:
    """Answer a question from the file's archive, made first if there is none; a damaged one is made anew, once.

    ``path`` is the file, where a command has more than one.
    """
    file: Path = options.file if path is None else path
    from memlens.formats.containers import FileError
    from memlens.ingest import ingest
    from memlens.store.manifest import ArchiveError
    from memlens.store.snapshot import Snapshot

    cache = _cache(options)
    try:
        archive = cache.find(file)
    except OSError as error:
        raise FileError(f"{file} can't be opened: {error.strerror}") from error
    if archive is not None:
        try:
            with contextlib.closing(Snapshot.open(archive)) as snapshot:
                return snapshot.ask(question)
        except ArchiveError:
            shutil.rmtree(archive, ignore_errors=True)
    report = _reporter("auto")
    archive = ingest(file, cache, report)
    report("done", 1.0)
    with contextlib.closing(Snapshot.open(archive)) as snapshot:
        return snapshot.ask(question)


def _info(options: argparse.Namespace) -> int:
    from memlens.units import format_bytes, format_time

    def question(snapshot: Any) -> tuple[Any, list[str]]:
        if options.json or not any(device.ooms for device in snapshot.info.devices):
            return snapshot.info, []
        from memlens.views.oom_report import explained, summary

        return snapshot.info, list(summary(explained(snapshot)))

    info, ooms = _ask(options, question)
    if options.json:
        _json_line(info)
        return 0
    print(f"{info.path}: {info.kind}, {format_bytes(info.file_bytes)}")
    for device in info.devices:
        print(
            f"{device.name.lower()}: {device.events:,} events, {device.allocations:,} allocations, "
            f"peak {format_bytes(device.peak_bytes)} ({device.peak_bytes:,} bytes)"
            f"{_after(device, format_time)}, live at the end {format_bytes(device.live_at_end_bytes)} "
            f"in {device.live_at_end_count:,} allocations"
            f"{f', {device.ooms} out-of-memory events' if device.ooms else ''}"
        )
    for line in ooms:
        print(plain(line))
    for warning in info.warnings:
        print(f"note: {warning.message}")
    return 0


def _after(device: Any, format_time: Callable[[float], str]) -> str:
    if device.peak_time_us is None or device.time_origin_us is None:
        return f" at event {device.peak_moment:,}"
    return f" after {format_time(device.peak_time_us - device.time_origin_us)}"


def _oom(options: argparse.Namespace) -> int:
    from memlens.views.oom import marks
    from memlens.views.oom_report import explained, report

    answers, found = _ask(options, lambda snapshot: (explained(snapshot), marks(snapshot)))
    if options.json:
        _json_line(answers)
        return 0
    for line in report(answers, found):
        print(plain(line))
    return 0


def _lines(options: argparse.Namespace) -> int:
    from memlens.units import format_bytes
    from memlens.views.lines import top_lines

    rows = _ask(options, lambda snapshot: top_lines(snapshot, options.top))
    if options.json:
        _json_line(rows)
        return 0
    print(f"{'at peak':>10} {'total':>10} {'count':>10} {'at end':>10} {'self':>10}  line")
    for row in rows:
        print(
            f"{format_bytes(row.live_at_peak_bytes):>10} {format_bytes(row.total_bytes):>10} {row.count:>10,} "
            f"{format_bytes(row.live_at_end_bytes):>10} {format_bytes(row.self_total_bytes):>10}  "
            f"{plain(row.file)}:{row.line} {plain(row.function)}"
        )
    return 0


def _stack(options: argparse.Namespace) -> int:
    from memlens.model.info import device_name
    from memlens.units import format_bytes
    from memlens.views.stack import stack

    answer = _ask(options, lambda snapshot: stack(snapshot, options.allocation))
    if options.json:
        _json_line(answer)
        return 0
    allocation, same = answer.allocation, answer.same_stack
    print(
        f"allocation {allocation.allocation} on {device_name(allocation.device).lower()}: "
        f"{format_bytes(allocation.size_bytes)} ({allocation.size_bytes:,} bytes) "
        f"at {allocation.address}, {allocation.state.replace('_', ' ')}"
    )
    print(f"same stack: {same.count:,} allocations, {format_bytes(same.total_bytes)} in all, "
          f"{format_bytes(same.live_at_peak_bytes)} at the peak")  # fmt: skip
    label = allocation.label
    if label is not None and label.source == "inferred":
        print(f"forward line, inferred: {plain(label.file)}:{label.line} {plain(label.function)}")
    for frame in answer.frames:
        place = f"{plain(frame.file)}:{frame.line}" if frame.file else "(native)"
        print(f"  {place} {plain(frame.function)}{SOURCE_WORDS[frame.source]}")
    return 0


def _compare(options: argparse.Namespace) -> int:
    from memlens.views.compare import MOST_ROWS, Comparison
    from memlens.views.folded import Folded, fold, places_of
    from memlens.views.pairing import Pairing
    from memlens.views.sets import AllocationSet

    def side(path: Path, device: int | None) -> Folded:
        def folded(snapshot: Any) -> Folded:
            number = snapshot.info.default_device if device is None else device
            events = next((d.events for d in snapshot.info.devices if d.device == number), 0)
            of = AllocationSet(number, from_moment=None if options.at == "peak" else events)
            return fold(snapshot, of, places_of(snapshot))

        return _ask(options, folded, path)

    before = side(options.before, options.device)
    after = side(options.after, options.device if options.other_device is None else options.other_device)
    comparison = Comparison(before, after, Pairing(before.places.frames, after.places.frames), options.by)
    measure: Any = "inclusive" if options.inclusive else "own"
    answer = comparison.answer(measure, options.search, "difference", 0, min(options.top, MOST_ROWS))
    if options.json:
        _json_line(answer)
    else:
        _print_comparison(answer)
    return 0


def _print_comparison(answer: Any) -> None:
    from memlens.units import format_bytes

    print(f"{'before':>10} {'after':>10} {'difference':>11}  place")
    for row in answer.rows:
        place = row.after or row.before
        file = plain(place.file) or ("(no Python frame)" if place.function else "(no stack)")
        moved = f", moved from line {row.before.line}" if row.how == "moved" else ""
        renamed = f", was {plain(row.before.function)}" if row.how == "renamed" else ""
        # native frames have no line, and a file as a whole is on none
        print(
            f"{format_bytes(row.before_bytes):>10} {format_bytes(row.after_bytes):>10} "
            f"{_signed(row.difference_bytes):>11}  {file}{f':{place.line}' if place.line else ''} "
            f"{plain(place.function)}{moved}{renamed}{_one_sided(row)}".rstrip()
        )
    total = answer.total
    print(
        f"{format_bytes(total.before_bytes):>10} {format_bytes(total.after_bytes):>10} "
        f"{_signed(total.after_bytes - total.before_bytes):>11}  in all"
    )


def _one_sided(row: Any) -> str:
    if row.before_count == 0:
        return ", only after"
    return ", only before" if row.after_count == 0 else ""


def _signed(count: int) -> str:
    from memlens.units import format_bytes

    return f"{'+' if count > 0 else ''}{format_bytes(count)}"


def _tables(options: argparse.Namespace) -> int:
    from memlens.store.snapshot import Snapshot
    from memlens.store.tables import FILE_NAME, fill

    report = _reporter(options.progress)
    with contextlib.closing(Snapshot.open(options.archive)) as snapshot:
        fill(snapshot, report)
        _cache(options).evict(keep=options.archive)
    report("done", 1.0)
    if options.progress == "json":
        _json_line({"type": "done", "archive": str(options.archive)})
    else:
        print(options.archive / FILE_NAME)
    return 0


def _flame(options: argparse.Namespace) -> int:
    from memlens import cli_flame

    if options.json:
        _json_line(
            _ask(options, lambda found: cli_flame.largest_functions(cli_flame.flame_tree(found, options)))
        )
        return 0
    form = cli_flame.folded if options.folded else cli_flame.text_tree
    for line in _ask(options, lambda snapshot: list(form(cli_flame.flame_tree(snapshot, options)))):
        print(line)
    return 0


def _sql(options: argparse.Namespace) -> int:
    from memlens.cli_sql import Form, print_answer, print_schema
    from memlens.store.manifest import ArchiveError
    from memlens.store.snapshot import Snapshot
    from memlens.store.tables import FILE_NAME, fill

    if options.schema:
        print_schema()
        return 0
    if options.query is None:
        raise MemlensError("There is no query", advice="Try memlens sql --help.")
    query = sys.stdin.read() if options.query == "-" else options.query

    def filled(snapshot: Snapshot) -> Path:
        report = _reporter("auto")
        fill(snapshot, report)
        report("done", 1.0)
        return snapshot.archive

    archive = _ask(options, filled)
    _cache(options).evict(keep=archive)
    form: Form = "json" if options.json else "csv" if options.csv else "table"
    try:
        print_answer(archive, query, form, options.limit)
    except ArchiveError:
        # a damaged table shows itself when it is read; the next run makes them anew
        (archive / FILE_NAME).unlink(missing_ok=True)
        raise
    return 0


def _steps(options: argparse.Namespace) -> int:
    from memlens.cli_steps import print_steps, steps_and_growth

    told, grown = _ask(options, lambda snapshot: steps_and_growth(snapshot, options))
    if options.json:
        _json_line({"steps": told, "growth": grown})
    else:
        print_steps(told, grown)
    return 0


def _export(options: argparse.Namespace) -> int:
    from memlens.export import snapviewer

    report = _reporter("auto")
    _ask(options, lambda snapshot: snapviewer(snapshot, options.device, options.snapviewer, report))
    report("done", 1.0)
    print(options.snapviewer)
    return 0


def _lsp(_options: argparse.Namespace) -> int:
    from memlens.server.app import main as serve

    return int(serve() or 0)

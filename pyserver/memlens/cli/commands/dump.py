"""Write the heap of a running process, or of a page or worker of a browser, to a file.

Without PID or PAGE, those that can be dumped are listed; a browser has to run with ``--remote-debugging-port``. See
[recording](recording.md).
"""

import argparse
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from memlens import limits
from memlens.cli.columns import beginning
from memlens.cli.options import PROGRAM, add_program_options, positive, seconds
from memlens.cli.output import json_line, message_line, output_columns, say
from memlens.cli.parsers import UsageError
from memlens.cli.progress import reporter
from memlens.dumping.options import Options
from memlens.dumping.processes import Process
from memlens.dumping.programs import Listed, Program, listed, short_targets
from memlens.dumping.runtimes import dumped_titles, kinds, titles
from memlens.dumping.take import Taken, output_of, take
from memlens.packs import registry
from memlens.texts import Text, phrase
from memlens.units import format_bytes

EXAMPLES = ("memlens dump",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.description = f"{command.description} Processes: {dumped_titles()}."
    command.add_argument("program", metavar="PID|PAGE", nargs="?", help=PROGRAM)
    command.add_argument("out", type=Path, metavar="OUT", nargs="?",
                         help="the file to write; HOST:PORT without it lists the pages of that browser")  # fmt: skip
    command.add_argument("--no-texts", action="store_true",
                         help="Python only: leave out the text of strings and numbers")  # fmt: skip
    command.add_argument(
        "--all",
        action="store_true",
        help=f"{titles(lambda each: each.can_write_garbage)} only: include unreachable objects (garbage)",
    )
    command.add_argument("--every", type=seconds, metavar="SECONDS",
                         help="take a series, with a dump every so many seconds: OUT with a number "
                         "before its ending")  # fmt: skip
    command.add_argument("--count", type=positive, metavar="N", help="the number of dumps in the series")
    add_program_options(command)


def run(options: argparse.Namespace) -> int:
    if options.program is None:
        return _list(listed(), as_json=options.json)
    if options.out is None:
        in_browser = registry.pages().at(options.program)
        if in_browser is None:
            raise UsageError(phrase("There is no file to write to"), advice=phrase("memlens dump PID OUT"))
        return _list(Listed([], [*in_browser]), as_json=options.json)
    if options.parent:
        # not at once: what a runtime opened for this is to be closed first
        limits.end_with(options.parent, signal.SIGTERM)
    if (options.every is None) != (options.count is None):
        raise UsageError(
            phrase("A series needs both --every and --count"),
            advice=phrase("memlens dump PID OUT --every 10 --count 5"),
        )
    taken = [_taken(options, out) for out in _each(options)]
    if options.progress == "json":
        message_line({"type": "done", "archive": str(options.out), "note": None})
    elif options.json:
        rows = [{"file": str(out), **_described(one.program), **_cost(one)} for out, one in taken]
        json_line(rows[0] if options.count is None else rows)
    elif len(taken) > 1:
        say("memlens compare " + " ".join(str(out) for out, _ in taken))
    return 0


def _each(options: argparse.Namespace) -> Iterator[Path]:
    """Yield each file to write when it is due; the files of a series are numbered."""
    if options.count is None:
        yield options.out
        return
    out, digits, began = options.out, len(str(options.count)), time.monotonic()
    files = [
        out.with_name(f"{out.stem}-{number:0{digits}}{out.suffix}") for number in range(1, options.count + 1)
    ]
    for file in files:
        # before the first is taken: the last may be in the way
        output_of(file, force=options.force).check()
    for number, file in enumerate(files):
        time.sleep(max(began + number * options.every - time.monotonic(), 0))
        yield file


def _taken(options: argparse.Namespace, out: Path) -> tuple[Path, Taken]:
    report = reporter(options.progress)

    def grown(size: int, fraction: float | None) -> None:
        report(format_bytes(size) if size else "", fraction)

    asked = Options(not options.no_texts, not options.all, options.timeout, options.force)
    taken = take(options.program, out, asked, grown)
    report("done", 1.0)
    if options.progress == "json" or options.json:
        return out, taken
    if taken.cost is not None:
        say(f"{out}: {taken.cost.sentence}")
    else:
        say(f"{out}: {format_bytes(taken.bytes)} of {_called(taken.program)}, in {taken.seconds:.2f} s")
    return out, taken


def _called(program: Program) -> str | Text:
    if not isinstance(program, Process):
        return program.name
    return phrase("the process") if program.runtime is None else kinds()[program.runtime.kind].title


def _list(found: Listed, *, as_json: bool) -> int:
    if as_json:
        programs: list[Program] = [*found.processes, *found.pages]
        json_line([_described(each) for each in programs])
        return 0
    if not found.processes and not found.pages:
        say(f"Nothing of yours can be dumped: no process runs on {dumped_titles()}, and no "
            "browser with --remote-debugging-port")  # fmt: skip
    for each in found.processes:
        kind = _described(each)["runtime"]
        row = f"{each.pid:>8}  {kind:<7} {format_bytes(each.resident_bytes):>9}  {each.command}"
        say(beginning(row, output_columns()) if sys.stdout.isatty() else row)
    for page, target in zip(found.pages, short_targets(found.pages), strict=True):
        say(f"{target}  {str(page.kind).lower()}  {page.title}  {page.url}")
    return 0


def _described(each: Program) -> dict[str, object]:
    if not isinstance(each, Process):
        return {"page": each.target, "runtime": each.type, "title": each.title, "url": each.url}
    kind = None if each.runtime is None else each.runtime.kind
    return {"pid": each.pid, "runtime": kind, "resident_bytes": each.resident_bytes, "command": each.command}


def _cost(taken: Taken) -> dict[str, object]:
    if taken.cost is not None:
        return dict(taken.cost.figures)
    return {"file_bytes": taken.bytes, "seconds": round(taken.seconds, 3)}

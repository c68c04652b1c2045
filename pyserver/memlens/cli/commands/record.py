"""Record what a running process or a browser's page allocates.

It stops at Ctrl+C or after a given time. The file has each object that is still alive then, with the time and the
stack of its allocation. Meanwhile garbage is collected 20 times a second. ``--sampling`` only estimates what each
stack holds, at little cost. See [recording](recording.md).
"""

import argparse
import signal
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

from memlens import limits
from memlens.cli.options import PROGRAM, add_program_options, name_at_this_time, seconds
from memlens.cli.output import json_line, message_line, say
from memlens.cli.progress import reporter
from memlens.dumping.options import Recording
from memlens.dumping.programs import Program, named, recording_of
from memlens.dumping.runtimes import titles
from memlens.dumping.take import record
from memlens.units import format_bytes

EXAMPLES = ()


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.description = f"{command.description} Processes: {titles(lambda each: each.record is not None)}."
    command.add_argument("program", metavar="PID|PAGE", help=PROGRAM)
    command.add_argument("out", type=Path, metavar="OUT", nargs="?",
                         help="the file to write (default: named for the program and the time)")  # fmt: skip
    command.add_argument("--for", type=seconds, metavar="SECONDS", dest="seconds",
                         help="stop after so long (default: at Ctrl+C)")  # fmt: skip
    command.add_argument(
        "--sampling",
        action="store_true",
        help="only estimates by stack, for programs in production",
    )
    add_program_options(command)


def run(options: argparse.Namespace) -> int:
    stop = Event()
    if options.parent:
        # a line from the parent stops it; its end discards what was recorded
        limits.end_with(options.parent, signal.SIGTERM, stop.set)
    else:
        _stop_at_interrupt(stop)
    out = options.out or _named_for(named(options.program), sampling=options.sampling)
    report = reporter(options.progress)

    def begun() -> None:
        if options.progress == "auto" and not options.json:
            say(f"Recording; Ctrl+C stops it and writes {out}, a second Ctrl+C discards it")

    stopped = _until(stop, options.seconds, begun, report)

    def grown(size: int, fraction: float | None) -> None:
        report(format_bytes(size) if size else "", fraction)

    asked = Recording(options.sampling, options.timeout, options.force)
    taken = record(options.program, out, asked, stopped, grown)
    report("done", 1.0)
    if options.progress == "json":
        message_line({"type": "done", "archive": str(out), "note": None})
    elif options.json:
        rounded = round(taken.seconds, 3)
        json_line(
            {"file": str(out), "program": options.program, "file_bytes": taken.bytes, "seconds": rounded}
        )
    else:
        say(f"{out}: {format_bytes(taken.bytes)}, in {taken.seconds:.2f} s")
    return 0


def _stop_at_interrupt(stop: Event) -> None:
    """Stop at Ctrl+C; at the second one discard what was recorded."""

    def interrupted(_signal: int, _frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    signal.signal(signal.SIGINT, interrupted)


def _until(
    stop: Event,
    seconds: float | None,
    begun: Callable[[], None],
    report: Callable[[str, float | None], None],
) -> Callable[[], bool]:
    """Return a function that says whether to stop; its first call calls ``begun`` and starts the clock."""
    began: list[float] = []

    def stopped() -> bool:
        now = time.monotonic()
        if not began:
            began.append(now)
            begun()
        elapsed = now - began[0]
        minutes, rest = divmod(int(elapsed), 60)
        report(f"{minutes}:{rest:02}", None)
        return stop.is_set() or (seconds is not None and elapsed >= seconds)

    return stopped


def _named_for(program: Program, *, sampling: bool) -> Path:
    way = recording_of(program, sampling=sampling)
    return Path(name_at_this_time(program.name, "heap") + ("" if way is None else way.ending))

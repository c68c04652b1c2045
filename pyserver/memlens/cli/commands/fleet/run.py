"""Read all snapshots of a place and write their summaries: ``run`` may be left out."""

import argparse
import sys
import time
from pathlib import Path

from memlens.cli.options import positive
from memlens.cli.output import json_line, say
from memlens.cli.parsers import UsageError
from memlens.errors import MemlensError
from memlens.fleet.database import FILE_NAME
from memlens.fleet.run import FileDone, Listed, Message, Options, Progress, Result, Waiting, default_folder
from memlens.fleet.run import run as read
from memlens.remote_files import STORES
from memlens.texts import phrase
from memlens.units import counted, format_bytes, plain, shortened

_SHOW_S = 0.2
_MOST_NAMED = 3


class RunInterruptedError(MemlensError):
    """The reading of a fleet was interrupted."""

    code = "interrupted"
    retry = False


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("place", metavar="PLACE", help="a folder, a glob, or a URL (s3, gs, az, ssh, file)")
    command.add_argument(
        "--out", type=Path, metavar="FOLDER", help="the folder of the summaries (default PLACE.fleet)"
    )
    command.add_argument("--scheduler", metavar="ADDRESS",
                         help="the Dask scheduler to use (default: workers are started here, one a core)")  # fmt: skip
    command.add_argument("--workers", type=positive, metavar="N", help="the number of workers to start here")
    command.add_argument("--memory-limit", type=positive, metavar="BYTES", default=0,
                         help="the memory that reading a file may use (default: the worker's own limit)")  # fmt: skip
    command.add_argument(
        "--archives", metavar="PLACE", help="a folder or URL where archives are kept (default: dropped)"
    )
    command.add_argument("--progress", choices=("auto", "json"), default="auto",
                         help="auto: on a terminal; json: JSON lines on stdout")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    out = options.out or default_folder(options.place)
    # a path has one "/" where a URL has two
    if out.parts and out.parts[0].removesuffix(":") in STORES and out.parts[0].endswith(":"):
        raise UsageError(
            phrase("Summaries are written to a folder of this machine, not to a URL"),
            advice=phrase("Give a local folder with --out, and copy it from there."),
        )
    chosen = Options(
        options.place,
        out.absolute(),
        options.scheduler,
        options.workers,
        options.memory_limit,
        options.archives,
    )
    shown = _Terminal() if options.progress != "json" else None
    listener = json_line if shown is None else shown.on
    try:
        result = read(chosen, listener)
    except KeyboardInterrupt:
        raise RunInterruptedError(
            phrase("Interrupted"),
            advice=phrase("Finished summaries are in {out}; the same command continues from there.", out=out)
            if (out / FILE_NAME).exists()
            else phrase("No summary was finished."),
        ) from None
    if shown is None:
        json_line(result)
    else:
        shown.clear()
        say(_words(result))
    return 0


def _words(result: Result) -> str:
    problems = [
        f"{count:,} {name}"
        for count, name in (
            (result.damaged, "damaged"), (result.failed, "not read"), (result.other, "not snapshots"),
        )
        if count
    ]  # fmt: skip
    known = f", {result.known:,} known already" if result.known else ""
    return (
        f"{counted(result.files, 'file')}{known}: {result.ok:,} summarised"
        f"{', ' if problems else ''}{', '.join(problems)}; {format_bytes(result.bytes)} read "
        f"in {result.seconds:.1f} s by {counted(result.workers, 'worker')}. Summaries are in {result.folder}"
    )


class _Terminal:
    """Shows progress in a changing line if stderr is a terminal, and problems in lines of their own in any case."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._reading: dict[str, Progress] = {}
        self._done = 0
        self._files = 0
        self._problems = 0
        self._shown_at = 0.0

    def on(self, message: Message) -> None:
        match message:
            case Listed(files=files, known=known, bytes=total):
                self._files = files - known
                self._line(
                    f"{counted(files, 'file')}, {format_bytes(total)}"
                    + (f", of which {known:,} have a summary already" if known else "")
                )
            case Waiting():
                self._line("The scheduler has no workers yet: waiting for one")
            case Progress():
                if message.attempt > 1 and message.stage == "started":
                    died = self._reading.get(message.name)
                    who = f" on {died.worker}" if died else ""
                    self._line(
                        f"{message.name}: the reading{who} ended with its worker, attempt {message.attempt:,} is on "
                        f"{message.worker}"
                    )
                self._reading[message.name] = message
            case FileDone():
                self._reading.pop(message.name, None)
                self._done = message.done
                if message.problem is not None:
                    self._problems += 1
                    self._line(f"{message.name}: {message.problem.message}")
            case Result():
                pass
        self._show()

    def clear(self) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _line(self, text: str) -> None:
        self.clear()
        say(text, error=True)

    def _show(self) -> None:
        now = time.monotonic()
        if not self._live or now - self._shown_at < _SHOW_S:
            return
        self._shown_at = now
        reading = [
            f"{shortened(each.name, 30)} {each.fraction or 0:.0%}"
            for each in list(self._reading.values())[:_MOST_NAMED]
        ]
        more = len(self._reading) - len(reading)
        text = f"{self._done:,} of {self._files:,}"
        if self._problems:
            text += f", {counted(self._problems, 'problem')}"
        text += f"; reading {', '.join(reading)}" if reading else ""
        text += f" and {more:,} more" if more else ""
        sys.stderr.write(f"\r\x1b[K{plain(text)}")
        sys.stderr.flush()

"""Run a program so that it leaves a file when its memory runs out.

The file is written when an allocation fails, at an error that nobody catches, at SIGTERM, when a limit is passed, on
SIGUSR2, and at the end. Options of Memlens come before the program. See
[A recording that survives](recording.md#a-recording-that-survives).
"""

import argparse
from pathlib import Path

from memlens.cli.columns import say_paragraph
from memlens.cli.options import name_at_this_time, positive, size_bytes
from memlens.cli.output import say
from memlens.cli.parsers import UsageError
from memlens.environment import as_given
from memlens.errors import FileError, reason
from memlens.launching.running import Ended
from memlens.launching.running import run as run_to_its_end
from memlens.launching.ways import Start, start_of
from memlens.packs import registry
from memlens.record import KEEP, Settings
from memlens.texts import Text, as_text, phrase
from memlens.units import format_bytes

EXAMPLES = ()
OF_A_PROGRAM = True
"""The first word that is not an option, and all after it, belong to the program."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    ways = command.add_mutually_exclusive_group()
    for each in registry.launches():
        ways.add_argument(
            f"--{each.name}", action="store_const", const=each.name, dest="way", help=str(each.records)
        )
    command.add_argument(
        "-o",
        type=Path,
        metavar="FOLDER",
        dest="folder",
        help="where files are written (default: a new folder named for the program and the time)",
    )
    command.add_argument(
        "--at",
        type=size_bytes,
        metavar="SIZE",
        help="also write once so much is reserved on a GPU, or resident, as 38GiB (default: three quarters of a "
        "container's memory)",
    )
    command.add_argument(
        "--every", type=positive, metavar="N", help="also write after every N steps of an optimizer"
    )
    command.add_argument(
        "--keep",
        type=positive,
        metavar="N",
        default=KEEP,
        help=f"keep the last N files of each reason and process (default: {KEEP})",
    )
    command.add_argument(
        "program", metavar="PROGRAM …", nargs=argparse.REMAINDER, help="the program and its arguments"
    )


def run(options: argparse.Namespace) -> int:
    command = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not command:
        raise UsageError(
            phrase("There is no program to run"), advice=phrase("Write it last: memlens run python train.py")
        )
    program = command[-1] if len(command) < 2 else command[1]
    folder = (options.folder or Path(name_at_this_time(program, "run"))).absolute()
    settings = Settings(str(folder), "", options.at, options.every, options.keep)
    start = start_of(options.way, command, settings, as_given())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            phrase("{folder} can't be made: {why}", folder=as_text(folder), why=reason(error))
        ) from error
    ended = run_to_its_end(start, folder)
    _say(ended, start)
    if not ended.files and not any(folder.iterdir()):
        folder.rmdir()
    return ended.status


def _say(ended: Ended, start: Start) -> None:
    for file in ended.files:
        say(f"{_short(file)}: {format_bytes(file.stat().st_size)}")
    if ended.files:
        say_paragraph(f"Open one in the editor, or: memlens findings {_short(ended.files[0])}")
        return
    say_paragraph(str(_without_files(ended, start)))


def _without_files(ended: Ended, start: Start) -> Text:
    """Why no file was written."""
    if ended.was_out_of_memory:
        return phrase(
            "The kernel ended it because memory ran out, and nothing could be written. Set a limit below that "
            "with --at; `dmesg | memlens explain -` says what was full."
        )
    if ended.status == 128 + 9:
        return phrase(
            "It was ended by SIGKILL, and nothing could be written. `dmesg | memlens explain -` says if that was "
            "the kernel."
        )
    if start.way.recorder:
        return phrase(
            "Nothing was recorded: it used no GPU, or a message above says why. memlens run --help has what else "
            "can be recorded."
        )
    return phrase("It left no file, as its memory didn't run out.")


def _short(file: Path) -> str:
    """A file's path, relative where that is shorter."""
    try:
        return str(file.relative_to(Path.cwd()))
    except ValueError:
        return str(file)

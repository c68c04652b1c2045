"""One-line error messages of commands."""

import argparse
import contextlib
import os
import sys

from msgspec.structs import replace

from memlens.cli.output import message_line, say, say_traceback
from memlens.cli.parsers import UsageError
from memlens.errors import MemlensError, Problem, reason
from memlens.project import bug_advice
from memlens.store.files.cache_folder import CHOOSE_FOLDER
from memlens.texts import Text, phrase

_DISK_ERRORS = {"BusyError", "CantOpenError", "FullError", "IOError", "LockedError", "ReadOnlyError"}
"""SQLite's errors about the disk. Any other is a bug in Memlens."""


def problem_of(error: Exception, options: argparse.Namespace | None = None) -> Problem:
    """Return an exception as data: Memlens's own errors unchanged, those of the system with a message and advice.

    A copy of stdin or a URL has the name that ``options`` give it.
    """
    problem = _problem_of(error)
    names: dict[str, str] = getattr(options, "names", {})
    said = problem.message.text
    for path, name in names.items():
        said = said.replace(path, name)
    return problem if said == problem.message.text else replace(problem, message=Text(said))


def _problem_of(error: Exception) -> Problem:
    match error:
        case MemlensError():
            return error.problem()
        case MemoryError():
            return Problem(
                "out-of-memory",
                phrase("There is not enough memory for this file"),
                phrase("Close other programs."),
            )
        case OSError():
            message = (
                phrase("{file}: {reason}", file=error.filename, reason=reason(error))
                if error.filename
                else phrase("Reading or writing failed: {reason}", reason=reason(error))
            )
            return Problem("system", message, phrase("Check the disk and your permissions."))
        case _ if type(error).__module__ == "apsw" and type(error).__name__ in _DISK_ERRORS:
            # by name, because most commands don't import apsw
            return Problem(
                "system", phrase("The archive can't be written: {reason}", reason=str(error)), CHOOSE_FOLDER
            )
        case _:
            message = phrase("Internal error ({what})", what=f"{type(error).__name__}: {error}")
            return Problem("internal", message, bug_advice())


def drop_output() -> None:
    """Discard further output: its reader (head, a pager) has closed the pipe."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(options: argparse.Namespace, problem: Problem) -> int:
    """Print a problem, and return the exit status."""
    if getattr(options, "progress", None) == "json":
        try:
            message_line({"type": "error", "problem": problem})
        except BrokenPipeError:
            # Ctrl+C has also ended the rest of the pipeline
            drop_output()
    say_problem(problem)
    status: int = getattr(options, "failed", 1)
    return 2 if problem.code == UsageError.code else status


def failed(options: argparse.Namespace, error: Exception) -> Problem:
    """Return an exception as data. Of a bug the traceback is printed, which a report of it needs.

    The server logs the stderr of its child processes.
    """
    problem = problem_of(error, options)
    if problem.code == "internal":
        say_traceback(error)
    return problem


def say_problem(problem: Problem) -> None:
    """Print the sentence of a problem on stderr."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    say(f"memlens: {problem.sentence}", error=True)

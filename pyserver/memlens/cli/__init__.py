"""The ``memlens`` command: exit status 0; 1 with a one-line message on stderr; 2 after wrong arguments.

Each command is a module here.
"""

import argparse
import atexit
import contextlib
import gc
import os
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from memlens.cli.arguments import parse
from memlens.cli.fleets.arguments import with_run
from memlens.cli.output import message_line, say
from memlens.errors import MemlensError, Problem, reason
from memlens.project import bug_advice
from memlens.texts import phrase

# no command multiplies matrices, and starting OpenBLAS's threads takes longer than some commands
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# at exit, don't collect reference cycles: the process is about to end
atexit.register(gc.freeze)

_DISK_ERRORS = {"BusyError", "CantOpenError", "FullError", "IOError", "LockedError", "ReadOnlyError"}
"""SQLite's errors about the disk. Any other is a bug in Memlens."""


def _terminate(_signal: int, _frame: object) -> NoReturn:
    """Clean up in the same way as after Ctrl+C."""
    raise KeyboardInterrupt


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    if sys.stdout is None:
        # the caller has closed it
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as the process runs
    options = argparse.Namespace()
    try:
        options = parse(with_run(sys.argv[1:] if arguments is None else arguments))
        for name in ("SIGTERM", "SIGHUP"):
            if options.command not in ("lsp", "mcp") and hasattr(signal, name):
                signal.signal(getattr(signal, name), _terminate)
        # import only what the command needs: `memlens ingest` must not wait for pygls
        status: int = _command(options.command).run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return 0
    except KeyboardInterrupt:
        return _fail(
            options, Problem("interrupted", phrase("Interrupted"), phrase("All partial files were removed."))
        )
    except Exception as error:  # noqa: BLE001 - every error becomes a one-line message
        problem = problem_of(error)
        if problem.code == "internal":
            # a bug report needs the traceback; the server logs the stderr of its child processes
            traceback.print_exception(error)
        return _fail(options, problem)
    return status


def _command(name: str) -> ModuleType:
    """Import a command's module, without garbage collection: the objects that imports create are permanent."""
    is_first = not gc.isenabled()
    gc.disable()
    try:
        return import_module(f"memlens.cli.{name}")
    finally:
        if is_first:
            # so far this process has done nothing but import, and a collection would go through all of that
            gc.freeze()
        gc.enable()


def problem_of(error: Exception) -> Problem:
    """Return an exception as data: Memlens's own errors unchanged, those of the system with a message and advice."""
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
                "system",
                phrase("The archive can't be written: {reason}", reason=str(error)),
                phrase("Check the disk and your permissions."),
            )
        case _:
            message = phrase("Internal error ({what})", what=f"{type(error).__name__}: {error}")
            return Problem("internal", message, bug_advice())


def _drop_output() -> None:
    """Discard further output: its reader (head, a pager) has closed the pipe."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(options: argparse.Namespace, problem: Problem) -> int:
    if getattr(options, "progress", None) == "json":
        try:
            message_line({"type": "error", "problem": problem})
        except BrokenPipeError:
            # Ctrl+C has also ended the rest of the pipeline
            _drop_output()
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    say(f"memlens: {problem.sentence}", error=True)
    return 1

"""The ``memlens`` command: exit status 0, or 1 with one sentence on stderr. Each command has a file here."""

import argparse
import contextlib
import gc
import os
import signal
import sys
import traceback
from importlib import import_module
from types import ModuleType
from typing import NoReturn

from memlens.cli.arguments import parser
from memlens.cli.output import json_line, say
from memlens.errors import MemlensError, Problem

# no command multiplies matrices; starting NumPy's threads for it would take longer than some commands do
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_DISK_FAILED = {"BusyError", "CantOpenError", "FullError", "IOError", "LockedError", "ReadOnlyError"}
"""Errors of SQLite about the disk. Any other is a mistake of ours."""


def _terminated(_signal: int, _frame: object) -> NoReturn:
    """Being told to end leaves nothing behind either."""
    raise KeyboardInterrupt


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit status."""
    options = parser().parse_args(arguments)
    for name in ("SIGTERM", "SIGHUP"):
        if options.command != "lsp" and hasattr(signal, name):
            signal.signal(getattr(signal, name), _terminated)
    try:
        # a command brings only what it needs: `memlens ingest` must not wait for pygls
        status: int = _command(options.command).run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader (head, a pager) has seen enough
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _fail(options, Problem("interrupted", "Interrupted", "Nothing was left behind."))
    except Exception as error:  # noqa: BLE001 - one sentence for people, whatever it is
        problem = problem_of(error)
        if problem.code == "internal":
            # who reads a mistake of ours needs to know where it was made; a server that started this logs it
            traceback.print_exception(error)
        return _fail(options, problem)
    return status


def _command(name: str) -> ModuleType:
    """A command's module. What modules make while they are imported stays: no garbage is looked for among it."""
    gc.disable()
    try:
        return import_module(f"memlens.cli.{name}")
    finally:
        gc.enable()


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
        case _ if type(error).__module__ == "apsw" and type(error).__name__ in _DISK_FAILED:
            # apsw is imported only where a database is read or written
            return Problem(
                "system", f"The archive can't be written: {error}", "Check the disk and your rights on it."
            )
        case _:
            message = f"Memlens made a mistake ({type(error).__name__}: {error})"
            return Problem("internal", message, "Nothing is lost. Please report it with the lines above.")


def _fail(options: argparse.Namespace, problem: Problem) -> int:
    if getattr(options, "progress", None) == "json":
        json_line({"type": "error", "problem": problem})
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
    say(sentence.strip(), error=True)
    return 1

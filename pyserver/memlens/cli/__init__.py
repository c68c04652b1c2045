"""The ``memlens`` command: exit status 0; 1 with a one-line message on stderr; 2 after wrong arguments.

Each command is a module in ``commands/``; :mod:`memlens.cli.command_line` finds it.
"""

import argparse
import atexit
import contextlib
import gc
import logging
import os
import signal
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NoReturn

from memlens.cli.command_line import parse
from memlens.cli.failures import drop_output, fail, failed, problem_of
from memlens.cli.options import not_here
from memlens.cli.output import PlainLog
from memlens.cli.parsers import UsageError
from memlens.errors import Problem
from memlens.texts import phrase

# where nothing else logs, as on the command line
if logging.lastResort is not None:
    logging.lastResort.setFormatter(PlainLog())

# at exit, don't collect reference cycles: the process is about to end
atexit.register(gc.freeze)


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
        options = parse(sys.argv[1:] if arguments is None else arguments)
        for name in ("SIGTERM", "SIGHUP"):
            if options.command not in ("lsp", "mcp") and hasattr(signal, name):
                signal.signal(getattr(signal, name), _terminate)
        with _files_here(options):
            status: int = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()
        return 0
    except KeyboardInterrupt:
        return fail(
            options, Problem("interrupted", phrase("Interrupted"), phrase("All partial files were removed."))
        )
    except UsageError as error:
        if not error.advice.text:
            error.advice = phrase("Try memlens {command} --help.", command=options.command)
        return fail(options, problem_of(error, options))
    except Exception as error:  # noqa: BLE001 - every error becomes a one-line message
        return fail(options, failed(options, error))
    return status


def _files_here(options: argparse.Namespace) -> AbstractContextManager[None]:
    """Where the command runs: beside copies of snapshots that come from stdin or a URL, if there are any."""
    if not not_here(options):
        return contextlib.nullcontext()
    # imported here, because few commands read such
    from memlens.cli.stdin_and_urls import local_files

    return local_files(options)

"""Read files for a worker of a fleet, which starts this and writes requests to stdin.

Modules are imported once. Each file is read by a child that is forked from this process, if forking is safe.
"""

import argparse
import gc
import os
import sys
from importlib import import_module
from pathlib import Path

import msgspec

from memlens import limits
from memlens.child import ErrorLine
from memlens.cli.commands.fleet.summary import summarised
from memlens.cli.failures import problem_of
from memlens.cli.options import positive
from memlens.cli.output import message_line, say_traceback
from memlens.fleet.reader import FORKS, EndedLine, Request, SummaryLine
from memlens.formats import import_readers

_LATER = (
    "memlens.kernels.tree.lines", "memlens.store.objects.writer", "memlens.store.samples.writer",
    "memlens.store.trace.writer",
)  # fmt: skip
"""Modules that are otherwise imported only when a file needs them; the formats are imported as well."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--parent", type=positive, metavar="PID", required=True)


def run(options: argparse.Namespace) -> int:
    # a child's objects live until it ends, and none of them are in reference cycles
    gc.disable()
    limits.share_one_heap()
    limits.end_with(options.parent)
    import_readers()
    for name in _LATER:
        import_module(name)
    gc.freeze()
    decode = msgspec.json.Decoder(Request).decode
    for text in sys.stdin.buffer:
        request = decode(text)
        if not FORKS:
            return _read(request)
        message_line(EndedLine(_status_of_child(request)))
    return 0


def _status_of_child(request: Request) -> int:
    """Read a file in a child, and return the status with which it ended."""
    reader = os.getpid()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            limits.end_with(reader)
            # processes that the child starts must not read the requests
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            status = _read(request)
        finally:
            # skip the clean-up that the reader does when it ends
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _read(request: Request) -> int:
    try:
        message_line(
            SummaryLine(
                summarised(
                    Path(request.file),
                    "json",
                    Path(request.archive),
                    pictures=request.pictures,
                    limit_bytes=request.limit_bytes,
                )
            )
        )
    except Exception as error:  # noqa: BLE001 - every error becomes a line
        problem = problem_of(error)
        if problem.code == "internal":
            say_traceback(error)
            sys.stderr.flush()
        message_line(ErrorLine(problem))
        return 1
    return 0

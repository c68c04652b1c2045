"""Shared by the commands that add a file to an archive. The server runs them, and they report to it."""

import argparse
import contextlib
from collections.abc import Callable

from memlens import limits
from memlens.cli.ask import libraries_of
from memlens.cli.cache import cache_of
from memlens.cli.output import message_line, say_traceback
from memlens.cli.progress import reporter
from memlens.progress import Report
from memlens.store.manifest import CONTRADICTIONS, ContradictionError
from memlens.store.relabel import open_with
from memlens.store.snapshot import Snapshot


def work_in(options: argparse.Namespace, work: Callable[[Snapshot, Report], None]) -> bool:
    """Do some work in the archive of the arguments; return whether the outcome is still to be printed."""
    if options.parent:
        limits.end_with(options.parent)
    if options.background:
        limits.lower_priority()
    report = reporter(options.progress)
    with contextlib.closing(open_with(options.archive, libraries_of(options))) as snapshot:
        try:
            snapshot.ask(lambda opened: work(opened, report))
        except CONTRADICTIONS as error:
            # the server logs it
            say_traceback(error)
            raise ContradictionError(error) from error
        cache_of(options).evict(keep=options.archive)
    report("done", 1.0)
    to_server: bool = options.progress == "json"
    if to_server:
        message_line({"type": "done", "archive": str(options.archive)})
    return not to_server

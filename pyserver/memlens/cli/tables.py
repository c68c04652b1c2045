"""``memlens tables``: make the SQL tables ahead of the first query."""

import argparse
import contextlib

from memlens import limits
from memlens.cli.ask import libraries_of
from memlens.cli.cache import cache_of
from memlens.cli.output import message_line, say
from memlens.cli.progress import reporter
from memlens.store.relabel import open_with
from memlens.store.tables.fill import fill
from memlens.store.tables.schema import FILE_NAMES, PARTS, PARTS_OF


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    if options.parent:
        limits.end_with(options.parent)
    if options.background:
        limits.lower_priority()
    report = reporter(options.progress)
    with contextlib.closing(open_with(options.archive, libraries_of(options))) as snapshot:
        wanted = options.part or PARTS_OF[snapshot.info.model]
        parts = [part for part in PARTS if part in wanted]
        snapshot.ask(lambda opened: fill(opened, report, parts))
        cache_of(options).evict(keep=options.archive)
    report("done", 1.0)
    if options.progress == "json":
        message_line({"type": "done", "archive": str(options.archive)})
    else:
        for part in parts:
            say(options.archive / FILE_NAMES[part])
    return 0

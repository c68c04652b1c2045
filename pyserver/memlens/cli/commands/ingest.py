"""``memlens ingest``: turns a snapshot into an archive."""

import argparse
import gc
from contextlib import nullcontext

from memlens import limits
from memlens.cli.cache import cache_of, tools_of
from memlens.cli.failures import naming
from memlens.cli.output import message_line, say
from memlens.cli.progress import reporter
from memlens.errors import OutOfMemoryError
from memlens.ingest import ingest
from memlens.store.files.cache import Cache
from memlens.texts import phrase
from memlens.units import format_bytes


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    # nearly all objects live until the process ends, and none are in reference cycles
    gc.disable()
    limits.share_one_heap()
    if options.parent:
        limits.end_with(options.parent)
    if options.background:
        limits.lower_priority()
    report = reporter(options.progress)
    limited = limits.limit(options.memory_limit)
    tools = tools_of(options)
    if options.memray_python:
        tools = tools._replace(memray_python=options.memray_python)
    if options.source_folder:
        tools = tools._replace(source_folders=options.source_folder)
    tools = tools._replace(only_folders=options.only_folders)
    dump = options.dump - 1 if options.dump else None
    try:
        with nullcontext() if options.progress == "json" else naming(options.file):
            archive = ingest(
                options.file,
                cache_of(options) if options.out is None else Cache(),
                report,
                options.out,
                tools,
                dump,
                findings=not options.no_findings,
                force=options.force,
            )
    except MemoryError as error:
        if not limited:
            raise
        raise OutOfMemoryError(
            phrase(
                "Reading {file} needs more than the allowed {limit}",
                file=options.file,
                limit=format_bytes(options.memory_limit),
            )
        ) from error
    report("done", 1.0)
    if options.progress == "json":
        message_line({"type": "done", "archive": str(archive)})
    else:
        say(archive)
    return 0

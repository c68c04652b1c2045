"""``memlens fleet summary``: what a fleet keeps of one file. A worker runs it as a child process."""

import argparse
import gc
import tempfile
from contextlib import closing
from pathlib import Path

from memlens import limits
from memlens.cli.cache import cache_of
from memlens.cli.output import json_line
from memlens.cli.progress import reporter
from memlens.errors import OutOfMemoryError
from memlens.fleet.summary import summary_of
from memlens.fleet.tables import Summary
from memlens.fleet.work import SummaryLine
from memlens.ingest import ingest
from memlens.store.snapshot import Snapshot
from memlens.units import format_bytes


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    # nearly all objects live until the process ends, and none are in reference cycles
    gc.disable()
    limits.share_one_heap()
    if options.parent:
        limits.end_with(options.parent)
    limited = limits.limit(options.memory_limit)
    try:
        summary = _summary(options)
    except MemoryError as error:
        if not limited:
            raise
        raise OutOfMemoryError(
            f"Reading {options.file} takes more than the allowed {format_bytes(options.memory_limit)}",
            advice="Give each worker more memory, by --memory-limit or where the workers are started.",
        ) from error
    json_line(SummaryLine(summary) if options.progress == "json" else summary)
    return 0


def _summary(options: argparse.Namespace) -> Summary:
    report = reporter(options.progress)
    with tempfile.TemporaryDirectory(prefix="memlens-") as folder:
        out: Path = options.archive or Path(folder) / "archive"
        # a dropped archive's pictures would be seen by nobody
        archive = ingest(options.file, cache_of(options), report, out, pictures=options.archive is not None)
        with closing(Snapshot.open(archive)) as snapshot:
            summary = snapshot.ask(summary_of)
    report("done", 1.0)
    return summary

"""Print the summary of one snapshot as JSON, as a worker makes it."""

import argparse
import gc
import tempfile
from contextlib import closing
from pathlib import Path

from memlens import limits
from memlens.cli.memory import within_memory
from memlens.cli.options import snapshot
from memlens.cli.output import message_line
from memlens.cli.progress import reporter
from memlens.errors import naming
from memlens.fleet.summary import summary_of
from memlens.fleet.tables import Summary
from memlens.ingest import ingest
from memlens.store.files.cache import Cache
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", type=snapshot)
    command.add_argument("--progress", choices=("auto", "none"), default="none")
    command.add_argument("--memory-limit", type=_positive_or_zero, metavar="BYTES", default=0,
                         help="the memory that reading the file may use (default: no limit)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    # nearly all objects live until the process ends, and none are in reference cycles
    gc.disable()
    limits.share_one_heap()
    with naming(options.file), tempfile.TemporaryDirectory(prefix="memlens-") as folder:
        archive = Path(folder) / "archive"
        message_line(
            summarised(
                options.file, options.progress, archive, pictures=False, limit_bytes=options.memory_limit
            )
        )
    return 0


def summarised(file: Path, progress: str, archive: Path, *, pictures: bool, limit_bytes: int) -> Summary:
    """Make the archive of a file, and its summary, with a limit on this process's memory.

    Raises :class:`memlens.errors.MemlensError`, MemoryError and OSError.
    """
    report = reporter(progress)
    advice = phrase("Give each worker more memory, with --memory-limit or where the workers are started.")
    with within_memory(file, limit_bytes, advice):
        ingest(file, Cache(), report, archive, ahead=pictures)
        with closing(Snapshot.open(archive)) as snapshot:
            summary = snapshot.ask(summary_of)
    report("done", 1.0)
    return summary


def _positive_or_zero(text: str) -> int:
    """Parse a number of bytes, in which 0 means no limit."""
    value = int(text)
    if not 0 <= value < 2**62:
        raise argparse.ArgumentTypeError("must be 0 or more and less than 2^62")
    return value

"""Read a snapshot into an archive and print the archive's folder.

Everything else is read from the archive. With ``--no-findings`` the findings of a large heap dump are computed when
they are first asked for.
"""

import argparse
import gc
from contextlib import nullcontext
from pathlib import Path

from memlens import limits
from memlens.cli.cache import cache_of, tools_of
from memlens.cli.memory import within_memory
from memlens.cli.options import add_file, add_force, add_long_work, add_symbols, positive
from memlens.cli.output import message_line, say
from memlens.cli.progress import reporter
from memlens.errors import naming
from memlens.ingest import ingest
from memlens.store.files.cache import Cache

EXAMPLES = ("memlens ingest samples/train.pickle --out archive",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    command.add_argument("--out", type=Path, help="the archive folder to create, instead of one in the cache")
    add_force(command, "replace the archive at --out even if it is of another file")
    add_long_work(command)
    command.add_argument("--memory-limit", type=positive, metavar="BYTES", default=0,
                         help="the memory that may be used (Linux only; default no limit)")  # fmt: skip
    command.add_argument("--dump", type=positive, metavar="NUMBER",
                         help="which dump to read from a file with several (default: the last heap dump, or the "
                         "first of several snapshots)")  # fmt: skip
    command.add_argument("--no-findings", action="store_true",
                         help="compute a large heap dump's findings only when they are first asked for")  # fmt: skip
    command.add_argument("--source-folder", type=Path, metavar="DIR", action="append",
                         help="where scripts and their source maps may be, if not where they ran; may be repeated "
                         "(default: the current folder)")  # fmt: skip
    command.add_argument(
        "--only-folders", action="store_true", help="don't look for scripts and binaries anywhere else"
    )
    add_symbols(command)


def run(options: argparse.Namespace) -> int:
    # nearly all objects live until the process ends, and none are in reference cycles
    gc.disable()
    limits.share_one_heap()
    if options.parent:
        limits.end_with(options.parent)
    if options.background:
        limits.lower_priority()
    report = reporter(options.progress)
    tools = tools_of(options)
    if options.source_folder:
        tools = tools._replace(source_folders=options.source_folder)
    tools = tools._replace(only_folders=options.only_folders)
    dump = options.dump - 1 if options.dump else None
    with (
        within_memory(options.file, options.memory_limit),
        nullcontext() if options.progress == "json" else naming(options.file),
    ):
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
    report("done", 1.0)
    if options.progress == "json":
        message_line({"type": "done", "archive": str(archive)})
    else:
        say(archive)
    return 0

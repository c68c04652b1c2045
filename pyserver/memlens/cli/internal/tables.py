"""Make an archive's tables for SQL ahead of the first query."""

import argparse

from memlens.cli.archive_work import work_in
from memlens.cli.options import add_archive
from memlens.cli.output import say
from memlens.progress import Report
from memlens.store.snapshot import Snapshot
from memlens.store.tables.fill import fill
from memlens.store.tables.schema import FILE_NAMES, PARTS, PARTS_OF, Part


def add_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("--part", choices=PARTS, action="append",
                         help="make only this table, or with `base` all others; may be repeated")  # fmt: skip
    add_archive(command)


def run(options: argparse.Namespace) -> int:
    parts: list[Part] = []

    def work(snapshot: Snapshot, report: Report) -> None:
        wanted = options.part or PARTS_OF[snapshot.info.model]
        parts.extend(part for part in PARTS if part in wanted)
        fill(snapshot, report, parts)

    if work_in(options, work):
        for part in parts:
            say(options.archive / FILE_NAMES[part])
    return 0

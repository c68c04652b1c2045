"""Write a snapshot's findings, pictures and tables as one HTML page.

With ``--markdown`` its findings and tables are written as Markdown. Both go to stdout, or with ``-o`` to a file. For a
heap dump, ``--before EARLIER`` also compares the findings of both.
"""

import argparse

from memlens.cli.ask import ask
from memlens.cli.compare_heaps import compare_findings
from memlens.cli.options import add_file, add_libraries, add_out, snapshot
from memlens.cli.output_file import check_out, write_or_say
from memlens.export.markdown import markdown
from memlens.export.report import report
from memlens.export.summary import findings_table, summary
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import as_text

EXAMPLES = (
    "memlens report samples/train.pickle -o train.html",
    "memlens report samples/train.pickle --markdown",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_file(command)
    add_out(command)
    command.add_argument("--markdown", action="store_true", help="write Markdown, without pictures")
    command.add_argument(
        "--values", action="store_true",
        help="heap dumps only: also quote what strings contain, such as the most copied ones",
    )  # fmt: skip
    command.add_argument(
        "--before", type=snapshot, metavar="FILE",
        help="heap dumps only: also compare its findings with those of this earlier dump",
    )  # fmt: skip
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    check_out(options)
    compared = None
    if options.before is not None:
        for path in (options.before, options.file):
            ask(options, lambda snapshot: graph_of(snapshot.info, "objects", as_text("--before")), path)
        answer = compare_findings(options, options.before, options.file)
        compared = findings_table(answer, options.before.name, values=options.values)

    def made(snapshot: Snapshot) -> str:
        if options.markdown:
            return "\n".join(
                markdown(summary(snapshot, options.device, compared=compared, values=options.values))
            )
        return report(snapshot, options.device, compared, values=options.values)

    write_or_say(options, ask(options, made))
    return 0

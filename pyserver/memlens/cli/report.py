"""``memlens report``: the headline, findings, pictures and tables of a snapshot as one HTML page, or as Markdown."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.output import write_or_say
from memlens.export.markdown import markdown
from memlens.export.report import report
from memlens.export.summary import summary
from memlens.store.snapshot import Snapshot


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""

    def made(snapshot: Snapshot) -> str:
        if options.markdown:
            return "\n".join(markdown(summary(snapshot, options.device)))
        return report(snapshot, options.device)

    write_or_say(options.out, ask(options, made))
    return 0

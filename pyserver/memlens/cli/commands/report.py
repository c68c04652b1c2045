"""``memlens report``: the headline, findings, pictures and tables of a snapshot as one HTML page, or as Markdown."""

import argparse

from memlens.cli.ask import ask
from memlens.cli.compare_heaps import compare_findings
from memlens.cli.written import check_out, write_or_say
from memlens.export.markdown import markdown
from memlens.export.report import report
from memlens.export.summary import findings_table, summary
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import as_text


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
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

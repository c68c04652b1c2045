"""``memlens findings``: a snapshot's headline, and what is worth a look in it."""

import argparse
from collections.abc import Iterator

from msgspec import Struct

from memlens.cli.ask import ask
from memlens.cli.output import json_line, say
from memlens.export.markdown import findings_markdown, place_of
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.texts import as_text
from memlens.views.findings.ahead import findings, headline
from memlens.views.findings.answers import HeadlineAnswer, SnapshotFinding, inferred_mark


class Report(Struct, frozen=True):
    """The headline and the findings of one file."""

    headline: HeadlineAnswer
    findings: list[SnapshotFinding]


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit status."""
    report = ask(options, lambda snapshot: _report(snapshot, options))
    if options.json:
        json_line(report)
        return 0
    lines = findings_markdown(report.headline, report.findings) if options.markdown else _text(report)
    for line in lines:
        say(line)
    return 0


def _report(snapshot: Snapshot, options: argparse.Namespace) -> Report:
    if options.device is not None:
        timeline_of(snapshot.info, "devices", as_text("--device"))
    return Report(
        headline(snapshot, options.device), findings(snapshot, options.device, options.top).findings
    )


def _text(report: Report) -> Iterator[str]:
    yield report.headline.text
    for number, finding in enumerate(report.findings, 1):
        title = f"{finding.title} {inferred_mark(finding)}".rstrip()
        yield f"{number}. {title}: {finding.text}"
        if finding.line is not None:
            yield f"   {place_of(finding.line)}"
    for notice in report.headline.warnings:
        yield f"note: {notice.message}"

"""``memlens findings``: what a snapshot says in a few sentences, and what is worth a look in it."""

import argparse
import re
from collections.abc import Iterator

from msgspec import Struct

from memlens.cli.ask import ask
from memlens.cli.output import json_line, say
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.views.findings.ahead import findings, headline
from memlens.views.findings.answers import HeadlineAnswer, LineLink, SnapshotFinding, TextPart

_MARKED = re.compile(r"([\\`*_\[\]<>#|])")


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
    for line in _markdown(report) if options.markdown else _text(report):
        say(line)
    return 0


def _report(snapshot: Snapshot, options: argparse.Namespace) -> Report:
    if options.device is not None:
        timeline_of(snapshot.info, "devices")
    return Report(
        headline(snapshot, options.device), findings(snapshot, options.device, options.top).findings
    )


def _text(report: Report) -> Iterator[str]:
    yield report.headline.text
    for number, finding in enumerate(report.findings, 1):
        inferred = " (inferred)" if finding.inferred else ""
        yield f"{number}. {finding.title}{inferred}: {finding.text}"
        if finding.line is not None:
            yield f"   {_place(finding.line)}"
    for notice in report.headline.warnings:
        yield f"note: {notice.message}"


def _place(line: LineLink) -> str:
    return f"{line.file}:{line.line} {line.function}"


def _markdown(report: Report) -> Iterator[str]:
    first, *rest = report.headline.sentences
    yield " ".join((f"**{_marked(first)}**", *map(_marked, rest)))
    yield ""
    for number, finding in enumerate(report.findings, 1):
        inferred = " (inferred)" if finding.inferred else ""
        yield f"{number}. **{finding.title}**{inferred}: {_marked(finding.sentence)}"
        if finding.line is not None:
            yield f"   {_code(_place(finding.line))}"
    if report.headline.warnings:
        yield ""
        yield from (f"> {_escaped(notice.message)}" for notice in report.headline.warnings)


def _marked(sentence: list[TextPart]) -> str:
    """A sentence in which lines of source are code."""
    return "".join(
        _code(part.text) if part.line is not None and part.figure is None else _escaped(part.text)
        for part in sentence
    )


def _code(text: str) -> str:
    """Text as code, however many backticks it has."""
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"`{text}`"


def _escaped(text: str) -> str:
    return _MARKED.sub(r"\\\1", text)

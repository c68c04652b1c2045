"""Print what fills the memory, which lines allocated it, and what is worth a look.

The first sentences say what fills the memory and what would help; the [findings](findings.md) follow, the most
important first. ``--markdown`` is for an issue or a chat. For a heap dump, ``--of FILTER`` reports the waste in what
some objects retain.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from memlens.api.reports import Report, report
from memlens.cli.ask import ask
from memlens.cli.each_file import answer_each
from memlens.cli.options import add_device, add_files, add_json, add_libraries, positive
from memlens.export.markdown import finding_markdown, findings_markdown, place_of
from memlens.units import counted, format_bytes
from memlens.views.findings.answers import SnapshotFinding, inferred_mark
from memlens.views.findings.component import ComponentAnswer, filtered_findings
from memlens.views.findings.contents import finding_without_contents

EXAMPLES = ("memlens findings samples/train.pickle",)


def add_arguments(command: argparse.ArgumentParser) -> None:
    add_files(command)
    add_device(command)
    command.add_argument(
        "--values",
        action="store_true",
        help="with --markdown: also quote what strings of a heap dump contain",
    )
    command.add_argument(
        "--top", type=positive, default=20, metavar="N", help="print only the first N findings"
    )
    command.add_argument(
        "--of", dest="filter", metavar="TEXT",
        help="heap dumps only: print the waste in what the objects that match this filter retain, as "
        "'package:org.acme' or '@5143'",
    )  # fmt: skip
    command.add_argument("--markdown", action="store_true", help="print Markdown")
    add_json(command)
    add_libraries(command)


def run(options: argparse.Namespace) -> int:
    def heading(name: str) -> Iterator[str]:
        yield from (f"## {name}", "") if options.markdown else (f"{name}:",)

    if options.filter is not None:
        return answer_each(
            options, lambda path: _of(options, path), lambda found: _lines_of(found, options), heading
        )
    return answer_each(
        options,
        lambda path: ask(
            options,
            lambda snapshot: report(snapshot, options.device, options.top, values=not _hides(options)),
            path,
        ),
        lambda found: findings_markdown(found.headline, found.findings) if options.markdown else _text(found),
        heading,
    )


def _hides(options: argparse.Namespace) -> bool:
    """Whether texts of strings are left out: Markdown is there to be sent."""
    return bool(options.markdown) and not options.values


def _of(options: argparse.Namespace, path: Path) -> ComponentAnswer:
    """The findings about what some objects retain."""
    found = ask(options, lambda snapshot: filtered_findings(snapshot, options.filter), path)
    shown = found.findings[: options.top]
    if _hides(options):
        shown = [finding_without_contents(each) for each in shown]
    return replace(found, findings=shown)


def _lines_of(found: ComponentAnswer, options: argparse.Namespace) -> Iterator[str]:
    yield (
        f"{options.filter}: {counted(found.objects, 'object')}, which {'retains' if found.objects == 1 else 'retain'} "
        f"{format_bytes(found.retained_bytes)} in {counted(found.retained_objects, 'object')}"
    )
    yield from _marked(found.findings) if options.markdown else _listed(found.findings)


def _text(found: Report) -> Iterator[str]:
    yield found.headline.text
    yield from _listed(found.findings)
    for warning in found.headline.warnings:
        yield f"note: {warning.message}"


def _marked(findings: list[SnapshotFinding]) -> Iterator[str]:
    for number, finding in enumerate(findings, 1):
        yield from finding_markdown(finding, f"{number}. ")


def _listed(findings: list[SnapshotFinding]) -> Iterator[str]:
    for number, finding in enumerate(findings, 1):
        title = f"{finding.title} {inferred_mark(finding)}".rstrip()
        # notes stand after all findings
        yield f"{'note' if finding.is_note else number}{':' if finding.is_note else '.'} {title}: {finding.text}"
        if finding.line is not None:
            yield f"   {place_of(finding.line)}"

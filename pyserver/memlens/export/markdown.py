"""The headline, the findings and tables of a snapshot as Markdown, for an issue or a chat."""

import re
from collections.abc import Iterator

from memlens.export.summary import Summary, Table
from memlens.units import plain
from memlens.views.findings.answers import (
    HeadlineAnswer,
    LineLink,
    SnapshotFinding,
    TextPart,
    inferred_mark,
    pieces,
)
from memlens.views.findings.writing import function_beside

_MARKED = re.compile(r"([\\`*_\[\]<>#|~&])")
_ACTING = re.compile(
    r"@\w|://|\bwww\.|\b(?:mailto|xmpp):|#\d|\bgh-\d|:[\w+-]+:|(?<!\w)\$", re.IGNORECASE | re.ASCII
)
"""What GitHub and others make of words after the Markdown, whatever is escaped: mentions, which send a message to
someone, links to pages, addresses and issues, emoji and formulas. Only code is left alone.
"""


def markdown(summary: Summary) -> Iterator[str]:
    """The lines of a whole summary."""
    if summary.contents:
        yield f"> {escaped_markdown(summary.contents)}"
        yield ""
    yield from findings_markdown(summary.headline, summary.findings)
    for table in summary.tables:
        yield ""
        yield from table_markdown(table)


def findings_markdown(headline: HeadlineAnswer, findings: list[SnapshotFinding]) -> Iterator[str]:
    """The headline, the findings and what the file lacks."""
    first, *rest = headline.sentences
    yield " ".join((f"**{_marked(first)}**", *map(_marked, rest)))
    yield ""
    for number, finding in enumerate(findings, 1):
        # notes stand after all findings
        yield from finding_markdown(finding, "- Note: " if finding.is_note else f"{number}. ")
    if headline.warnings:
        yield ""
        yield from (f"> {escaped_markdown(warning.message)}" for warning in headline.warnings)


def finding_markdown(finding: SnapshotFinding, bullet: str = "") -> Iterator[str]:
    """One finding, with its line of source below it."""
    title = f"**{finding.title}** {inferred_mark(finding)}".rstrip()
    yield f"{bullet}{title}: {_marked(finding.sentence)}"
    if finding.line is not None:
        yield f"{' ' * len(bullet)}{code(place_of(finding.line))}"


def table_markdown(table: Table) -> Iterator[str]:
    """A table with its title."""
    yield f"### {escaped_markdown(table.title)}"
    yield ""
    yield "| " + " | ".join(map(_cell, table.columns)) + " |"
    yield (
        "|"
        + "|".join("---" if column == table.named else "---:" for column in range(len(table.columns)))
        + "|"
    )
    for row in table.rows:
        yield "| " + " | ".join(map(_cell, row.cells)) + " |"
    if table.more:
        yield ""
        yield f"{escaped_markdown(table.more)}"


def place_of(line: LineLink) -> str:
    """A line of source as far as it is known, and its function."""
    place = f"{line.file}:{line.line}" if line.line else line.file
    return f"{place} {function_beside(line.file, line.line, line.function)}".strip()


def _marked(sentence: TextPart) -> str:
    """A sentence in which lines of source are code."""
    marked = ""
    for part in pieces(sentence):
        is_line = part.line is not None and part.figure is None
        text = code(part.text) if is_line else escaped_markdown(part.text)
        # backticks beside each other would be one mark
        marked += f" {text}" if marked.endswith("`") and text.startswith("`") else text
    return marked


def code(text: str) -> str:
    """Text as code, however many backticks it has."""
    text = plain(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"`{text}`"


def escaped_markdown(text: str) -> str:
    """Text that Markdown shows literally; words with a meaning in Markdown become code."""
    return "".join(
        code(word) if _ACTING.search(word) else _MARKED.sub(r"\\\1", word)
        for word in re.split(r"(\s+)", plain(text))
    )


def _cell(text: str) -> str:
    """The same in a table, whose rows are divided at bars before code is looked for."""
    return re.sub(
        r"(\\*)\|", lambda bar: bar[0] if len(bar[1]) % 2 else f"{bar[1]}\\|", escaped_markdown(text)
    )

"""``textDocument/hover``: what the line under the cursor allocated, in each open snapshot."""

import logging
from collections.abc import Iterable
from typing import assert_never

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from memlens.model.attribution import Attribution, rule_of
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.server.language import spoken
from memlens.server.markdown import command_link, escaped, go_to_link, open_rank_link, size
from memlens.server.placed_lines import (
    PlacedDefinition,
    PlacedFinding,
    PlacedLines,
    PlacedRanks,
    PlacedStacks,
)
from memlens.server.protocol.editor import HoverParams, HoverResult
from memlens.server.protocol.sources import Document
from memlens.server.settings import Configuration
from memlens.server.sources import show_line
from memlens.server.wire import answer
from memlens.sources.edits import Change
from memlens.store.models import profile_of
from memlens.texts import Text, as_text, phrase, plural
from memlens.units import SOURCE_MEANINGS, SOURCE_WORDS, format_bytes, format_value, plain_name
from memlens.views.answers import SourceLine
from memlens.views.lines.totals import LineValue

logger = logging.getLogger(__name__)

_MOST_LINKS = 4
_SEPARATOR = "\n\n---\n\n"


def register(server: LanguageServer, configuration: Configuration, lines: PlacedLines) -> None:
    """Register hovers for any file that has a path."""

    async def markdown(document: Document, line: int) -> str:
        settings = configuration.settings
        if not settings.hover:
            return ""
        found = [each for each in await lines.findings(document) if each.line == line]
        return _SEPARATOR.join(
            [
                *([_of_findings(found)] if found else []),
                *[_of_definition(each) for each in await lines.definitions_at(document, line)],
                *[
                    await _section(document, each, settings.attribution)
                    for each in await lines.stacks_at(document, line)
                ],
                *[
                    _over_ranks(document, each)
                    for each in (await lines.ranks_at(document, line) if settings.fleet_figures else [])
                ],
            ]
        )

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        path = uris.to_fs_path(params.text_document.uri)
        if not path:
            return None
        try:
            text = await markdown(Document(path, None), params.position.line + 1)
        except Exception:
            # The user didn't ask for a hover, so its errors are logged and not shown.
            logger.exception("hover failed")
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None

    async def cell_hover(params: HoverParams) -> HoverResult:
        return HoverResult(await markdown(params.document, params.line))

    answer(server, "memlens/cellHover", cell_hover)


def _of_findings(found: list[PlacedFinding]) -> str:
    """What findings say about the line, before its figures."""
    several = len({each.bound.opened.name for each in found}) > 1
    said = []
    for each in found:
        finding = each.row.finding
        title = escaped(spoken(Text(finding.title, finding.title)))
        name = f"{escaped(each.bound.opened.title)} · " if several else ""
        said.append(f"{name}**{title}:** {escaped(spoken(finding.sentence))}")
    return "\n\n".join(said)


async def _section(document: Document, placed: PlacedStacks, attribution: Attribution) -> str:
    """One snapshot's figures for the line. All text from the snapshot is passed through ``escaped``."""
    bound, row, changed = placed.bound, placed.row, placed.changed
    info = bound.opened.info
    # figures that may be those of another line are not shown
    strong = "" if changed else "**"
    match info:
        case TimelineInfo():
            what, figures = phrase("what this line allocated"), _of_allocations(row, strong, attribution)
        case ProfileInfo() | GraphInfo():
            values = await bound.opened.values_of(bound.file, attribution)
            rule = rule_of(attribution, row.kind)
            what = phrase("what this line has")
            figures = _values(profile_of(info), values.get(row.line, []), strong, rule)
        case _:
            assert_never(info)
    parts = [f"{_title(bound.opened.title, what, row.function)}{spoken(SOURCE_WORDS[row.source])}"]
    if changed:
        parts.append(_changed(document, changed))
        parts.append(spoken(phrase("Line {line} as it ran:", line=str(row.line))))
    parts.append(_list(figures) or spoken(phrase("Nothing")))
    if row.source != "recorded":
        parts.append(f"*{spoken(SOURCE_MEANINGS[row.source])}*")
    if bound.note is not None:
        parts.append(escaped(spoken(bound.note)))
    parts.append(command_link(spoken(phrase("Show these allocations")), show_line(bound, row)))
    return "\n\n".join(parts)


def _title(name: str, what: Text, function: str) -> str:
    inside = phrase("{what}, in {function}", what=what, function=escaped(function)) if function else what
    return f"**{escaped(name)}** · {spoken(inside)}"


def _changed(document: Document, changed: Change) -> str:
    places = [
        go_to_link(spoken(phrase("Go to line {line}", line=str(line))), document.path, line)
        for line in changed.lines[:_MOST_LINKS]
    ]
    return " · ".join([f"*{escaped(spoken(changed.message))}*", *places])


def _list(figures: Iterable[Text]) -> str:
    return "\n".join(f"- {spoken(each)}" for each in figures)


def _of_definition(placed: PlacedDefinition) -> str:
    """The objects of a class or function that is defined on the line, in one dump."""
    row, bound = placed.row, placed.bound
    name = escaped(plain_name(row.name))
    if row.type is None:
        what = phrase("closures of the function {name}", name=name)
    elif row.types > 1:
        what = phrase("instances of {n} types called {name}", n=row.types, name=name)
    else:
        what = phrase("instances of the type {name}", name=name)
    return "\n\n".join(
        [
            _title(bound.opened.title, what, ""),
            _list(
                [
                    phrase("Objects: {n}", n=f"**{row.count:,}**"),
                    phrase("Retained: {size}", size=f"**{size(row.retained_bytes)}**"),
                    phrase("Shallow: {size}", size=size(row.shallow_bytes)),
                ]
            ),
            command_link(spoken(phrase("Show these objects")), show_line(bound, row)),
        ]
    )


def _over_ranks(document: Document, placed: PlacedRanks) -> str:
    """The maximum over the ranks of one fleet, by the line itself: summaries have no other figures."""
    fleet, row = placed.bound.opened, placed.row
    ranks = row.whole.snapshots
    what = phrase(plural(ranks, "the most over {n} rank", "the most over {n} ranks"), n=ranks)
    parts = [_title(fleet.title, what, row.function)]
    strong = "**"
    if placed.changed:
        strong = ""
        parts.append(_changed(document, placed.changed))
    figures = []
    for words, over in ((phrase("Live at peak"), row.peak), (phrase("Total allocated"), row.total)):
        if over is None:
            continue
        figures.append(
            phrase(
                plural(
                    over.ranks,
                    "{figure}: {size} in {rank}, median {median} of the {n} rank that has the line",
                    "{figure}: {size} in {rank}, median {median} of the {n} ranks that have the line",
                ),
                figure=words,
                size=f"{strong}{size(over.most_bytes)}{strong}",
                rank=open_rank_link(escaped(over.name), fleet.path, over.snapshot),
                median=format_bytes(over.median_bytes),
                n=over.ranks,
            )
        )
    parts.append(_list(figures))
    if placed.bound.note is not None:
        parts.append(escaped(spoken(placed.bound.note)))
    return "\n\n".join(parts)


def _of_allocations(row: SourceLine, strong: str, attribution: Attribution) -> list[Text]:
    freed = _in_allocations(as_text(f"{strong}{size(row.freed_bytes)}{strong}"), row.freed_count)
    of_frees = [phrase("Freed here: {amount}", amount=freed)] if row.freed_count else []
    if not row.count:
        return [phrase("Allocated here: nothing"), *of_frees]
    return [
        phrase(
            "Total allocated: {amount}",
            amount=_in_allocations(as_text(f"{strong}{size(row.total_bytes)}{strong}"), row.count),
        ),
        phrase("Live at peak: {size}", size=f"{strong}{size(row.live_at_peak_bytes)}{strong}"),
        phrase("Largest: {size}", size=size(row.largest_bytes)),
        phrase(
            "By the line itself ({rule}): {amount}, live at peak {peak}",
            rule=rule_of(attribution, row.kind),
            amount=_in_allocations(as_text(size(row.self_total_bytes)), row.self_count),
            peak=size(row.self_live_at_peak_bytes),
        ),
        *of_frees,
    ]


def _in_allocations(amount: Text, count: int) -> Text:
    return phrase(
        plural(count, "{amount} in {n} allocation", "{amount} in {n} allocations"), amount=amount, n=count
    )


def _values(profile: ProfileInfo, values: list[LineValue], strong: str, rule: Text) -> list[Text]:
    """A line for each value of a profile; a count is on the line of the bytes of the same allocations."""
    amounts = {each.value: each for each in values}
    counts = {value.count for value in profile.values}
    figures = []
    for number, value in enumerate(profile.values):
        if number in counts or number not in amounts:
            continue
        total, itself = amounts[number].total, amounts[number].itself
        amount = as_text(f"{strong}{_formatted(total, value.unit)}{strong}")
        blocks = amounts.get(value.count) if value.count is not None else None
        if blocks is not None:
            amount = _in_allocations(amount, blocks.total)
        if itself != total:
            amount = phrase(
                "{amount}, by the line itself ({rule}) {itself}",
                amount=amount,
                rule=rule,
                itself=_formatted(itself, value.unit),
            )
        figures.append(phrase("{title}: {amount}", title=escaped(spoken(value.title)), amount=amount))
    return figures


def _formatted(amount: int, unit: str) -> str:
    return size(amount) if unit == "bytes" else escaped(format_value(amount, unit))

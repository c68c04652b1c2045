"""``textDocument/hover``: what the line under the cursor allocated, in each open snapshot."""

import logging
from typing import assert_never

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from memlens.model.attribution import MEANINGS, Attribution, rule_of
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.server.fleet_lines import FleetLines, LineOverRanks
from memlens.server.heap_lines import HeapLines, PlacedDefinition
from memlens.server.markdown import command_link, escaped, go_to_link, open_rank_link, size
from memlens.server.protocol.editor import HoverParams, HoverResult
from memlens.server.protocol.sources import Document, ShowLineArguments
from memlens.server.settings import Configuration
from memlens.server.sources import BoundFile, PlacedLine, Sources, show_line
from memlens.server.wire import answer
from memlens.store.models import profile_of
from memlens.units import SOURCE_MEANINGS, SOURCE_WORDS, counted, format_bytes, format_value, plain_name
from memlens.views.answers import SourceLine
from memlens.views.lines.totals import LineValue

logger = logging.getLogger(__name__)

_MOST_LINKS = 4
_SEPARATOR = "\n\n---\n\n"


def register(
    server: LanguageServer,
    configuration: Configuration,
    sources: Sources,
    heaps: HeapLines,
    fleets: FleetLines,
) -> None:
    """Register hovers for any file that has a path."""

    async def markdown(document: Document, line: int) -> str:
        settings = configuration.settings
        if not settings.hover:
            return ""
        return _SEPARATOR.join(
            [
                *[_of_definition(each) for each in await heaps.at(document, line)],
                *[
                    await _section(document, each, settings.attribution)
                    for each in await sources.rows_at(document, line)
                ],
                *[
                    _over_ranks(document, each)
                    for each in (await fleets.at(document, line) if settings.fleet_figures else [])
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


async def _section(document: Document, placed: PlacedLine, attribution: Attribution) -> str:
    """One snapshot's figures for the line. All text from the snapshot is passed through ``escaped``."""
    bound, row, changed = placed.bound, placed.row, placed.changed
    info = bound.snapshot.info
    # figures that may be those of another line are not shown
    strong = "" if changed else "**"
    match info:
        case TimelineInfo():
            verb, figures = "allocated", _of_allocations(row, strong, attribution)
        case ProfileInfo() | GraphInfo():
            values = await bound.snapshot.values_of(bound.file, attribution)
            rule = rule_of(attribution, row.kind)
            verb, figures = "has", _values(profile_of(info), values.get(row.line, []), strong, rule)
        case _:
            assert_never(info)
    title = f"**{escaped(bound.snapshot.title)}** · what this line {verb}"
    if row.function:
        title += f", in {escaped(row.function)}"
    parts = [f"{title}{SOURCE_WORDS[row.source]}"]
    if changed:
        places = [
            go_to_link(f"Go to line {line}", document.path, line) for line in changed.lines[:_MOST_LINKS]
        ]
        parts.append(" · ".join([f"*{escaped(changed.message)}*", *places]))
        parts.append(f"Line {row.line} as it ran:")
    parts.append("\n".join(figures) or "Nothing")
    if row.source != "recorded":
        parts.append(f"*{SOURCE_MEANINGS[row.source]}.*")
    parts.append(f"*By the line itself ({rule_of(attribution, row.kind)}): {MEANINGS[attribution]}.*")
    note = note_on(bound)
    if note:
        parts.append(escaped(note))
    parts.append(command_link("Show these allocations", show_line(bound, row)))
    return "\n\n".join(parts)


def _of_definition(placed: PlacedDefinition) -> str:
    """The objects of a class or function that is defined on the line, in one dump."""
    row, snapshot = placed.row, placed.snapshot
    what = "instances of the type" if row.type is not None else "closures of the function"
    arguments = ShowLineArguments(snapshot.name, snapshot.path, row.file, row.line)
    return "\n\n".join(
        [
            f"**{escaped(snapshot.title)}** · {what} {escaped(placed.name)}",
            "\n".join(
                [
                    f"- Objects: **{row.count:,}**",
                    f"- Retained: **{size(row.retained_bytes)}**",
                    f"- Shallow: {size(row.shallow_bytes)}",
                ]
            ),
            command_link("Show these objects", arguments),
        ]
    )


def _over_ranks(document: Document, found: LineOverRanks) -> str:
    """The maximum over the ranks of one fleet, by the line itself: summaries have no other figures."""
    title = f"**{escaped(found.fleet.title)}** · the most over {counted(found.whole.snapshots, 'rank')}"
    parts = [f"{title}, in {escaped(found.function)}" if found.function else title]
    strong = "**"
    if found.changed:
        strong = ""
        places = [
            go_to_link(f"Go to line {line}", document.path, line)
            for line in found.changed.lines[:_MOST_LINKS]
        ]
        parts.append(" · ".join([f"*{escaped(found.changed.message)}*", *places]))
    figures = []
    for words, over in (("Live at peak", found.peak), ("Total allocated", found.total)):
        if over is None:
            continue
        rank = open_rank_link(escaped(over.name), found.fleet.path, over.snapshot)
        figures.append(
            f"- {words}: {strong}{size(over.most_bytes)}{strong} in {rank}, median {format_bytes(over.median_bytes)} "
            f"of the {counted(over.ranks, 'rank')} that {'has' if over.ranks == 1 else 'have'} the line"
        )
    parts.append("\n".join(figures))
    parts.append(f"*By the line itself ({rule_of('mine', 'user')}): {MEANINGS['mine']}.*")
    if found.note:
        parts.append(escaped(found.note))
    return "\n\n".join(parts)


def _of_allocations(row: SourceLine, strong: str, attribution: Attribution) -> list[str]:
    itself = f"{size(row.self_total_bytes)} in {counted(row.self_count, 'allocation')}"
    rule = rule_of(attribution, row.kind)
    return [
        f"- Total allocated: {strong}{size(row.total_bytes)}{strong} in {counted(row.count, 'allocation')}",
        f"- Live at peak: {strong}{size(row.live_at_peak_bytes)}{strong}",
        f"- Largest: {size(row.largest_bytes)}",
        f"- By the line itself ({rule}): {itself}, live at peak {size(row.self_live_at_peak_bytes)}",
    ]


def _values(profile: ProfileInfo, values: list[LineValue], strong: str, rule: str) -> list[str]:
    """A line for each value of a profile; a count is on the line of the bytes of the same allocations."""
    amounts = {each.value: each for each in values}
    counts = {value.count for value in profile.values}
    figures = []
    for number, value in enumerate(profile.values):
        if number in counts or number not in amounts:
            continue
        total, itself = amounts[number].total, amounts[number].itself
        sentence = f"- {escaped(value.title)}: {strong}{_formatted(total, value.unit)}{strong}"
        blocks = amounts.get(value.count) if value.count is not None else None
        if blocks is not None:
            sentence += f" in {counted(blocks.total, 'allocation')}"
        if itself != total:
            sentence += f", by the line itself ({rule}) {_formatted(itself, value.unit)}"
        figures.append(sentence)
    return figures


def _formatted(amount: int, unit: str) -> str:
    return size(amount) if unit == "bytes" else escaped(format_value(amount, unit))


def note_on(bound: BoundFile) -> str:
    """Why this file may not be the one that the snapshot means, as plain text."""
    if bound.binding.how == "ambiguous":
        others = len(bound.binding.paths) - 1
        return (
            f"{plain_name(bound.file)} in the snapshot could equally be {counted(others, 'other file')} here."
        )
    if bound.binding.by_name_only:
        return f"Matched by file name only: the snapshot has {plain_name(bound.file)}."
    return ""

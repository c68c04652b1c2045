"""``textDocument/codeLens``: findings above their lines, and totals above the functions that matter.

Each as the user's settings want it.
"""

import logging
from typing import NamedTuple

import msgspec
from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from memlens.errors import MemlensError
from memlens.model.attribution import Attribution, rule_of
from memlens.server.figures import Figure, Measure, figure_of
from memlens.server.language import spoken
from memlens.server.markdown import OPEN_RANK_COMMAND, SHOW_LINE_COMMAND
from memlens.server.placed_lines import (
    FunctionOverRanks,
    LineFinding,
    PlacedDefinition,
    PlacedFinding,
    PlacedLine,
    PlacedLines,
    PlacedStacks,
)
from memlens.server.protocol.fleet import OpenRankArguments
from memlens.server.protocol.sources import Document, ShowLineArguments
from memlens.server.sessions.open_fleet import OpenFleet
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.settings import Configuration
from memlens.server.sources import BoundFile, Sources, show_line
from memlens.sources.edits import FileState
from memlens.store.models import graph_of, has_stacks
from memlens.texts import Text, in_a_row, phrase, plural
from memlens.units import SOURCE_WORDS, format_bytes, plain_name
from memlens.views.answers import SourceLine, Totals
from memlens.views.heap.objects.lines import HeapLine
from memlens.views.lines.totals import totals_of_lines

logger = logging.getLogger(__name__)

SHARE_THAT_MATTERS = 0.01
"""A function matters when it and what it calls allocated at least this share of the snapshot's peak."""


LEAST_RETAINED = 0.001
"""Definitions whose objects retain less than this share of a heap dump have no lens."""


class Function(NamedTuple):
    """A function's lines. ``line`` is the first line of its definition in the editor now, counted from 1."""

    line: int
    lines: list[PlacedStacks]

    def most_bytes(self, measure: Measure) -> int:
        """An upper bound of its inclusive sum: with recursion a stack may have several of its lines."""
        return sum(_bytes(each.row, measure) for each in self.lines)


def register(
    server: LanguageServer,
    configuration: Configuration,
    sources: Sources,
    lines: PlacedLines,
) -> None:
    """Register code lenses for any file that has a path."""

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        path = uris.to_fs_path(params.text_document.uri)
        settings = configuration.settings
        if not path:
            return []
        document, found = Document(path, None), []
        try:
            if settings.findings:
                found += _lenses_of_findings(await lines.findings(document))
            if settings.code_lens:
                found += _lenses_of_heaps(await lines.definitions(document))
                found += await _lenses(sources, lines, document, settings.measure)
            if settings.code_lens and settings.fleet_figures:
                ranks = await lines.ranks(document, settings.measure, SHARE_THAT_MATTERS)
                found += _lenses_of_fleets(ranks, settings.measure)
        except Exception:
            logger.exception("code lenses failed")
        return found


def _lenses_of_findings(placed: list[PlacedFinding]) -> list[types.CodeLens]:
    """A lens above each line with a finding, whose click shows the line's allocations or objects."""
    several = len({each.bound.opened.name for each in placed}) > 1
    lenses = []
    for each in placed:
        link = each.row.finding.line
        if link is None:
            continue
        title = spoken(brief(each.row))
        if each.changed:
            title = spoken(_with_change(brief(each.row)))
        name = _of_snapshot(each.bound.opened.title) if several else ""
        opened = each.bound.opened
        arguments = ShowLineArguments(opened.name, opened.path, link.file, link.line)
        lenses.append(_lens(each.line, title + name, SHOW_LINE_COMMAND, arguments))
    return lenses


def brief(row: LineFinding) -> Text:
    """A finding in a few words: "About 3 MiB more after every step · 15 MiB live at peak"."""
    finding, at_peak = row
    title = Text(finding.title, finding.title)
    words = finding.brief or phrase("{title}: {amount}", title=title, amount=str(finding.figure))
    return in_a_row([words, at_peak], " · ") if at_peak.text else words


def _lenses_of_heaps(placed: list[PlacedDefinition]) -> list[types.CodeLens]:
    """Lenses for the definitions in a document, with their objects in each open heap dump; small ones are left out."""
    several = len({each.bound.opened.name for each in placed}) > 1
    lenses = []
    for each in placed:
        threshold = LEAST_RETAINED * graph_of(each.bound.opened.info).shallow_bytes
        if each.row.retained_bytes < max(1.0, threshold):
            continue
        name = _of_snapshot(each.bound.opened.title) if several else ""
        title = spoken(_objects(each.row)) + name
        lenses.append(_lens(each.line, title, SHOW_LINE_COMMAND, show_line(each.bound, each.row)))
    return lenses


def _objects(row: HeapLine) -> Text:
    """The figures of a definition: "10,466 instances, 212 MiB retained, 3.00 MiB shallow"."""
    objects = (
        phrase(plural(row.count, "{n} closure", "{n} closures"), n=row.count)
        if row.type is None
        else phrase(plural(row.count, "{n} instance", "{n} instances"), n=row.count)
    )
    if row.types > 1:
        objects = phrase("{objects} of {n} types", objects=objects, n=row.types)
    return phrase(
        "{objects}, {retained} retained, {shallow} shallow",
        objects=objects,
        retained=format_bytes(row.retained_bytes),
        shallow=format_bytes(row.shallow_bytes),
    )


def _lenses_of_fleets(
    placed: list[PlacedLine[OpenFleet, FunctionOverRanks]], measure: Measure
) -> list[types.CodeLens]:
    """Lenses with the maximum over ranks that is charged to a function's own lines; each opens that rank."""
    lenses = []
    for each in placed:
        fleet, most = each.bound.opened, each.row.most
        text = phrase(
            plural(
                most.ranks,
                "at most {size} {figure} by itself in {rank}, median {median} of {n} rank · {fleet}",
                "at most {size} {figure} by itself in {rank}, median {median} of {n} ranks · {fleet}",
            ),
            size=format_bytes(most.most_bytes),
            figure=phrase("live at peak") if measure == "peak" else phrase("in total"),
            rank=plain_name(most.name),
            median=format_bytes(most.median_bytes),
            n=most.ranks,
            fleet=plain_name(fleet.title),
        )
        title = spoken(_with_change(text) if each.row.changed else text)
        lenses.append(
            _lens(each.line, title, OPEN_RANK_COMMAND, OpenRankArguments(fleet.path, most.snapshot))
        )
    return lenses


async def _lenses(
    sources: Sources, lines: PlacedLines, document: Document, measure: Measure
) -> list[types.CodeLens]:
    bound_files = await sources.bound_to(document)
    lenses: list[types.CodeLens] = []
    several = len({bound.opened.name for bound in bound_files}) > 1
    for bound in bound_files:
        if not has_stacks(bound.opened.info):
            continue
        try:
            placed = await lines.stacks(document, bound)
            state = await sources.state(document, bound.opened.name)
            figure = figure_of(bound.opened.info, measure)
            threshold = SHARE_THAT_MATTERS * figure.whole
            for function in functions(placed, state):
                if function.most_bytes(measure) < max(1.0, threshold):
                    continue
                sums = await _sums(bound, function)
                if _bytes(sums, measure) >= max(1.0, threshold):
                    title = spoken(_title(function, sums, measure, figure, sources.attribution))
                    if several:
                        title += _of_snapshot(bound.opened.title)
                    arguments = show_line(bound, _heaviest(function, measure).row)
                    lenses.append(_lens(function.line, title, SHOW_LINE_COMMAND, arguments))
        except MemlensError as error:
            logger.info("no totals of %s: %s", bound.file, error)
    return lenses


async def _sums(bound: BoundFile[OpenSnapshot], function: Function) -> Totals:
    """The total of a function with all that it calls, each allocation counted once."""
    numbers = [each.row.line for each in function.lines]
    return await bound.opened.ask(lambda snapshot: totals_of_lines(snapshot, bound.file, numbers))


def functions(placed: list[PlacedStacks], state: FileState) -> list[Function]:
    """The functions of some lines, in the order of their definitions."""
    lines = [(each.row.function, each.row.line) for each in placed]
    return [Function(line, [placed[row] for row in rows]) for line, _, rows in state.by_function(lines)]


def _bytes(figures: SourceLine | Totals, measure: Measure) -> int:
    return figures.live_at_peak_bytes if measure == "peak" else figures.total_bytes


def _title(
    function: Function, sums: Totals, measure: Measure, figure: Figure, attribution: Attribution
) -> Text:
    """The lens's text: inclusive of calls, then by itself; and the line that most of it comes from."""
    if measure == "peak":
        itself = sum(each.row.self_live_at_peak_bytes for each in function.lines)
    else:
        itself = sum(each.row.self_total_bytes for each in function.lines)
    amount = figure.say(_bytes(sums, measure))
    if measure == "total" and sums.count:
        title = phrase(
            plural(sums.count, "{amount} in {n} allocation", "{amount} in {n} allocations"),
            amount=amount,
            n=sums.count,
        )
    else:
        title = phrase("{amount} {figure}", amount=amount, figure=figure.words)
    if itself != _bytes(sums, measure):
        title = phrase(
            "{title}, {itself} by itself ({rule})",
            title=title,
            itself=figure.say(itself),
            rule=rule_of(attribution, function.lines[0].row.kind),
        )
    heaviest = _heaviest(function, measure)
    if len(function.lines) > 1 and heaviest.line:
        title = phrase("{title}, line {line} most", title=title, line=str(heaviest.line))
    # if any line is of a recorded stack, the function ran for these allocations
    if all(each.row.source != "recorded" for each in function.lines):
        title = in_a_row([title, SOURCE_WORDS[heaviest.row.source]], "")
    return _with_change(title) if any(each.changed for each in function.lines) else title


def _with_change(title: Text) -> Text:
    return phrase("{title} (the file has changed since the run)", title=title)


def _heaviest(function: Function, measure: Measure) -> PlacedStacks:
    return max(function.lines, key=lambda each: _bytes(each.row, measure))


def _of_snapshot(title: str) -> str:
    """What follows a lens's title when several snapshots have one for the line."""
    return f" · {plain_name(title)}"


def _lens(
    line: int, title: str, command: str, arguments: ShowLineArguments | OpenRankArguments
) -> types.CodeLens:
    """A lens above a line. ``$(name)`` in its title isn't shown as an icon."""
    start = types.Position(line - 1, 0)
    return types.CodeLens(
        types.Range(start, start),
        command=types.Command(
            title=title.replace("$(", "$ ("), command=command, arguments=[msgspec.to_builtins(arguments)]
        ),
    )

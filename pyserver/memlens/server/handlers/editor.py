"""Requests for what the editor shows beside source: the heat of lines, moved lines, cells of notebooks."""

from typing import NamedTuple, assert_never

import numpy as np
from msgspec.structs import replace
from pygls.lsp.server import LanguageServer

from memlens.errors import BadRequestError, MemlensError
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.server import language
from memlens.server.figures import Figure, figure_of, figure_of_value
from memlens.server.placed_lines import PlacedDefinition, PlacedLines
from memlens.server.protocol.base import Done
from memlens.server.protocol.editor import (
    CellParams,
    FigureWords,
    FileHeat,
    HeatLine,
    KnownDocumentsParams,
    KnownDocumentsResult,
    LineFindingsParams,
    LineFindingsResult,
    LineHeatParams,
    LineHeatResult,
    LinesMovedParams,
)
from memlens.server.protocol.sources import Document
from memlens.server.sessions.opened import OpenSnapshot
from memlens.server.sources import BoundFile, Sources, sent
from memlens.server.wire import answer
from memlens.sources.cells import Cell, cell_name
from memlens.sources.line_map import LineEdit
from memlens.sources.notebooks import CellResult, Notebooks
from memlens.store.models import graph_of, has_stacks
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.units import plain_name
from memlens.views.lines.heat import Most
from memlens.views.lines.totals import LineValue, line_values

_MOST_EDITS = 10_000


def register(server: LanguageServer, sources: Sources, lines: PlacedLines, notebooks: Notebooks) -> None:
    """Register the requests of decorations, of the editor's title and of notebooks' frames."""

    async def line_heat(params: LineHeatParams) -> LineHeatResult:
        shown = {each.snapshot: each.value for each in params.shown}
        files = _heat_of_heaps(await lines.definitions(params.document), sources)
        for bound in await sources.bound_to(params.document):
            if not has_stacks(bound.opened.info):
                continue
            try:
                heat = await _heat(sources, lines, params.document, bound, shown.get(bound.opened.name))
            except MemlensError:
                continue  # the snapshot has just been closed
            if heat.lines:
                files.append(heat)
        return LineHeatResult(files)

    async def line_findings(params: LineFindingsParams) -> LineFindingsResult:
        return LineFindingsResult(sorted({each.line for each in await lines.findings(params.document)}))

    async def known_documents(params: KnownDocumentsParams) -> KnownDocumentsResult:
        return KnownDocumentsResult(
            [bool(await sources.bound_to(each) or await lines.definitions(each)) for each in params.documents]
        )

    async def lines_moved(params: LinesMovedParams) -> Done:
        # without awaiting anything first: the requests that follow use the new line numbers
        if len(params.edits) > _MOST_EDITS:
            raise BadRequestError(
                phrase("More than {most} edits at once can't be followed", most=_MOST_EDITS)
            )
        edits = [LineEdit(max(edit.line, 1), edit.removed, edit.added) for edit in params.edits]
        sources.moved(params.path, params.what, edits)
        return Done()

    async def cell(params: CellParams) -> CellResult:
        name = cell_name(params.file)
        if name is None:
            raise BadRequestError(phrase("{file} is not the name of a notebook's cell", file=params.file))
        function = await sources.function_at(params.snapshot, params.file, params.line)
        shown = {
            notebook.path: [Cell(each.index, each.text, each.execution_count) for each in notebook.cells]
            for notebook in params.open_notebooks
        }
        return await notebooks.find(name, params.line, function, shown)

    answer(server, "memlens/lineHeat", line_heat)
    answer(server, "memlens/lineFindings", line_findings)
    answer(server, "memlens/knownDocuments", known_documents)
    answer(server, "memlens/linesMoved", lines_moved)
    answer(server, "memlens/cell", cell)


async def _heat(
    sources: Sources,
    placed_lines: PlacedLines,
    document: Document,
    bound: BoundFile[OpenSnapshot],
    value: int | None,
) -> FileHeat:
    snapshot = bound.opened
    placed = await placed_lines.stacks(document, bound)
    most = await snapshot.most()
    peak, total = figure_of(snapshot.info, "peak"), figure_of(snapshot.info, "total")
    by_value = await _by_value(sources, bound, value)
    placed_here = [each for each in placed if each.line]
    lines = [
        HeatLine(
            line=each.line,
            function=each.row.function,
            kind=each.row.kind,
            source=each.row.source,
            live_at_peak_bytes=each.row.live_at_peak_bytes,
            total_bytes=each.row.total_bytes,
            count=each.row.count,
            self_live_at_peak_bytes=each.row.self_live_at_peak_bytes,
            self_total_bytes=each.row.self_total_bytes,
            changed=sent(each.changed),
        )
        for each in placed_here
    ]
    if by_value is not None:
        peak = total = by_value.figure
        most = Most(by_value.most, by_value.most)
        lines = [
            _turned(line, by_value.lines.get(each.row.line))
            for line, each in zip(lines, placed_here, strict=True)
        ]
    note = bound.note
    return FileHeat(
        snapshot=snapshot.name,
        title=snapshot.title,
        path=snapshot.path,
        file=bound.file,
        note="" if note is None else language.spoken(note),
        peak=FigureWords(language.spoken(peak.words), peak.unit),
        total=FigureWords(language.spoken(total.words), total.unit),
        attribution=sources.attribution,
        most_live_at_peak_bytes=most.live_at_peak_bytes,
        most_total_bytes=most.total_bytes,
        lines=sorted(lines, key=lambda line: line.line),
    )


def _turned(line: HeatLine, value: LineValue | None) -> HeatLine:
    """A line's figures by another value."""
    total, itself = (0, 0) if value is None else (value.total, value.itself)
    return replace(
        line,
        live_at_peak_bytes=total,
        total_bytes=total,
        self_live_at_peak_bytes=itself,
        self_total_bytes=itself,
    )


class ByValue(NamedTuple):
    """A profile's lines by one of its values: the figures of each, and the hottest line of the whole profile."""

    figure: Figure
    lines: dict[int, LineValue]
    most: int


async def _by_value(sources: Sources, bound: BoundFile[OpenSnapshot], value: int | None) -> ByValue | None:
    """A file's lines by the value that a profile's view shows; None where that is the one that it opens with."""
    match bound.opened.info:
        case ProfileInfo(values=values, default_value=first):
            if value is None or value == first or not 0 <= value < len(values):
                return None
            number, info = value, values[value]
        case TimelineInfo() | GraphInfo():
            return None
        case _:
            assert_never(bound.opened.info)

    def ask(snapshot: Snapshot) -> ByValue:
        by_line = line_values(snapshot, bound.file, sources.attribution)
        lines = {line: each for line, all_ in by_line.items() for each in all_ if each.value == number}
        most = int(np.abs(snapshot.line_values.value[number]).max(initial=0))
        return ByValue(figure_of_value(info), lines, most)

    return await bound.opened.ask(ask)


def _heat_of_heaps(placed: list[PlacedDefinition], sources: Sources) -> list[FileHeat]:
    """The bytes that a document's definitions retain in each dump; the hottest possible line retains all of it."""
    files: dict[str, list[PlacedDefinition]] = {}
    for each in placed:
        files.setdefault(each.bound.opened.name, []).append(each)
    return [
        FileHeat(
            snapshot=own[0].bound.opened.name,
            title=own[0].bound.opened.title,
            path=own[0].bound.opened.path,
            file=own[0].row.file,
            note="",
            peak=FigureWords(language.spoken(phrase("retained")), "bytes"),
            total=FigureWords(language.spoken(phrase("shallow")), "bytes"),
            attribution=sources.attribution,
            most_live_at_peak_bytes=graph_of(own[0].bound.opened.info).shallow_bytes,
            most_total_bytes=graph_of(own[0].bound.opened.info).shallow_bytes,
            lines=[
                HeatLine(
                    line=each.line,
                    function=plain_name(each.row.name),
                    kind="user",
                    source="recorded",
                    live_at_peak_bytes=each.row.retained_bytes,
                    total_bytes=each.row.shallow_bytes,
                    count=each.row.count,
                    self_live_at_peak_bytes=each.row.retained_bytes,
                    self_total_bytes=each.row.shallow_bytes,
                    changed=None,
                )
                for each in sorted(own, key=lambda each: each.line)
            ],
        )
        for own in files.values()
    ]

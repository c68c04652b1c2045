"""Requests for pictures and reports to save."""

from pathlib import Path
from typing import Literal

from memlens.errors import BadRequestError
from memlens.export.markdown import finding_markdown, markdown
from memlens.export.pictures.flame import flame
from memlens.export.pictures.memory_map import memory_map
from memlens.export.pictures.reserved import reserved
from memlens.export.pictures.sunburst import sunburst
from memlens.export.pictures.timeline import Part, timeline
from memlens.export.report import report
from memlens.export.summary import summary
from memlens.server.protocol.base import Count
from memlens.server.protocol.exports import ReportResult, SvgResult
from memlens.server.questions import OF_FINDINGS, Cost, question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import Axis
from memlens.views.findings.ahead import findings
from memlens.views.findings.contents import finding_without_contents
from memlens.views.flame.calltree import FlameOptions
from memlens.views.flame.graph import FlameValue, tree_of
from memlens.views.heap.dominators.flame import drawn_tree, tree_title
from memlens.views.heap.dominators.trees import Form, Grouping, HeapTree, in_paths
from memlens.views.selection.sets import AllocationSet
from memlens.views.trace.picture.areas import GroupedBy


@question("memlens/timelineSvg", name=phrase("the picture of a timeline"))
def _timeline(
    snapshot: Snapshot,
    *,
    device: int,
    axis: Axis,
    x0: float,
    x1: float,
    areas: GroupedBy,
    theme: Literal["light", "dark"],
    filter_: str = "",
    y0: float | None = None,
    y1: float | None = None,
    picture: Literal["stacked", "map", "reserved"] = "stacked",
) -> SvgResult:
    """A part of a trace's picture: the timeline or the memory map by group, or reserved memory.

    Without ``y0`` and ``y1`` a timeline is as high as what it shows; the others are always whole.
    """
    match picture:
        case "map":
            mapped = memory_map(snapshot, device, axis, (x0, x1), filter_, areas)
            return SvgResult(mapped.document(theme))
        case "reserved":
            return SvgResult(reserved(snapshot, device, axis, x0, x1).document(theme))
        case "stacked":
            pass
    part = Part(device, axis, x0, x1, y0, y1, filter_, areas)
    return SvgResult(timeline(snapshot, part).document(theme))


@question("memlens/flameSvg")
def _flame(
    snapshot: Snapshot,
    *,
    of: AllocationSet,
    value: FlameValue,
    options: FlameOptions,
    x0: float,
    x1: float,
    title: str,
    theme: Literal["light", "dark"],
) -> SvgResult:
    """A part of a flame graph, ``[x0, x1]`` in shares of the whole. ``title`` is shown above it."""
    tree = tree_of(snapshot, of, value, options)
    return SvgResult(flame(tree, title, x0, x1).document(theme))


@question("memlens/heapSvg", name=phrase("the picture of a dominator tree"), cost=Cost(needs_paths=in_paths))
def _heap(
    snapshot: Snapshot,
    *,
    form: Literal["icicle", "sunburst"],
    by: Grouping,
    x0: float,
    x1: float,
    theme: Literal["light", "dark"],
    tree: HeapTree = "dominators",
) -> SvgResult:
    """A part of a tree of a heap dump, ``[x0, x1]`` in shares of the whole."""
    drawn = Form(by, tree)
    title = f"{Path(snapshot.info.path).name}: {tree_title(drawn)}"
    draw = flame if form == "icicle" else sunburst
    return SvgResult(draw(drawn_tree(snapshot, drawn), title, x0, x1).document(theme))


@question("memlens/report", cost=OF_FINDINGS)
def _report(
    snapshot: Snapshot, *, form: Literal["html", "markdown"], device: int | None = None, values: bool = False
) -> ReportResult:
    """A report of a trace is about one device; None means the one to show first.

    Only with ``values`` it quotes the texts of strings of a heap dump.
    """
    if form == "html":
        return ReportResult(report(snapshot, device, values=values))
    return ReportResult("\n".join(markdown(summary(snapshot, device, values=values))) + "\n")


@question("memlens/findingMarkdown", cost=OF_FINDINGS)
def _finding(snapshot: Snapshot, *, number: Count, device: int | None = None) -> ReportResult:
    """One of the findings by its place in ``memlens/findings``, from 0."""
    found = findings(snapshot, device, number + 1).findings
    if number >= len(found):
        raise BadRequestError(phrase("There is no finding {number}", number=number + 1))
    return ReportResult("\n".join(finding_markdown(finding_without_contents(found[number]))) + "\n")

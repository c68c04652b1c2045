"""Requests for pictures and reports to save."""

from pathlib import Path

from memlens.errors import BadRequestError
from memlens.export.markdown import finding_markdown, markdown
from memlens.export.pictures.flame import flame
from memlens.export.pictures.memory_map import memory_map
from memlens.export.pictures.reserved import reserved
from memlens.export.pictures.sunburst import sunburst
from memlens.export.pictures.timeline import Part, timeline
from memlens.export.report import report
from memlens.export.summary import summary
from memlens.server.protocol.exports import (
    FindingMarkdownParams,
    FlameSvgParams,
    HeapSvgParams,
    ReportParams,
    ReportResult,
    SvgResult,
    TimelineSvgParams,
)
from memlens.server.questions import OF_FINDINGS, Cost, question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.findings.ahead import findings
from memlens.views.findings.contents import finding_without_contents
from memlens.views.flame.graph import tree_of
from memlens.views.heap.dominators.flame import drawn_tree, tree_title
from memlens.views.heap.dominators.trees import Form, in_paths


@question("memlens/timelineSvg", name=phrase("the picture of a timeline"))
def _timeline(snapshot: Snapshot, p: TimelineSvgParams) -> SvgResult:
    match p.picture:
        case "map":
            mapped = memory_map(snapshot, p.device, p.axis, (p.x0, p.x1), p.filter, p.areas)
            return SvgResult(mapped.document(p.theme))
        case "reserved":
            return SvgResult(reserved(snapshot, p.device, p.axis, p.x0, p.x1).document(p.theme))
        case "stacked":
            pass
    part = Part(p.device, p.axis, p.x0, p.x1, p.y0, p.y1, p.filter, p.areas)
    return SvgResult(timeline(snapshot, part).document(p.theme))


@question("memlens/flameSvg")
def _flame(snapshot: Snapshot, p: FlameSvgParams) -> SvgResult:
    tree = tree_of(snapshot, p.of, p.value, p.options)
    return SvgResult(flame(tree, p.title, p.x0, p.x1).document(p.theme))


@question("memlens/heapSvg", name=phrase("the picture of a dominator tree"), cost=Cost(needs_paths=in_paths))
def _heap(snapshot: Snapshot, p: HeapSvgParams) -> SvgResult:
    form = Form(p.by, p.tree)
    tree, title = drawn_tree(snapshot, form), f"{Path(snapshot.info.path).name}: {tree_title(form)}"
    draw = flame if p.form == "icicle" else sunburst
    return SvgResult(draw(tree, title, p.x0, p.x1).document(p.theme))


@question("memlens/report", cost=OF_FINDINGS)
def _report(snapshot: Snapshot, p: ReportParams) -> ReportResult:
    if p.form == "html":
        return ReportResult(report(snapshot, p.device, values=p.values))
    return ReportResult("\n".join(markdown(summary(snapshot, p.device, values=p.values))) + "\n")


@question("memlens/findingMarkdown", cost=OF_FINDINGS)
def _finding(snapshot: Snapshot, p: FindingMarkdownParams) -> ReportResult:
    found = findings(snapshot, p.device, p.number + 1).findings
    if p.number >= len(found):
        raise BadRequestError(phrase("There is no finding {number}", number=p.number + 1))
    return ReportResult("\n".join(finding_markdown(finding_without_contents(found[p.number]))) + "\n")

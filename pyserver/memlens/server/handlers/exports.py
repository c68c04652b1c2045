"""Pictures and reports for files."""

from pathlib import Path

from memlens.export.markdown import markdown
from memlens.export.pictures.flame import flame
from memlens.export.pictures.sunburst import sunburst
from memlens.export.pictures.timeline import Part, timeline
from memlens.export.report import report
from memlens.export.summary import summary
from memlens.server.protocol.exports import (
    FlameSvgParams,
    HeapSvgParams,
    ReportParams,
    ReportResult,
    SvgResult,
    TimelineSvgParams,
)
from memlens.server.wire import Questions
from memlens.store.snapshot import Snapshot
from memlens.views.flame.graph import tree_of
from memlens.views.graph.dominators import dominator_tree


def _timeline(snapshot: Snapshot, p: TimelineSvgParams) -> SvgResult:
    part = Part(p.device, p.axis, p.x0, p.x1, p.y0, p.y1, p.filter, p.areas)
    return SvgResult(timeline(snapshot, part).document(p.theme))


def _flame(snapshot: Snapshot, p: FlameSvgParams) -> SvgResult:
    tree = tree_of(snapshot, p.of, p.value, p.options)
    return SvgResult(flame(tree, p.title, p.x0, p.x1).document(p.theme))


def _heap(snapshot: Snapshot, p: HeapSvgParams) -> SvgResult:
    tree, title = (
        dominator_tree(snapshot),
        f"{Path(snapshot.info.path).name}: dominators by type, retained bytes",
    )
    draw = flame if p.form == "icicle" else sunburst
    return SvgResult(draw(tree, title, p.x0, p.x1).document(p.theme))


def _report(snapshot: Snapshot, p: ReportParams) -> ReportResult:
    if p.form == "html":
        return ReportResult(report(snapshot, p.device))
    return ReportResult("\n".join(markdown(summary(snapshot, p.device))) + "\n")


QUESTIONS: Questions = {
    "memlens/timelineSvg": _timeline,
    "memlens/flameSvg": _flame,
    "memlens/heapSvg": _heap,
    "memlens/report": _report,
}

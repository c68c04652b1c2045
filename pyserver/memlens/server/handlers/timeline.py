"""The requests of the stacked picture: each calls one function of ``memlens.views``."""

from memlens.arrays import Mask
from memlens.server.protocol.memory_map import AllocatorStateParams
from memlens.server.protocol.timeline import (
    HitParams,
    LineParams,
    LiveParams,
    LocateParams,
    MomentParams,
    OverviewParams,
    StackParams,
    StepParams,
    StepResult,
    ViewportParams,
    ViewportResult,
)
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import (
    HitAnswer,
    LineAnswer,
    LiveAnswer,
    LocateAnswer,
    MomentAnswer,
    OverviewAnswer,
    StackAnswer,
)
from memlens.views.lines import totals as lines
from memlens.views.selection import sets
from memlens.views.selection.columns import device_of, of_stacks
from memlens.views.tables import groups
from memlens.views.trace.details import details
from memlens.views.trace.picture import hit, live, locate, overview, viewport
from memlens.views.trace.picture.boxes import Box


def lit_of(snapshot: Snapshot, p: ViewportParams | AllocatorStateParams) -> Mask | None:
    """What is highlighted in a picture; None for nothing."""
    device = device_of(snapshot, p.device, p.filter)
    if p.lit is not None:
        return groups.lit_rows(snapshot, p.lit, device)
    if isinstance(p, ViewportParams) and p.lit_stacks is not None:
        return of_stacks(snapshot, device, p.lit_stacks)
    return None


def box_of(p: ViewportParams) -> Box:
    """The requested part of a picture."""
    return Box(p.axis, p.x0, p.x1, p.y0, p.y1, p.columns, p.rows)


@question("memlens/viewport", name=phrase("the picture of allocations"))
def _viewport(snapshot: Snapshot, p: ViewportParams) -> ViewportResult:
    found = viewport.viewport(snapshot, p.device, box_of(p), p.filter, lit_of(snapshot, p), p.areas)
    return ViewportResult(found.geometry, found.areas)


@question("memlens/overview", name=phrase("the overview of the run"))
def _overview(snapshot: Snapshot, p: OverviewParams) -> OverviewAnswer:
    return overview.overview(snapshot, p.device, p.axis, p.columns, p.filter)


@question("memlens/moment", name=phrase("a moment of the run"))
def _moment(snapshot: Snapshot, p: MomentParams) -> MomentAnswer:
    return sets.moment(snapshot, p.device, p.moment, p.filter)


@question("memlens/hit", name=phrase("an allocation in the picture"))
def _hit(snapshot: Snapshot, p: HitParams) -> HitAnswer:
    return hit.hit(snapshot, p.device, p.moment, p.y_bytes, p.filter, p.areas)


@question("memlens/stack", name=phrase("the stack of an allocation"))
def _stack(snapshot: Snapshot, p: StackParams) -> StackAnswer:
    return details(snapshot, p.allocation, p.filter)


@question("memlens/live", name=phrase("the list of live allocations"))
def _live(snapshot: Snapshot, p: LiveParams) -> LiveAnswer:
    return live.live(snapshot, p.device, p.moment, p.offset, p.limit, p.filter)


@question("memlens/locate", name=phrase("the place of an allocation"))
def _locate(snapshot: Snapshot, p: LocateParams) -> LocateAnswer:
    return locate.locate(snapshot, p.allocation, p.axis, p.moment, p.filter, p.areas)


@question("memlens/step", name=phrase("the next allocation"))
def _step(snapshot: Snapshot, p: StepParams) -> StepResult:
    return StepResult(locate.step(snapshot, p.allocation, p.moment, p.direction, p.filter, p.areas))


@question("memlens/line", name=phrase("what a line allocated on a device"))
def _line(snapshot: Snapshot, p: LineParams) -> LineAnswer:
    return lines.line(snapshot, p.file, p.line, p.device, p.filter)

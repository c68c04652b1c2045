"""The requests of the stacked picture: each calls one function of ``memlens.views``."""

from typing import Annotated

from msgspec import Meta

from memlens.arrays import Mask
from memlens.server.protocol.base import Count, Line, Pixels
from memlens.server.protocol.timeline import StepResult, ViewportParams, ViewportResult
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import (
    Axis,
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
from memlens.views.trace.picture.areas import GroupedBy
from memlens.views.trace.picture.boxes import Box
from memlens.views.trace.picture.locate import Direction


def highlighted_of(snapshot: Snapshot, p: ViewportParams) -> Mask | None:
    """The highlighted part of a picture; None for nothing."""
    device = device_of(snapshot, p.device, p.filter)
    if p.highlighted is not None:
        return groups.highlighted_rows(snapshot, p.highlighted, device)
    return None if p.highlighted_stacks is None else of_stacks(snapshot, device, p.highlighted_stacks)


def box_of(p: ViewportParams) -> Box:
    """The requested part of a picture."""
    return Box(p.axis, p.x0, p.x1, p.y0, p.y1, p.columns, p.rows)


@question("memlens/viewport", name=phrase("the picture of allocations"))
def _viewport(snapshot: Snapshot, p: ViewportParams) -> ViewportResult:
    found = viewport.viewport(snapshot, p.device, box_of(p), p.filter, highlighted_of(snapshot, p), p.areas)
    return ViewportResult(found.geometry, found.areas)


@question("memlens/overview", name=phrase("the overview of the run"))
def _overview(
    snapshot: Snapshot, *, device: int, axis: Axis, columns: Pixels, filter_: str = ""
) -> OverviewAnswer:
    """What was live on a device over its whole run, in ``columns`` columns."""
    return overview.overview(snapshot, device, axis, columns, filter_)


@question("memlens/moment", name=phrase("a moment of the run"))
def _moment(snapshot: Snapshot, *, device: int, moment: int | None, filter_: str = "") -> MomentAnswer:
    """``moment`` None means the peak; numbers beyond the trace mean its ends."""
    return sets.moment(snapshot, device, moment, filter_)


@question("memlens/hit", name=phrase("an allocation in the picture"))
def _hit(
    snapshot: Snapshot,
    *,
    device: int,
    moment: Count,
    y_bytes: float,
    filter_: str = "",
    areas: GroupedBy | None = None,
) -> HitAnswer:
    """What is ``y_bytes`` above the bottom at a moment (a geometry column names its moment).

    ``areas`` says how the picture is grouped, here and below.
    """
    return hit.hit(snapshot, device, moment, y_bytes, filter_, areas)


@question("memlens/stack", name=phrase("the stack of an allocation"))
def _stack(snapshot: Snapshot, *, allocation: Count, filter_: str = "") -> StackAnswer:
    """The stack that made an allocation. With ``filter`` its totals are of what matches it, on that device."""
    return details(snapshot, allocation, filter_)


@question("memlens/live", name=phrase("the list of live allocations"))
def _live(
    snapshot: Snapshot,
    *,
    device: int,
    moment: Count | None,
    offset: Count,
    limit: Annotated[int, Meta(ge=1, le=10_000)],
    filter_: str = "",
) -> LiveAnswer:
    """``moment`` None means the peak. Rows are the largest first."""
    return live.live(snapshot, device, moment, offset, limit, filter_)


@question("memlens/locate", name=phrase("the place of an allocation"))
def _locate(
    snapshot: Snapshot,
    *,
    allocation: Count,
    axis: Axis,
    moment: Count | None,
    filter_: str = "",
    areas: GroupedBy | None = None,
) -> LocateAnswer:
    """``moment`` None means the moment within its life at which the most was live."""
    return locate.locate(snapshot, allocation, axis, moment, filter_, areas)


@question("memlens/step", name=phrase("the next allocation"))
def _step(
    snapshot: Snapshot,
    *,
    allocation: Count,
    moment: Count,
    direction: Direction,
    filter_: str = "",
    areas: GroupedBy | None = None,
) -> StepResult:
    """From an allocation to its neighbour: in the picture or by address at a moment, or of the same stack in time."""
    return StepResult(locate.step(snapshot, allocation, moment, direction, filter_, areas))


@question("memlens/line", name=phrase("what a line allocated on a device"))
def _line(snapshot: Snapshot, *, file: str, line: Line, device: int = 0, filter_: str = "") -> LineAnswer:
    """A line of a file as the snapshot spells it (``file`` of a frame or of a hover's link).

    With ``filter`` it is about what matches it on ``device``, else about all devices.
    """
    return lines.line(snapshot, file, line, device, filter_)

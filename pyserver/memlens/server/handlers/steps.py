"""The requests of the annotation lanes and of the pane of steps."""

from typing import Annotated

from msgspec import Meta

from memlens.server.protocol.base import Count, Page, Pixels
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import Axis
from memlens.views.trace.steps import annotations, growth
from memlens.views.trace.steps import finding as steps
from memlens.views.trace.steps.annotations import AnnotationsAnswer
from memlens.views.trace.steps.finding import StepsAnswer
from memlens.views.trace.steps.growth import GrowthAnswer


@question("memlens/annotations", name=phrase("the list of annotations"))
def _annotations(
    snapshot: Snapshot, *, device: int, axis: Axis, x0: float, x1: float, columns: Pixels, noise: bool = False
) -> AnnotationsAnswer:
    """The lanes over ``[x0, x1]`` in ``columns`` pixels; with ``noise`` what is left out by default, too."""
    return annotations.annotations(snapshot, device, axis, x0, x1, columns, noise=noise)


@question("memlens/steps", name=phrase("the table of steps"))
def _steps(
    snapshot: Snapshot,
    *,
    device: int,
    offset: Count,
    limit: Annotated[int, Meta(ge=1, le=10_000)],
    filter_: str = "",
) -> StepsAnswer:
    """Some rows of the table of steps. A ``filter`` narrows the figures, not the steps."""
    return steps.steps(snapshot, device, offset, limit, filter_)


@question("memlens/growth", name=phrase("growth from step to step"))
def _growth(snapshot: Snapshot, *, device: int, limit: Page, filter_: str = "") -> GrowthAnswer:
    """The lines that grow the most from step to step."""
    return growth.growth(snapshot, device, limit, filter_)

"""The requests of the annotation lanes and of the pane of steps."""

from memlens.server.protocol.steps import AnnotationsParams, GrowthParams, StepsParams
from memlens.server.questions import question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.trace.steps import annotations, growth
from memlens.views.trace.steps import finding as steps
from memlens.views.trace.steps.annotations import AnnotationsAnswer
from memlens.views.trace.steps.finding import StepsAnswer
from memlens.views.trace.steps.growth import GrowthAnswer


@question("memlens/annotations", name=phrase("the list of annotations"))
def _annotations(snapshot: Snapshot, p: AnnotationsParams) -> AnnotationsAnswer:
    return annotations.annotations(snapshot, p.device, p.axis, p.x0, p.x1, p.columns, noise=p.noise)


@question("memlens/steps", name=phrase("the table of steps"))
def _steps(snapshot: Snapshot, p: StepsParams) -> StepsAnswer:
    return steps.steps(snapshot, p.device, p.offset, p.limit, p.filter)


@question("memlens/growth", name=phrase("growth from step to step"))
def _growth(snapshot: Snapshot, p: GrowthParams) -> GrowthAnswer:
    return growth.growth(snapshot, p.device, p.limit, p.filter)

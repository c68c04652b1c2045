"""The requests of the annotation lanes and of the pane of steps."""

from memlens.server.protocol.steps import AnnotationsParams, GrowthParams, StepsParams
from memlens.server.wire import Questions
from memlens.store.snapshot import Snapshot
from memlens.views.trace.steps import annotations, growth
from memlens.views.trace.steps import finding as steps
from memlens.views.trace.steps.annotations import AnnotationsAnswer
from memlens.views.trace.steps.finding import StepsAnswer
from memlens.views.trace.steps.growth import GrowthAnswer


def _annotations(snapshot: Snapshot, p: AnnotationsParams) -> AnnotationsAnswer:
    return annotations.annotations(snapshot, p.device, p.axis, p.x0, p.x1, p.columns, noise=p.noise)


def _steps(snapshot: Snapshot, p: StepsParams) -> StepsAnswer:
    return steps.steps(snapshot, p.device, p.offset, p.limit, p.filter)


def _growth(snapshot: Snapshot, p: GrowthParams) -> GrowthAnswer:
    return growth.growth(snapshot, p.device, p.limit, p.filter)


QUESTIONS: Questions = {
    "memlens/annotations": _annotations,
    "memlens/steps": _steps,
    "memlens/growth": _growth,
}

"""A run's steps, and what grows from one to the next."""

import sys

from msgspec import Struct

from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.views.trace.steps.finding import StepsAnswer, steps
from memlens.views.trace.steps.growth import GrowthAnswer, growth


class StepsAndGrowth(Struct, frozen=True):
    """All steps of a device, and the lines that grow."""

    steps: StepsAnswer
    growth: GrowthAnswer


def steps_and_growth(snapshot: Snapshot, device: int | None, most: int, filter_text: str) -> StepsAndGrowth:
    """The steps, and at most so many growing lines; ``device`` None means the one to show first.

    Raises :class:`BadRequestError`.
    """
    info = timeline_of(snapshot.info, "events")
    number = info.default_device if device is None else device
    return StepsAndGrowth(
        steps(snapshot, number, 0, sys.maxsize, filter_text), growth(snapshot, number, most, filter_text)
    )

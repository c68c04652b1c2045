"""Two snapshots beside each other. The host adds ``snapshot`` and ``other``: a view asks about its own pair only."""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.server.protocol.base import Count, Pixels, Requests
from memlens.views.alignment import Alignment, CurvesAnswer
from memlens.views.compare import CompareAnswer, CompareBy, CompareOrder, Measure
from memlens.views.sets import AllocationSet


class CompareParams(Struct, frozen=True, kw_only=True):
    """A table of differences between ``of`` in ``snapshot`` and ``other_of`` in ``other`` (perhaps the same one).

    ``other_first`` says which of them is "before". ``search`` is words that a row's file, line or function holds.
    """

    snapshot: str
    other: str
    of: AllocationSet
    other_of: AllocationSet
    other_first: bool
    by: CompareBy
    measure: Measure
    search: str = ""
    order: CompareOrder = "difference"
    reverse: bool = False
    offset: Count = 0
    limit: Annotated[int, Meta(ge=1, le=1000)] = 200


class CompareStacksParams(Struct, frozen=True, kw_only=True):
    """The stacks of ``snapshot`` that go to a row of a comparison, to light them up."""

    snapshot: str
    other: str
    of: AllocationSet
    other_of: AllocationSet
    other_first: bool
    by: CompareBy
    measure: Measure
    row: Count


class CompareStacksResult(Struct, frozen=True):
    """Numbers of stacks of ``snapshot``."""

    stacks: list[int]


class CompareCurvesParams(Struct, frozen=True, kw_only=True):
    """The heights of two devices in columns over ``[x0, x1]`` of the axis that ``alignment`` lays them on.

    Without ``x0`` and ``x1`` over all that both take up. ``filter`` narrows both.
    """

    snapshot: str
    other: str
    device: int
    other_device: int
    alignment: Alignment
    x0: float | None = None
    x1: float | None = None
    columns: Pixels
    filter: str = ""


class CompareMomentsParams(Struct, frozen=True, kw_only=True):
    """Which moments of ``other_device`` lie beside some of ``device``."""

    snapshot: str
    other: str
    device: int
    other_device: int
    alignment: Alignment
    moments: Annotated[list[int], Meta(max_length=1000)]
    filter: str = ""


class CompareMomentsResult(Struct, frozen=True):
    """As many as were asked for; ``inferred_steps`` when they were found by steps that no annotation tells."""

    moments: list[int]
    inferred_steps: bool


REQUESTS: Requests = {
    "memlens/compare": (CompareParams, CompareAnswer),
    "memlens/compareStacks": (CompareStacksParams, CompareStacksResult),
    "memlens/compareCurves": (CompareCurvesParams, CurvesAnswer),
    "memlens/compareMoments": (CompareMomentsParams, CompareMomentsResult),
}

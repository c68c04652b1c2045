"""The stacked picture of memory over time, and the allocations in it.

``filter`` narrows a request to the allocations that match it, see :mod:`memlens.views.selection.filters`.
"""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.server.protocol.base import Count, Line, Pixels
from memlens.views.answers import (
    AllocationSummary,
    Area,
    Axis,
)
from memlens.views.tables.groups import Branch
from memlens.views.trace.picture.areas import GroupedBy
from memlens.views.trace.picture.locate import Direction


class ViewportParams(Struct, frozen=True):
    """The part of the stacked picture, or of the memory map, to draw: ``columns`` x ``rows`` pixels over the box.

    With ``lit`` the picture says which part of it is in that branch of a tree table, with ``lit_stacks`` which is of
    those stacks. With ``areas`` it is by group.
    """

    snapshot: str
    device: int
    axis: Axis
    x0: float
    x1: float
    y0: float
    y1: float
    columns: Pixels
    rows: Pixels
    filter: str = ""
    lit: Branch | None = None
    lit_stacks: list[Count] | None = None
    areas: GroupedBy | None = None


class ViewportResult(Struct, frozen=True):
    """``geometry`` is the packed buffer that ``memlens.views.trace.picture.packing`` describes, as base64.

    ``areas`` are the groups of a picture that is by group, from the bottom up.
    """

    geometry: bytes
    areas: list[Area] = []


class OverviewParams(Struct, frozen=True):
    """What was live on a device over its whole run, in ``columns`` columns."""

    snapshot: str
    device: int
    axis: Axis
    columns: Pixels
    filter: str = ""


class MomentParams(Struct, frozen=True):
    """``moment`` None means the peak; numbers beyond the trace mean its ends."""

    snapshot: str
    device: int
    moment: int | None
    filter: str = ""


class HitParams(Struct, frozen=True):
    """What is ``y_bytes`` above the bottom at a moment (a geometry column names its moment).

    ``areas`` says how the picture is grouped, here and below.
    """

    snapshot: str
    device: int
    moment: Count
    y_bytes: float
    filter: str = ""
    areas: GroupedBy | None = None


class StackParams(Struct, frozen=True):
    """The stack that made an allocation. With ``filter`` its totals are of what matches it, on that device."""

    snapshot: str
    allocation: Count
    filter: str = ""


class LiveParams(Struct, frozen=True):
    """``moment`` None means the peak. Rows are the largest first."""

    snapshot: str
    device: int
    moment: Count | None
    offset: Count
    limit: Annotated[int, Meta(ge=1, le=10_000)]
    filter: str = ""


class LocateParams(Struct, frozen=True):
    """``moment`` None means the moment within its life at which the most was live."""

    snapshot: str
    allocation: Count
    axis: Axis
    moment: Count | None
    filter: str = ""
    areas: GroupedBy | None = None


class StepParams(Struct, frozen=True):
    """From an allocation to its neighbour: in the picture or by address at a moment, or of the same stack in time."""

    snapshot: str
    allocation: Count
    moment: Count
    direction: Direction
    filter: str = ""
    areas: GroupedBy | None = None


class StepResult(Struct, frozen=True):
    """None if there is no further one."""

    allocation: AllocationSummary | None


class LineParams(Struct, frozen=True):
    """A line of a file as the snapshot spells it (``file`` of a frame or of a hover's link).

    With ``filter`` it is about what matches it on ``device``, else about all devices.
    """

    snapshot: str
    file: str
    line: Line
    device: int = 0
    filter: str = ""

"""The stacked picture of memory over time, and the allocations in it.

``filter`` narrows a request to the allocations that match it, see :mod:`memlens.views.selection.filters`.
"""

from msgspec import Struct

from memlens.server.protocol.base import Count, Pixels
from memlens.views.answers import AllocationSummary, Area, Axis
from memlens.views.tables.groups import Branch
from memlens.views.trace.picture.areas import GroupedBy


class ViewportParams(Struct, frozen=True):
    """The part of the stacked picture, or of the memory map, to draw: ``columns`` x ``rows`` pixels over the box.

    With ``highlighted`` the picture says which part of it is in that branch of a tree table, with
    ``highlighted_stacks`` which is of those stacks. With ``areas`` it is by group.
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
    highlighted: Branch | None = None
    highlighted_stacks: list[Count] | None = None
    areas: GroupedBy | None = None


class ViewportResult(Struct, frozen=True):
    """``geometry`` is the packed buffer that ``memlens.views.trace.picture.packing`` describes, as base64.

    ``areas`` are the groups of a picture that is by group, from the bottom up.
    """

    geometry: bytes
    areas: list[Area] = []


class StepResult(Struct, frozen=True):
    """None if there is no further one."""

    allocation: AllocationSummary | None

"""The memory map over time and the allocator's state at an event."""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.server.protocol.base import Count
from memlens.views.answers import Axis
from memlens.views.tables.groups import Branch
from memlens.views.trace.allocator.answer import SegmentOrder
from memlens.views.trace.picture.areas import GroupedBy


class MapLanesParams(Struct, frozen=True):
    """The position of each range of addresses in the map."""

    snapshot: str
    device: int


class MapHitParams(Struct, frozen=True):
    """What is at a moment and a height of the map, or at most ``within`` bytes away."""

    snapshot: str
    device: int
    moment: Count
    y: float
    within: float
    filter: str = ""


class MapLocateParams(Struct, frozen=True):
    """The position of an allocation in the map."""

    snapshot: str
    allocation: Count
    axis: Axis


class AllocatorStateParams(Struct, frozen=True):
    """A page of the segments at a moment: the largest first, or by address, or those with the most free first.

    With ``lit`` the blocks say which of them are in that branch of a tree table,
    with ``areas`` in which group they are.
    """

    snapshot: str
    device: int
    moment: Count
    order: SegmentOrder
    offset: Count
    limit: Annotated[int, Meta(ge=1, le=500)]
    filter: str = ""
    lit: Branch | None = None
    areas: GroupedBy | None = None

"""What only profiles have, and the sizes of allocations, which traces have as well."""

from msgspec import Struct

from memlens.server.protocol.base import Count
from memlens.views.selection.sets import AllocationSet


class SizesParams(Struct, frozen=True):
    """How large the allocations of a set are."""

    snapshot: str
    of: AllocationSet


class ProfileTimesParams(Struct, frozen=True):
    """A profile's lines over time."""

    snapshot: str


class ProfileRangeParams(Struct, frozen=True):
    """What went on between two edges of a profile's bins, of what matches a filter."""

    snapshot: str
    from_edge: Count
    to_edge: Count
    filter: str = ""

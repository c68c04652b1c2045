"""The filter that narrows every view of a snapshot."""

from msgspec import Struct

from memlens.server.protocol.base import Done, Requests
from memlens.views.answers import FilterAnswer


class FilterParams(Struct, frozen=True):
    """The figures of a filtered device; also used to check a filter before views use it."""

    snapshot: str
    device: int
    filter: str


REQUESTS: Requests = {
    "memlens/filter": (FilterParams, FilterAnswer),
    # what would match is said as an error, if nothing does; a profile or a heap dump has no device but 0
    "memlens/filterMatches": (FilterParams, Done),
}

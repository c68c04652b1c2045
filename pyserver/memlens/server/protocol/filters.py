"""The filter that narrows every view of a snapshot."""

from msgspec import Struct

from memlens.server.protocol.base import Requests
from memlens.views.answers import FilterAnswer


class FilterParams(Struct, frozen=True):
    """What is left of a device by a filter; also how a filter is checked before views are asked with it."""

    snapshot: str
    device: int
    filter: str


REQUESTS: Requests = {"memlens/filter": (FilterParams, FilterAnswer)}

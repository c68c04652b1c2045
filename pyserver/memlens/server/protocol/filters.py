"""The filter that narrows every view of a snapshot."""

from msgspec import Struct


class FilterParams(Struct, frozen=True):
    """The figures of a filtered device; also used to check a filter before views use it."""

    snapshot: str
    device: int
    filter: str

"""Out-of-memory events, and what else is marked on the time axis."""

from msgspec import Struct

from memlens.server.protocol.base import Count


class MarksParams(Struct, frozen=True):
    """The marks of all devices."""

    snapshot: str


class OomParams(Struct, frozen=True):
    """An out-of-memory event by its number among its device's events, as a mark has it."""

    snapshot: str
    device: int
    event: Count

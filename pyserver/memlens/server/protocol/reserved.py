"""Reserved memory over time and what it was used for."""

from msgspec import Struct

from memlens.server.protocol.base import Count, Pixels
from memlens.views.answers import Axis


class ReservedParams(Struct, frozen=True):
    """The part ``[x0, x1]`` of a device's run, in so many columns; with ``filter`` also of what matches it."""

    snapshot: str
    device: int
    axis: Axis
    x0: float
    x1: float
    columns: Pixels
    filter: str = ""


class GapParams(Struct, frozen=True):
    """What the reserved memory of a moment is made of; None means the first at which the most was reserved.

    With ``filter`` also of the part that matches it.
    """

    snapshot: str
    device: int
    moment: Count | None = None
    filter: str = ""

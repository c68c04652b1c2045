"""What the editor asks about the summaries of a fleet. Each request names the database: nothing is kept open."""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.fleet.questions.curves import Align
from memlens.fleet.questions.heat_map import HeatMap
from memlens.server.protocol.base import Count, Requests


class FleetHeatParams(Struct, frozen=True):
    """``path`` is the database, or the folder that has it; the axis has at most so many columns."""

    path: str
    align: Align = "start"
    columns: Annotated[int, Meta(ge=1, le=512)] = 240


class FleetFileParams(Struct, frozen=True):
    """A row of ``snapshots``."""

    path: str
    snapshot: Count


class FleetFileResult(Struct, frozen=True):
    """Where a fleet's file is: ``location`` is a path, or the URL of one that has to be fetched."""

    location: str
    name: str
    remote: bool
    size_bytes: int
    found: bool
    """Whether a local file is there; of a store that isn't known."""


class FleetFetchParams(Struct, frozen=True):
    """``folder`` is where the copy is put, in a folder of its own."""

    path: str
    snapshot: Count
    folder: str


class FleetFetchResult(Struct, frozen=True):
    """The path of the copy; ``known`` says that it was there already."""

    path: str
    known: bool


REQUESTS: Requests = {
    "memlens/fleetHeat": (FleetHeatParams, HeatMap),
    "memlens/fleetFile": (FleetFileParams, FleetFileResult),
    "memlens/fleetFetch": (FleetFetchParams, FleetFetchResult),
}

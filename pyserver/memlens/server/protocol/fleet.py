"""What the editor asks about the summaries of a fleet. Each request names the database: nothing is kept open."""

from typing import Annotated

from msgspec import Meta, Struct

from memlens.fleet.questions.curves import Align
from memlens.server.protocol.base import Count


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
    """``folder`` is where the copy is put, in a folder of its own; progress is reported as that of ``view``."""

    path: str
    snapshot: Count
    folder: str
    view: str


class FleetFetchResult(Struct, frozen=True):
    """The path of the copy; ``known`` says that it was there already."""

    path: str
    known: bool


class FleetsShownParams(Struct, frozen=True):
    """The databases of all fleets that the editor shows: hovers and code lenses show the most over their ranks."""

    paths: list[str]


class OpenRankArguments(Struct, frozen=True):
    """The argument of the editor's command ``memlens.openRank``: a row of ``snapshots`` in the database ``path``."""

    path: str
    snapshot: int

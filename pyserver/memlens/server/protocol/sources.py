"""From the paths in a snapshot to files here, and from lines here to snapshots."""

from typing import Literal

from msgspec import Struct

from memlens.server.protocol.base import Count, Done, Requests


class SourceParams(Struct, frozen=True):
    """Where a frame's file is on this machine."""

    file: str
    line: Count


class SourceResult(Struct, frozen=True):
    """``path`` is set when one file is meant; else ``candidates`` are the equally good ones, perhaps none.

    ``looked_for`` says which path was looked for, for the message when nothing was found.
    """

    path: str | None
    line: int
    how: Literal["mapping", "remembered", "exact", "suffix", "ambiguous", "none"]
    candidates: list[str]
    looked_for: str


class RememberParams(Struct, frozen=True):
    """The user chose the file that a foreign path means."""

    file: str
    path: str


class FindFilesParams(Struct, frozen=True):
    """Server to client: workspace files with one of these base names."""

    names: list[str]


class FindFilesResult(Struct, frozen=True):
    """Absolute paths."""

    paths: list[str]


class ShowLineArguments(Struct, frozen=True):
    """The argument of the editor's command ``memlens.showLine``, which hovers and code lenses carry.

    ``snapshot`` is gone after a restart of the server; ``path`` then still says which file was meant.
    """

    snapshot: str
    path: str
    file: str
    line: int


class LineTargetsParams(Struct, frozen=True):
    """A line of a file here: ``path`` is absolute, ``line`` counts from 1."""

    path: str
    line: Count


class LineTargetsResult(Struct, frozen=True):
    """What to show for the line, one for each open snapshot that has it in a stack."""

    targets: list[ShowLineArguments]


REQUESTS: Requests = {
    "memlens/source": (SourceParams, SourceResult),
    "memlens/remember": (RememberParams, Done),
    "memlens/lineTargets": (LineTargetsParams, LineTargetsResult),
}

CLIENT_REQUESTS: Requests = {
    "memlens/findFiles": (FindFilesParams, FindFilesResult),
}

"""From the paths in a snapshot to local files, and from local lines to snapshots."""

from msgspec import Struct

from memlens.server.protocol.base import Line, Requests
from memlens.sources.binding import How


class ChangedLine(Struct, frozen=True):
    """The local text is not what ran: a sentence that says why, and the lines where the function is now."""

    message: str
    lines: list[int]


class SourceParams(Struct, frozen=True):
    """Where a frame's file is on this machine. ``snapshot`` is that of the frame, for which lines may have moved."""

    snapshot: str
    file: str
    line: Line


class SourceResult(Struct, frozen=True):
    """``path`` is set when one file is meant; else ``candidates`` are the equally good ones, perhaps none.

    ``line`` is where the snapshot's line is in the editor now; ``changed`` is set when something else stands there.
    ``looked_for`` is the path that was looked for, for the message if nothing was found. A ``cell`` has no path:
    ``memlens/cell`` finds it.
    """

    path: str | None
    line: int
    how: How
    candidates: list[str]
    looked_for: str
    changed: ChangedLine | None


class RememberParams(Struct, frozen=True):
    """The user chose the file that a foreign path means."""

    file: str
    path: str


class FindFilesParams(Struct, frozen=True):
    """Server to client: workspace files with one of these base names, or whose name ends so (if not empty)."""

    names: list[str]
    ending: str


class FindFilesResult(Struct, frozen=True):
    """Absolute paths."""

    paths: list[str]


class Document(Struct, frozen=True):
    """A text in the editor: a file by its absolute path, or a notebook's cell by the notebook's path and its text."""

    path: str
    cell: str | None


class ShowLineArguments(Struct, frozen=True):
    """The argument of the editor's command ``memlens.showLine``, which hovers and code lenses carry.

    ``snapshot`` is gone after a restart of the server; ``path`` then still says which file was meant.
    """

    snapshot: str
    path: str
    file: str
    line: int


class LineTargetsParams(Struct, frozen=True):
    """A line of a document here, counted from 1, as it is in the editor now."""

    document: Document
    line: Line


class LineTargetsResult(Struct, frozen=True):
    """What to show for the line, one for each open snapshot that has it in a stack."""

    targets: list[ShowLineArguments]


class SourcesChangedParams(Struct, frozen=True):
    """Server to client: paths of snapshots now mean other local files than before."""


CLIENT_REQUESTS: Requests = {"memlens/findFiles": (FindFilesParams, FindFilesResult)}

NOTIFICATIONS: dict[str, type[Struct]] = {"memlens/sourcesChanged": SourcesChangedParams}

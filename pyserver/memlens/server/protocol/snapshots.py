"""Opening and closing snapshots, and what the server reports about them."""

from typing import Literal

from msgspec import Struct

from memlens.model.info import SnapshotInfo


class OpenParams(Struct, frozen=True):
    """Open a snapshot file for one view. ``view`` is the caller's own name for that view, unique while open.

    Cancelling this request ends the ingest. Progress comes as ``memlens/progress`` notifications with that
    ``view``.
    """

    path: str
    view: str


class HeapFormat(Struct, frozen=True, kw_only=True):
    """What the views need to know of a heap dump's format."""

    label: str
    """What its makers call it."""
    has_values: bool
    """Whether dumps have values of objects, which a copy can be without."""
    has_lasting_ids: bool
    """Whether an object's id is a number that no other object ever gets, and no address."""
    has_static_fields: bool
    """Whether what a class holds is found by the class's own name."""
    source_kinds: list[str]
    """The kinds of types that source defines, where objects come with its lines; else source is found by types."""
    classes: list[str]
    """Types of the objects that are classes, which are called by their names."""
    named_types: list[str]
    """Types of the objects that have names of the program's own: those of others are what objects contain."""
    all_roots: list[str]
    """Types of the objects without a name that stand for all roots."""
    common_flags: list[str]
    """Flags that most objects have."""


class OpenResult(Struct, frozen=True):
    """``snapshot`` names the snapshot in other requests; the same file has the same name for each view."""

    snapshot: str
    info: SnapshotInfo
    heap: HeapFormat | None
    """Of heap dumps."""


class CloseParams(Struct, frozen=True):
    """A view was closed. With the last view of a snapshot its maps, files and database are released at once."""

    snapshot: str
    view: str


class FileStateParams(Struct, frozen=True):
    """Whether the file at ``path`` is still the one that the snapshot was made from. Its content isn't read."""

    snapshot: str
    path: str


class FileStateResult(Struct, frozen=True):
    """``changed``: another size, modification time or path. ``gone``: the file doesn't exist or can't be read."""

    state: Literal["same", "changed", "gone"]


class ProgressParams(Struct, frozen=True):
    """The progress of reading a snapshot. ``fraction`` is of the whole work, None if that isn't known."""

    view: str
    stage: str
    fraction: float | None


class SnapshotsChangedParams(Struct, frozen=True):
    """Server to client: the open snapshots changed, so totals shown in source files may have as well."""

    open: int


class DamagedParams(Struct, frozen=True):
    """Server to client: the stored copy of a snapshot was found damaged on disk; ``message`` says so in a sentence.

    With ``again`` the snapshot is closed, and its views open their file again. Otherwise the file isn't there to be
    read again, and the snapshot stays open as it is.
    """

    snapshot: str
    message: str
    again: bool


class RelabelledParams(Struct, frozen=True):
    """Server to client: another setting now decides whose code a snapshot's frames are, so views ask anew.

    Its new name is ``now``; requests may still use the former one.
    """

    snapshot: str
    now: str


NOTIFICATIONS: dict[str, type[Struct]] = {
    "memlens/progress": ProgressParams,
    "memlens/snapshotsChanged": SnapshotsChangedParams,
    "memlens/damaged": DamagedParams,
    "memlens/relabelled": RelabelledParams,
}

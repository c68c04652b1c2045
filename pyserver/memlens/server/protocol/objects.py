"""From objects and types of heap dumps to their source."""

from msgspec import Struct

from memlens.server.protocol.base import Count, Line
from memlens.server.protocol.libraries import DeclaredType
from memlens.server.protocol.sources import ChangedLine
from memlens.sources.binding import How
from memlens.views.heap.objects.sources import Relation


class ObjectSourceParams(Struct, frozen=True):
    """Where the source of an object or, if that is None, of a type is on this machine; both by their numbers.

    If both are None, that of a type or field by its name (``declared`` of frames and groups).
    """

    snapshot: str
    object: Count | None = None
    type: Count | None = None
    declared: str = ""


class ObjectSourceResult(Struct, frozen=True):
    """``path`` is set when one file is meant, and can be opened at ``line``; else ``candidates`` are equally good.

    ``relation`` says what the line is: that of the definition of the object or its class, or the one that allocated it.
    With "type" the dump has only the type's name, and the line is that of a declaration of that name found here. With
    "none" nothing is known. ``declared`` is set for a type that sources outside the workspace may declare, if nothing
    was found. ``file`` is the dump's own path, for which ``memlens/remember`` remembers a choice; empty
    where it has none. ``looked_for`` lists what was looked for and where, for the message when nothing was found.
    ``how``, ``line`` and ``changed`` are as those of ``memlens/source``.
    """

    relation: Relation
    path: str | None
    line: int
    candidates: list[str]
    file: str
    function: str
    type: str
    how: How
    looked_for: list[str]
    changed: ChangedLine | None
    declared: DeclaredType | None = None


class HeapAtParams(Struct, frozen=True):
    """The definitions on a line of source, in a heap dump. ``file`` is as the dump spells it, or a path here."""

    snapshot: str
    file: str
    line: Line


class HeapAtResult(Struct, frozen=True):
    """The number of the type that is defined there, else a filter for types of its name or closures of the function."""

    type: int | None
    filter: str | None

"""From types of heap dumps to source outside the workspace: that of libraries, and what language extensions know."""

from msgspec import Struct

from memlens.server.protocol.base import Line


class DeclaredType(Struct, frozen=True):
    """A type that a source can declare, in a language as a pack calls it.

    ``symbol`` is the full name of the outermost type around it, with dots.
    """

    language: str
    symbol: str


class TypeParams(Struct, frozen=True):
    """A type by its name in a dump."""

    snapshot: str
    type: str


class LibrarySource(Struct, frozen=True):
    """A file in an archive that declares the type.

    ``archive`` is an absolute path, ``member`` a path in it. The line is that of the text.
    """

    archive: str
    member: str
    line: Line


class LocalSource(Struct, frozen=True):
    """A file of the workspace that a class says it was compiled from, and its first line with code."""

    path: str
    line: Line


class LibrarySourceResult(Struct, frozen=True):
    """``found`` is set when one archive is meant; else ``candidates`` are the equally good ones, the newest first.

    ``artifact`` is what ``memlens/remember`` remembers the choice of an archive by. ``looked_for`` says in which
    archives the type was searched for.
    """

    found: LibrarySource | None
    candidates: list[str]
    artifact: str
    looked_for: str


class LibraryClassResult(Struct, frozen=True):
    """``looked_for`` says in which archives a class file of the type was searched for if it leads to no file."""

    local: LocalSource | None
    looked_for: str


class ArchivedTextParams(Struct, frozen=True):
    """A source file in an archive."""

    archive: str
    member: str


class ArchivedTextResult(Struct, frozen=True):
    """Its text, which may be cut short."""

    text: str


class DeclarationParams(Struct, frozen=True):
    """A type by its name in a dump, and a text that may declare it."""

    snapshot: str
    type: str
    text: str


class DeclarationResult(Struct, frozen=True):
    """The line that declares it, counted from 1; 0 if none does."""

    line: Line


class LibrariesChangedParams(Struct, frozen=True):
    """A build tool has downloaded sources or classes, which the next search must see."""

"""Bookmarks: places in a snapshot that the user has marked, each with a note."""

from msgspec import Struct

from memlens.store.bookmarks import Note, Place


class BookmarksParams(Struct, frozen=True):
    """All bookmarks of a snapshot."""

    snapshot: str


class AddBookmarkParams(Struct, frozen=True):
    """A note for a place."""

    snapshot: str
    place: Place
    note: Note


class RenameBookmarkParams(Struct, frozen=True):
    """A new note for a bookmark, given by its number."""

    snapshot: str
    bookmark: int
    note: Note


class DeleteBookmarkParams(Struct, frozen=True):
    """A bookmark to remove, given by its number."""

    snapshot: str
    bookmark: int

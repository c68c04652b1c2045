"""Bookmarks: moments of a trace that the user has marked, each with a note."""

from msgspec import Struct

from memlens.server.protocol.base import Count, Requests
from memlens.store.bookmarks import Note
from memlens.views.trace.bookmarks import BookmarksAnswer


class BookmarksParams(Struct, frozen=True):
    """All bookmarks of a snapshot."""

    snapshot: str


class AddBookmarkParams(Struct, frozen=True):
    """A moment of a device, and the allocation that is selected there, if any."""

    snapshot: str
    device: int
    moment: Count
    allocation: Count | None
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


REQUESTS: Requests = {
    "memlens/bookmarks": (BookmarksParams, BookmarksAnswer),
    "memlens/addBookmark": (AddBookmarkParams, BookmarksAnswer),
    "memlens/renameBookmark": (RenameBookmarkParams, BookmarksAnswer),
    "memlens/deleteBookmark": (DeleteBookmarkParams, BookmarksAnswer),
}

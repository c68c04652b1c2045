"""Requests that list bookmarks and change them."""

from memlens.server.protocol.bookmarks import (
    AddBookmarkParams,
    BookmarksParams,
    DeleteBookmarkParams,
    RenameBookmarkParams,
)
from memlens.server.wire import Questions
from memlens.store.snapshot import Snapshot
from memlens.views.trace import bookmarks
from memlens.views.trace.bookmarks import BookmarksAnswer


def _bookmarks(snapshot: Snapshot, _p: BookmarksParams) -> BookmarksAnswer:
    return bookmarks.bookmarks(snapshot)


def _add(snapshot: Snapshot, p: AddBookmarkParams) -> BookmarksAnswer:
    return bookmarks.add_bookmark(snapshot, p.device, p.moment, p.allocation, p.note)


def _rename(snapshot: Snapshot, p: RenameBookmarkParams) -> BookmarksAnswer:
    return bookmarks.rename_bookmark(snapshot, p.bookmark, p.note)


def _delete(snapshot: Snapshot, p: DeleteBookmarkParams) -> BookmarksAnswer:
    return bookmarks.delete_bookmark(snapshot, p.bookmark)


QUESTIONS: Questions = {
    "memlens/bookmarks": _bookmarks,
    "memlens/addBookmark": _add,
    "memlens/renameBookmark": _rename,
    "memlens/deleteBookmark": _delete,
}

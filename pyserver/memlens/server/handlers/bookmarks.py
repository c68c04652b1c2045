"""Requests that list bookmarks and change them."""

from memlens.server.protocol.base import Done
from memlens.server.protocol.bookmarks import (
    AddBookmarkParams,
    BookmarksParams,
    DeleteBookmarkParams,
    RenameBookmarkParams,
)
from memlens.server.wire import Questions
from memlens.store import bookmarks as kept
from memlens.store.snapshot import Snapshot
from memlens.views.bookmarks import add_bookmark
from memlens.views.graph.bookmarks import HeapBookmarksAnswer, heap_bookmarks
from memlens.views.trace.bookmarks import BookmarksAnswer, bookmarks


def _bookmarks(snapshot: Snapshot, _p: BookmarksParams) -> BookmarksAnswer:
    return bookmarks(snapshot)


def _heap_bookmarks(snapshot: Snapshot, _p: BookmarksParams) -> HeapBookmarksAnswer:
    return heap_bookmarks(snapshot)


def _add(snapshot: Snapshot, p: AddBookmarkParams) -> Done:
    add_bookmark(snapshot, p.place, p.note)
    return Done()


def _rename(snapshot: Snapshot, p: RenameBookmarkParams) -> Done:
    kept.rename_bookmark(snapshot, p.bookmark, p.note)
    return Done()


def _delete(snapshot: Snapshot, p: DeleteBookmarkParams) -> Done:
    kept.delete_bookmark(snapshot, p.bookmark)
    return Done()


QUESTIONS: Questions = {
    "memlens/bookmarks": _bookmarks,
    "memlens/heapBookmarks": _heap_bookmarks,
    "memlens/addBookmark": _add,
    "memlens/renameBookmark": _rename,
    "memlens/deleteBookmark": _delete,
}

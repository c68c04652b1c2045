"""Requests that list bookmarks and change them."""

from memlens.server.protocol.base import Done
from memlens.server.protocol.bookmarks import (
    AddBookmarkParams,
    BookmarksParams,
    DeleteBookmarkParams,
    RenameBookmarkParams,
)
from memlens.server.questions import Cost, question
from memlens.store import bookmarks as kept
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.bookmarks import add_bookmark
from memlens.views.heap.dominators.trees import is_group_of_paths
from memlens.views.heap.listing.bookmarks import HeapBookmarksAnswer, heap_bookmarks
from memlens.views.trace.bookmarks import BookmarksAnswer, bookmarks


def _has_groups_of_paths(snapshot: Snapshot) -> bool:
    return any(is_group_of_paths(getattr(each.place, "group", None)) for each in kept.bookmarks(snapshot))


_OF_BOOKMARKS = Cost(needs_paths=lambda _: True, shows_paths=_has_groups_of_paths)


@question("memlens/bookmarks", name=phrase("the list of bookmarks"), cost=_OF_BOOKMARKS)
def _bookmarks(snapshot: Snapshot, _p: BookmarksParams) -> BookmarksAnswer:
    return bookmarks(snapshot)


@question("memlens/heapBookmarks", name=phrase("the list of bookmarks"), cost=_OF_BOOKMARKS)
def _heap_bookmarks(snapshot: Snapshot, _p: BookmarksParams) -> HeapBookmarksAnswer:
    return heap_bookmarks(snapshot)


@question(
    "memlens/addBookmark",
    name=phrase("the list of bookmarks"),
    cost=Cost(needs_paths=lambda p: is_group_of_paths(getattr(p.place, "group", None))),
)
def _add(snapshot: Snapshot, p: AddBookmarkParams) -> Done:
    add_bookmark(snapshot, p.place, p.note)
    return Done()


@question("memlens/renameBookmark", name=phrase("the list of bookmarks"))
def _rename(snapshot: Snapshot, p: RenameBookmarkParams) -> Done:
    kept.rename_bookmark(snapshot, p.bookmark, p.note)
    return Done()


@question("memlens/deleteBookmark", name=phrase("the list of bookmarks"))
def _delete(snapshot: Snapshot, p: DeleteBookmarkParams) -> Done:
    kept.delete_bookmark(snapshot, p.bookmark)
    return Done()

"""Requests that list bookmarks and change them."""

from memlens.server.protocol.base import Done
from memlens.server.questions import Cost, question
from memlens.store import bookmarks as kept
from memlens.store.bookmarks import Note, Place
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
def _bookmarks(snapshot: Snapshot) -> BookmarksAnswer:
    """All bookmarks of a snapshot."""
    return bookmarks(snapshot)


@question("memlens/heapBookmarks", name=phrase("the list of bookmarks"), cost=_OF_BOOKMARKS)
def _heap_bookmarks(snapshot: Snapshot) -> HeapBookmarksAnswer:
    """All bookmarks of a snapshot."""
    return heap_bookmarks(snapshot)


@question(
    "memlens/addBookmark",
    name=phrase("the list of bookmarks"),
    cost=Cost(needs_paths=lambda p: is_group_of_paths(getattr(p.place, "group", None))),
)
def _add(snapshot: Snapshot, *, place: Place, note: Note) -> Done:
    """A note for a place."""
    add_bookmark(snapshot, place, note)
    return Done()


@question("memlens/renameBookmark", name=phrase("the list of bookmarks"))
def _rename(snapshot: Snapshot, *, bookmark: int, note: Note) -> Done:
    """A new note for a bookmark, given by its number."""
    kept.rename_bookmark(snapshot, bookmark, note)
    return Done()


@question("memlens/deleteBookmark", name=phrase("the list of bookmarks"))
def _delete(snapshot: Snapshot, *, bookmark: int) -> Done:
    """A bookmark to remove, given by its number."""
    kept.delete_bookmark(snapshot, bookmark)
    return Done()

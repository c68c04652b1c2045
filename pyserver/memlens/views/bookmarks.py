"""Adding a bookmark to a snapshot of any model."""

from memlens.store import bookmarks as kept
from memlens.store.bookmarks import MomentPlace, Place
from memlens.store.snapshot import Snapshot
from memlens.views.heap.listing import bookmarks as heap
from memlens.views.trace import bookmarks as trace


def add_bookmark(snapshot: Snapshot, place: Place, note: str) -> None:
    """Add a bookmark. Raises BadRequestError for a place that the snapshot doesn't have, as another model's, and what
    :func:`kept.add_bookmark` does.
    """
    if isinstance(place, MomentPlace):
        trace.check_place(snapshot, place)
    else:
        heap.check_place(snapshot, place)
    kept.add_bookmark(snapshot, place, note)

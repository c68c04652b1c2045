"""The types of a heap dump, and how it differs from another."""

from memlens.store.snapshot import Snapshot
from memlens.views.heap.listing.lists import HeapOrder, heap_types
from memlens.views.heap.objects import types as whole
from memlens.views.heap.objects.rows import MOST_ROWS
from memlens.views.heap.objects.types import TypeOrder, TypesAnswer
from memlens.views.selection.terms import quoted


def types(
    snapshot: Snapshot,
    order: TypeOrder = "retained",
    *,
    filter_: str = "",
    search: str = "",
    since: float | None = None,
    until: float | None = None,
    top: int = MOST_ROWS,
) -> TypesAnswer:
    """The ``top`` types of the objects that match a filter, whose names contain all words of ``search``.

    ``since`` and ``until`` are seconds of a recording, between which objects were allocated.
    """
    top = min(top, MOST_ROWS)
    if since is None and until is None and not filter_.strip():
        return whole.types(snapshot, order, search, 0, top)
    terms = [filter_, *(f"type:{quoted(word)}" for word in search.split())]
    if since is not None:
        terms.append(f"since:{since:g}")
    if until is not None:
        terms.append(f"until:{until:g}")
    as_listed: HeapOrder = "name" if order == "type" else order
    found = heap_types(snapshot, " ".join(terms), as_listed, None, "package", 0, top, reverse=False)
    return TypesAnswer(found.rows, found.offset, found.total, found.objects, found.shallow_bytes)

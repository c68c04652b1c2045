"""Bookmarks of a heap dump for display, with names and bytes."""

import contextlib

import numpy as np
from msgspec import Struct

from memlens.errors import BadRequestError
from memlens.store import bookmarks as kept
from memlens.store.bookmarks import Bookmark, GroupPlace, HeapPlace, MomentPlace, ObjectPlace, TypePlace
from memlens.store.models import graph_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, as_text
from memlens.views.heap.dominators.group_nodes import group_nodes
from memlens.views.heap.dominators.trees import located
from memlens.views.heap.objects.rows import ObjectRow, check_object, id_text, object_rows
from memlens.views.heap.objects.types import instances


class HeapBookmark(Struct, frozen=True):
    """A bookmark and its subject: ``object`` for an object, else the ``name`` of a type or a group."""

    bookmark: int
    place: HeapPlace
    note: str
    object: ObjectRow | None
    name: Text
    objects: int
    shallow_bytes: int
    retained_bytes: int | None
    """None for a group of shortest paths, which doesn't retain everything below it."""


class HeapBookmarksAnswer(Struct, frozen=True):
    """All bookmarks of a heap dump, in the order in which they were added."""

    bookmarks: list[HeapBookmark]


def heap_bookmarks(snapshot: Snapshot) -> HeapBookmarksAnswer:
    """The bookmarks of a heap dump. Raises LackingError for another model, and :class:`kept.BookmarksError`."""
    graph_of(snapshot.info)
    found = []
    for each in kept.bookmarks(snapshot):
        if isinstance(each.place, MomentPlace):
            continue
        # people can edit the file, so bookmarks that don't fit this dump are ignored
        with contextlib.suppress(BadRequestError):
            found.append(_shown(snapshot, each, each.place))
    return HeapBookmarksAnswer(found)


def check_place(snapshot: Snapshot, place: HeapPlace) -> None:
    """Raise LackingError for another model, BadRequestError if the dump doesn't have the bookmarked thing."""
    graph_of(snapshot.info)
    _shown(snapshot, Bookmark(0, place, ""), place)


def _shown(snapshot: Snapshot, one: Bookmark, place: HeapPlace) -> HeapBookmark:
    """Raises BadRequestError."""
    figures: tuple[int, int, int | None]
    match place:
        case ObjectPlace():
            (row,) = object_rows(snapshot, [check_object(snapshot, place.object)])
            name, figures = as_text(row.type), (1, row.shallow_bytes, row.retained_bytes)
            return HeapBookmark(one.bookmark, place, one.note, row, name, *figures)
        case TypePlace():
            kind = instances(snapshot, place.kind, limit=1).type
            name, figures = as_text(kind.type), (kind.count, kind.shallow_bytes, kind.retained_bytes)
        case GroupPlace():
            form, number = located(snapshot, place.group)
            (node,) = group_nodes(snapshot, np.array([number]), form)
            retained = node.total_bytes if form.tree == "dominators" else None
            name, figures = node.type, (node.objects, node.shallow_bytes, retained)
    return HeapBookmark(one.bookmark, place, one.note, None, name, *figures)


def heap_bookmark_name(one: HeapBookmark, kind: str) -> str:
    """Return a bookmark's name in a dump of a ``kind``: "Map @66357", "type Session", "group of 40 Session"."""
    if one.object is not None:
        return f"{one.object.type} {id_text(one.object.id, kind)}"
    if isinstance(one.place, TypePlace):
        return f"type {one.name.text}"
    return f"group of {one.objects:,} {one.name.text}" if one.objects else one.name.text

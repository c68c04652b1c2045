"""Why objects are roots."""

import numpy as np
from msgspec import Struct

from memlens.arrays import U32
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.views.heap.objects.fields import MOST_NAME

MOST_LISTED = 1_000
"""Limit on listed reasons and fields of an object; objects of real programs have a few."""


class RootRow(Struct, frozen=True):
    """A reason why an object is a root."""

    kind: str
    detail: str
    file: str | None
    line: int | None


def roots_of(snapshot: Snapshot, number: int) -> tuple[list[RootRow], int]:
    """Return the distinct reasons why an object is a root, threads first, and their number.

    Beyond ``MOST_LISTED`` the rest is only counted, and may contain duplicates.
    """
    rows, kinds = snapshot.objects.roots, snapshot.graph_names.root_kinds
    own = rows[_objects_of_roots(snapshot) == number]
    is_thread = np.array([kind == "thread" for kind in kinds], np.bool_)[own["kind"]]
    listed = own[np.argsort(~is_thread, kind="stable")[:MOST_LISTED]]
    known = len(snapshot.frames)
    places = snapshot.frames.rows(frame for frame in listed["frame"].tolist() if frame < known)
    found: dict[RootRow, None] = {}
    for _, kind, detail, frame in listed.tolist():
        file, line, _, _ = places.get(frame, ("", 0, "", 0))
        root = RootRow(
            kinds[kind], snapshot.strings.head(detail, MOST_NAME), file or None, line if line > 0 else None
        )
        found[root] = None
    return list(found), len(own) - len(listed) + len(found)


@kept
def _objects_of_roots(snapshot: Snapshot) -> U32:
    """Return the objects as a contiguous column, which NumPy searches several times as fast as the table of roots."""
    return np.ascontiguousarray(snapshot.objects.roots["object"])

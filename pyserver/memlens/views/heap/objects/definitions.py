"""Definitions of types, as far as the file has those of their objects."""

from collections.abc import Iterable

import numpy as np

from memlens.kernels.graph import tree as kernel
from memlens.model.frames import INFERRED
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot

Definition = tuple[str, int | None]
"""A file and a line; the line is None if only the file is known, inferred from a class name."""


def places_of(snapshot: Snapshot, frames: Iterable[int]) -> dict[int, Definition]:
    """Return the places of those frames that have a file and a line."""
    source, found = snapshot.frames.source, dict[int, Definition]()
    for frame, (file, line, _, _) in snapshot.frames.rows(frames).items():
        if file and line > 0:
            found[frame] = file, None if int(source[frame]) == INFERRED else line
    return found


@kept
def places_of_types(snapshot: Snapshot) -> dict[int, Definition]:
    """Return the places where types are defined, if known; see :func:`frames_of_types`."""
    known = frames_of_types(snapshot)
    places = places_of(snapshot, known.values())
    return {kind: places[frame] for kind, frame in known.items() if frame in places}


@kept
def frames_of_types(snapshot: Snapshot) -> dict[int, int]:
    """Return the frame of each type's definition: that of its class object, else the one that all its objects share.

    The type of functions has none, as each function is defined elsewhere.
    """
    places, classes = snapshot.objects.places, snapshot.types.object
    if not len(places):
        return {}
    of_type = np.empty(len(snapshot.types.name), np.uint32)
    kernel.frames_alike(places.view(np.uint32).reshape(-1, 2), snapshot.objects.type, of_type)
    kinds = np.flatnonzero(of_type != NEVER)
    known: dict[int, int] = dict(zip(kinds.tolist(), of_type[kinds].tolist(), strict=True))
    if classes is not None:
        at = np.minimum(np.searchsorted(places["object"], classes), len(places) - 1)
        own = np.flatnonzero(places["object"][at] == classes)
        known |= dict(zip(own.tolist(), places["frame"][at[own]].tolist(), strict=True))
    return known

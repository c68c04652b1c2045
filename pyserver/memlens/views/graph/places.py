"""Where types are defined, where the file has that of their objects."""

import numpy as np

from memlens.kernels.graph import tree as kernel
from memlens.model.timeline import NEVER
from memlens.store.snapshot import Snapshot


def places_of_types(snapshot: Snapshot) -> dict[int, tuple[str, int]]:
    """File and line by type, as far as they have any: :func:`frames_of_types` in words."""

    def make() -> dict[int, tuple[str, int]]:
        known = frames_of_types(snapshot)
        rows = snapshot.frames.rows(known.values())
        return {kind: (rows[frame][0], rows[frame][1]) for kind, frame in known.items() if rows[frame][1] > 0}

    return snapshot.keep("places of types", make)


def frames_of_types(snapshot: Snapshot) -> dict[int, int]:
    """The frame of a type's definition: that of its class object, else the one that all its objects have alike.

    Of functions each is defined somewhere else, so that their type has no place.
    """

    def make() -> dict[int, int]:
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

    return snapshot.keep("frames of types", make)

"""Where types are defined, where the file has that of their objects."""

import numpy as np

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
        types, frames = snapshot.objects.type[places["object"]], places["frame"]
        # the last one of each type, which is all of them unless one differs
        of_type = np.full(len(snapshot.types.name), NEVER, np.uint32)
        of_type[types] = frames
        of_type[types[of_type[types] != frames]] = NEVER
        kinds = np.flatnonzero(of_type != NEVER)
        known: dict[int, int] = dict(zip(kinds.tolist(), of_type[kinds].tolist(), strict=True))
        if classes is not None:
            at = np.minimum(np.searchsorted(places["object"], classes), len(places) - 1)
            own = np.flatnonzero(places["object"][at] == classes)
            known |= dict(zip(own.tolist(), frames[at[own]].tolist(), strict=True))
        return known

    return snapshot.keep("frames of types", make)

"""The requests of the pane of what would have happened."""

from memlens.errors import BadRequestError
from memlens.server.questions import LONG, question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import Axis
from memlens.views.trace import what_if_words as words
from memlens.views.trace.how_large import at_least
from memlens.views.trace.how_large_words import AtLeastAnswer, at_least_said
from memlens.views.trace.what_if import Changes, Curves, as_if, what_if
from memlens.views.trace.what_if_words import WhatIfAnswer

COLUMNS = 512
"""Of the curves."""
MOST_SIZE, MOST_BYTES = 1 << 40, 1 << 50


@question("memlens/whatIf", name=phrase("what would have happened"), cost=LONG)
def _what_if(
    snapshot: Snapshot,
    *,
    device: int,
    axis: Axis,
    changes: Changes,
) -> WhatIfAnswer:
    """A device's trace, replayed with changes of what filters match, and with settings that may help."""
    return words.said(what_if(snapshot, device, changes=changes, helpful=True, columns=COLUMNS, axis=axis))


@question("memlens/asIf", name=phrase("what would have happened"), cost=LONG)
def _as_if(snapshot: Snapshot, *, device: int, axis: Axis, changes: Changes) -> Curves:
    """What would have been live with changes, which is known before replays are."""
    return as_if(snapshot, device, changes, COLUMNS, axis)


@question("memlens/howLarge", name=phrase("how large it may be"), cost=LONG)
def _how_large(snapshot: Snapshot, *, device: int, size: int, capacity_bytes: int | None) -> AtLeastAnswer:
    """The largest size that certainly fits, by a device's trace of a ``size``."""
    if not 0 < size <= MOST_SIZE or (capacity_bytes is not None and not 0 < capacity_bytes <= MOST_BYTES):
        raise BadRequestError(phrase("A size is a number from 1 on"))
    found = at_least(snapshot, device, size, capacity_bytes)
    return AtLeastAnswer(found, list(at_least_said(found)))

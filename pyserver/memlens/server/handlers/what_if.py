"""The requests of the pane of what would have happened."""

from memlens.server.questions import LONG, question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.answers import Axis
from memlens.views.selection.changes import Changes
from memlens.views.trace import what_if_words as words
from memlens.views.trace.how_large import Capacity, Size, at_least
from memlens.views.trace.how_large_words import AtLeastAnswer, at_least_said
from memlens.views.trace.what_if import what_if
from memlens.views.trace.what_if_words import WhatIfAnswer

COLUMNS = 512
"""Of the curves."""


@question("memlens/whatIf", name=phrase("what would have happened"), cost=LONG)
def _what_if(
    snapshot: Snapshot,
    *,
    device: int,
    axis: Axis,
    changes: Changes,
    capacity_bytes: Capacity | None = None,
) -> WhatIfAnswer:
    """A device's trace, replayed with changes of what filters match, and with settings that may help.

    ``capacity_bytes`` None is what the first out-of-memory event says.
    """
    found = what_if(
        snapshot,
        device,
        changes=changes,
        capacity_bytes=capacity_bytes,
        helpful=True,
        columns=COLUMNS,
        axis=axis,
    )
    return words.said(found)


@question("memlens/howLarge", name=phrase("how large it may be"), cost=LONG)
def _how_large(
    snapshot: Snapshot, *, device: int, size: Size, capacity_bytes: Capacity | None
) -> AtLeastAnswer:
    """The largest size that certainly fits, by a device's trace of a ``size``."""
    found = at_least(snapshot, device, size, capacity_bytes)
    return AtLeastAnswer(found, list(at_least_said(found)))

"""The request of the pane of what would have happened."""

from memlens.server.questions import LONG, question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.trace import what_if_words as words
from memlens.views.trace.what_if import Changes, what_if
from memlens.views.trace.what_if_words import WhatIfAnswer

COLUMNS = 240
"""Of the curves."""


@question("memlens/whatIf", name=phrase("what would have happened"), cost=LONG)
def _what_if(
    snapshot: Snapshot,
    *,
    device: int,
    changes: Changes,
) -> WhatIfAnswer:
    """A device's trace, replayed with changes of what filters match, and with settings that may help."""
    return words.said(what_if(snapshot, device, changes=changes, helpful=True, columns=COLUMNS))

"""The request of the pane of what would have happened."""

from typing import Annotated

from msgspec import Meta

from memlens.server.questions import LONG, question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.trace import what_if_words as words
from memlens.views.trace.what_if import what_if
from memlens.views.trace.what_if_words import WhatIfAnswer

MOST_FILTERS = 64


@question("memlens/whatIf", name=phrase("what would have happened"), cost=LONG)
def _what_if(
    snapshot: Snapshot,
    *,
    device: int,
    without: Annotated[list[str], Meta(max_length=MOST_FILTERS)],
) -> WhatIfAnswer:
    """A device's trace, replayed without what any filter of ``without`` matches, and with settings that may help."""
    return words.said(what_if(snapshot, device, without=without, helpful=True))

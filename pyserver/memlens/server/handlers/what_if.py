"""The request of the pane of what would have happened."""

from typing import Annotated

from msgspec import Meta

from memlens.server.questions import LONG, question
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.trace import what_if_words as words
from memlens.views.trace.what_if import MOST_SETTINGS, what_if
from memlens.views.trace.what_if_words import WhatIfAnswer

MOST_FILTERS = 64


@question("memlens/whatIf", name=phrase("what would have happened"), cost=LONG)
def _what_if(
    snapshot: Snapshot,
    *,
    device: int,
    settings: Annotated[list[str], Meta(max_length=MOST_SETTINGS)],
    without: Annotated[list[str], Meta(max_length=MOST_FILTERS)],
) -> WhatIfAnswer:
    """A device's trace, replayed with each of ``settings`` without what any filter of ``without`` matches.

    Without both, some settings that may help are tried.
    """
    return words.said(what_if(snapshot, device, settings=settings, without=without))

"""How hot the hottest line of a snapshot is, against which others are measured."""

from typing import NamedTuple

from memlens.store.snapshot import Snapshot
from memlens.store.totals import line_totals


class Most(NamedTuple):
    """The most that any line of a snapshot comes to, with what it calls; bytes."""

    live_at_peak_bytes: int
    total_bytes: int


def most(snapshot: Snapshot) -> Most:
    """The hottest line's figures, against which others are measured."""
    totals = line_totals(snapshot)
    return Most(*(int(totals[:, figure].max()) if len(totals) else 0 for figure in (2, 0)))

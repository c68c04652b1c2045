"""The figures of a snapshot's hottest line, relative to which the heat of others is computed."""

from typing import NamedTuple

from memlens.store.snapshot import Snapshot
from memlens.store.totals import line_totals


class Most(NamedTuple):
    """The largest inclusive figures of any line of a snapshot, in bytes."""

    live_at_peak_bytes: int
    total_bytes: int


def most(snapshot: Snapshot) -> Most:
    """The figures of the hottest line."""
    totals = line_totals(snapshot)
    return Most(*(int(totals[:, figure].max()) if len(totals) else 0 for figure in (2, 0)))

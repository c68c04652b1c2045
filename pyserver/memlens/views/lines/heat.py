"""How hot the hottest line of a snapshot is, against which others are measured."""

from typing import NamedTuple

from memlens.store.snapshot import Snapshot


class Most(NamedTuple):
    """The most that any line of a snapshot comes to, with what it calls; bytes."""

    live_at_peak_bytes: int
    total_bytes: int


def most(snapshot: Snapshot) -> Most:
    """The hottest line's figures, against which others are measured."""
    query = "SELECT coalesce(max(live_at_peak_bytes), 0), coalesce(max(total_bytes), 0) FROM source_lines"
    return Most(*snapshot.text.execute(query).get)

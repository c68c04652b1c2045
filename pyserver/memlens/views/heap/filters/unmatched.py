"""Explains why a filter matches no object of a heap dump."""

from collections.abc import Sequence
from typing import assert_never

from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo
from memlens.store.snapshot import Snapshot
from memlens.views.heap.filters.filters import checked_terms, chosen
from memlens.views.heap.filters.terms import TERMS
from memlens.views.selection.terms import Term
from memlens.views.selection.unmatched import check_matches, unmatched


def check_filter(snapshot: Snapshot, text: str, devices: Sequence[int] = ()) -> None:
    """Raise :class:`~memlens.views.selection.unmatched.NothingMatchesError` if nothing matches a filter.

    ``devices`` are those of a trace that are asked about; empty for all.
    """
    match snapshot.info:
        case TimelineInfo() | ProfileInfo():
            check_matches(snapshot, text, devices)
        case GraphInfo():
            check_objects_match(snapshot, text)
        case _:
            assert_never(snapshot.info)


def check_objects_match(snapshot: Snapshot, text: str) -> None:
    """Raise :class:`~memlens.views.selection.unmatched.NothingMatchesError` if no object matches a filter."""
    terms = checked_terms(snapshot, text)

    def count(some: Sequence[Term]) -> int:
        found = chosen(snapshot, " ".join(map(str, some)))
        return len(snapshot.objects.type) if found is None else int(found.mask(snapshot).sum())

    if len(snapshot.objects.type) and not count(terms):
        raise unmatched(text, terms, count, lambda term: TERMS[term.field].hint(snapshot, term))

"""What to say of a filter that matches nothing: which of its terms do, and what would match instead."""

from collections.abc import Callable, Sequence
from typing import assert_never

from memlens.errors import BadRequestError
from memlens.model.info import GraphInfo, ProfileInfo, TimelineInfo, device_phrase
from memlens.store.models import timeline_of
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, in_a_row, phrase
from memlens.units import plain_name
from memlens.views.selection import filters
from memlens.views.selection.columns import device_of
from memlens.views.selection.profile_filters import matching as samples_matching
from memlens.views.selection.terms import Term


class NothingMatchesError(BadRequestError):
    """A filter that matches nothing, with what would match."""

    code = "nothing-matches"


def check_matches(snapshot: Snapshot, text: str, devices: Sequence[int] = ()) -> None:
    """Raise :class:`NothingMatchesError` if no allocation or sample matches a filter.

    ``devices`` are those of a trace that are asked about; empty for all.
    """
    terms = filters.parse(text)
    match snapshot.info:
        case TimelineInfo():
            _check_trace(snapshot, text, terms, devices)
        case ProfileInfo():

            def count(some: Sequence[Term]) -> int:
                return int(samples_matching(snapshot, " ".join(map(str, some))).sum())

            if snapshot.profile.samples and not count(terms):
                raise unmatched(
                    text, terms, count, lambda term: filters.TERMS[term.field].of_sample(snapshot, term)
                )
        case GraphInfo():
            # the filter of objects says it: memlens.views.heap.filters.unmatched
            pass
        case _:
            assert_never(snapshot.info)


def _check_trace(snapshot: Snapshot, text: str, terms: list[Term], devices: Sequence[int]) -> None:
    every = [each.device for each in timeline_of(snapshot.info, "events").devices if each.allocations]
    asked = [number for number in every if not devices or number in devices]

    def count(some: Sequence[Term], of: Sequence[int] = asked) -> int:
        return sum(device_of(snapshot, number, " ".join(map(str, some))).info.allocations for number in of)

    if not asked or count(terms):
        return
    elsewhere = [number for number in every if number not in asked and count(terms, [number])]
    if elsewhere:
        raise NothingMatchesError(
            phrase("Nothing on {device} matches {filter}", device=device_phrase(asked[0]), filter=text),
            advice=phrase(
                "It matches allocations of {device}: choose that by its number, {n}.",
                device=device_phrase(elsewhere[0]),
                n=str(elsewhere[0]),
            ),
        )
    device = snapshot.device(asked[0])
    raise unmatched(text, terms, count, lambda term: filters.TERMS[term.field].hint(snapshot, device, term))


def unmatched(
    text: str,
    terms: Sequence[Term],
    count: Callable[[Sequence[Term]], int],
    hint: Callable[[Term], Text | None],
) -> NothingMatchesError:
    """The error for a filter that matches nothing, with values that would match its first term that does not."""
    said = plain_name(text.strip())
    counts = [count([term]) for term in terms]
    for term, found in zip(terms, counts, strict=True):
        if not found:
            message = (
                phrase("Nothing matches {filter}", filter=said)
                if len(terms) == 1
                else phrase(
                    "Nothing matches {filter}: {term} alone matches nothing", filter=said, term=str(term)
                )
            )
            if term.negated:
                return NothingMatchesError(message, advice=phrase("Everything has what it excludes."))
            return NothingMatchesError(message, advice=hint(term))
    each = in_a_row([f"{term} ({n:,})" for term, n in zip(terms, counts, strict=True)], ", ")
    return NothingMatchesError(
        phrase("Nothing matches all of {filter}", filter=said),
        advice=phrase("By itself each term matches some: {counts}.", counts=each),
    )

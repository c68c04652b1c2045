"""Independent holders of a group's objects: several collections that each have all of them."""

import numpy as np

from memlens.model.distinct import counted, distinct
from memlens.model.timeline import NEVER
from memlens.store.objects.walks import dominator_of, dominators_of
from memlens.texts import Text, in_a_row, phrase
from memlens.views.findings.answers import ObjectsLink, TextPart
from memlens.views.findings.graph.case import GraphCase, object_part
from memlens.views.findings.graph.held import held_by
from memlens.views.findings.graph.owners import is_made_up, owner_of, type_of
from memlens.views.findings.writing import linked
from memlens.views.heap.objects.rows import Numbers
from memlens.views.heap.reachable.from_roots import followed

MOST_HOLDERS = 3
_ALL_SHARE = 0.9
"""The share of a group that counts as all of it: some objects may be new, or already removed."""
_MOST_SAMPLED = 2_000
_MOST_REFERRERS = 16
_MOST_CLIMBED = 6
"""The levels between a collection and its elements: an entry is in a table, or below others in a full bucket."""


def holders_of_all(case: GraphCase, members: Numbers, common: int | None) -> list[int]:
    """The numbers of objects that each hold nearly all of some others, directly or in entries.

    ``common``, which dominates them all, is left out. Returns none if there are more than :data:`MOST_HOLDERS`. Only a
    sample of many members is examined, and few referrers of each.
    """
    some = members[:: max(1, len(members) // _MOST_SAMPLED)][:_MOST_SAMPLED].astype(np.int64)
    at, of = _referrers(case, some)
    found: list[int] = []
    for _ in range(_MOST_CLIMBED):
        pairs = distinct(at << 32 | of)
        holders, counts = counted(pairs >> 32)
        everything = holders[counts >= _ALL_SHARE * len(some)]
        found += everything.tolist()
        if len(found) > MOST_HOLDERS:
            return []
        left = ~np.isin(at, everything)
        at, of = dominators_of(case.snapshot.objects, at[left]), of[left]
        inside = (at != NEVER) & (at != (-1 if common is None else common))
        at, of = at[inside], of[inside]
        if not len(at):
            break
    if common in found:
        return []
    # an array has its elements, and so does the collection around it
    within = {number for number in found if _is_below(case, number, found)}
    return [
        number
        for number in found
        if number not in within and not bool(is_made_up(case, np.array([number]))[0])
    ]


def _is_below(case: GraphCase, number: int, others: list[int]) -> bool:
    """True if one of some other objects dominates an object, within a few steps."""
    for _ in range(_MOST_CLIMBED):
        number = dominator_of(case.snapshot.objects, number)
        if number == NEVER or number in others:
            return number != NEVER
    return False


def held_by_several(case: GraphCase, members: Numbers, common: int | None, least: int = 2) -> Text | None:
    """A sentence that names the collections that each have all of a group; None if there are fewer than two."""
    owners = dict.fromkeys(owner_of(case, number) for number in holders_of_all(case, members, common))
    if common in owners or len(owners) < least:
        return None
    *others, last = (_named(case, number) for number in owners)
    if not others:
        return phrase("All of them are held by {holder}, and by other objects as well.", holder=last)
    return phrase(
        "All of them are held by {others} and by {last}: removing them from one alone frees nothing.",
        others=in_a_row(others, ", "), last=last,
    )  # fmt: skip


def holder_of_all(case: GraphCase, members: Numbers) -> TextPart | None:
    """The collection that has all of some objects; None where there is none."""
    found = holders_of_all(case, members, None)
    return _named(case, owner_of(case, found[0])) if found else None


def _named(case: GraphCase, number: int) -> TextPart:
    if type_of(case, number) in case.known.platform.timers:
        name: Text = phrase("{platform}'s timers", platform=case.known.platform.name)
    else:
        name = held_by(case, number) or object_part(case, number)
    return linked(name, objects=ObjectsLink("object", number))


def _referrers(case: GraphCase, members: Numbers) -> tuple[Numbers, Numbers]:
    """The referrers of some objects that aren't dominated by them, and for each the index of its target."""
    stored, objects = case.snapshot.references, case.snapshot.objects
    begins, ends = (stored.referrer_start[members + after].astype(np.int64) for after in (0, 1))
    places = begins[:, np.newaxis] + np.arange(_MOST_REFERRERS)
    there = places < ends[:, np.newaxis]
    rows = places[there]
    of = np.repeat(np.arange(len(members)), there.sum(axis=1))
    sources = stored.referrer[rows].astype(np.int64)
    follows = followed(case.snapshot)[stored.referrer_kind[rows]] != 0
    follows &= (objects.distance[sources] != NEVER) & (objects.dominator[sources] != members[of])
    follows &= sources != members[of]
    return sources[follows], of[follows]

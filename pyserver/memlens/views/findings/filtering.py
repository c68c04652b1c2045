"""The filter term ``finding:`` of heap dumps: the objects of findings with a name."""

import numpy as np

from memlens.arrays import Mask
from memlens.errors import BadRequestError
from memlens.store.snapshot import Snapshot
from memlens.texts import phrase
from memlens.views.findings import table
from memlens.views.findings.ahead import MOST_FINDINGS, findings
from memlens.views.selection.terms import Term
from memlens.views.selection.texts import Pattern


def objects_of(snapshot: Snapshot, term: Term) -> Mask:
    """A mask of the objects in the findings whose title or rule matches one of the term's values.

    A finding's objects are those that its figure measures. Raises :class:`BadRequestError` for a name that no rule has
    and no finding of the dump.
    """
    rules = _rules(snapshot, term)
    mask = np.zeros(len(snapshot.objects.type), np.bool_)
    for each in table.about(snapshot, rules):
        if each.objects is not None:
            mask[each.objects] = True
    return mask


def _rules(snapshot: Snapshot, term: Term) -> set[str]:
    there = findings(snapshot, None, MOST_FINDINGS).findings
    names = [name for each in there for name in each.names]
    chosen: set[str] = set()
    for value in term.values:
        pattern = Pattern(value)
        own = {each.rule for each in names if pattern.matches(each.title) or pattern.matches(each.rule)}
        known = any(map(pattern.matches, table.names_of_rules("graph")))
        if not own and not known:
            titles = dict.fromkeys(each.title for each in names)
            raise BadRequestError(
                phrase("'{term}': the heap dump has no such finding", term=str(term)),
                advice=phrase("It has: {titles}.", titles=", ".join(titles))
                if titles
                else phrase("It has none."),
            )
        chosen |= own
    return chosen

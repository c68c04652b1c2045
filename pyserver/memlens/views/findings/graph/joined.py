"""Merges findings about the same retained bytes: the outermost explains them, the others are its evidence.

An array that retains nearly everything and the variables of closures that hold this array are one thing to mend. A
finding within another one that is much smaller stays separate.
"""

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from memlens.model.distinct import distinct
from memlens.model.timeline import NEVER
from memlens.texts import in_a_row, phrase
from memlens.views.findings.graph.case import GraphCase
from memlens.views.findings.writing import Ranked, as_part
from memlens.views.heap.objects.rows import Numbers

HOLDING = ("retains_most", "group_retains_most")
"""Rules whose sentence says what retains most, what it consists of, and what holds it."""
_KEEPERS = ("contexts",)
"""Rules that name only the holder of the bytes: sentences of :data:`HOLDING` say more, and go first."""
_CAUSES = ("unread_variables", "listeners")
"""Rules that name a mistake and how to mend it: they go before all others."""
SAME_SHARE = 0.9
"""Findings are of the same bytes if each has this share of what their objects retain together."""
_MOST_STEPS = 100_000


def joined(case: GraphCase, found: Sequence[Ranked]) -> list[Ranked]:
    """The findings, with those about the same bytes merged into one that has the greatest weight.

    Only findings whose figure is what their objects retain are compared. The order is that of the first of each.
    """
    outermost: list[Ranked] = []
    evidence: dict[int, list[Ranked]] = {}
    rest: list[Ranked] = []
    for each in sorted(found, key=lambda each: (-each.finding.figure.amount, -each.weight)):
        if each.finding.figure.kind != "retained" or each.objects is None or not len(each.objects):
            rest.append(each)
            continue
        holder = next((at for at, outer in enumerate(outermost) if _is_same(case, outer, each)), None)
        if holder is None:
            outermost.append(each)
        else:
            evidence.setdefault(holder, []).append(each)
    place = {id(each): at for at, each in enumerate(found)}
    together = [_together([outer, *evidence.get(at, [])]) for at, outer in enumerate(outermost)]
    first = [
        min([place[id(each)] for each in (outer, *evidence.get(at, []))])
        for at, outer in enumerate(outermost)
    ]
    ordered = [*zip(first, together, strict=True), *((place[id(each)], each) for each in rest)]
    return [each for _, each in sorted(ordered, key=lambda pair: pair[0])]


def _together(same: list[Ranked]) -> Ranked:
    """Merge findings of the same bytes, given outermost first; the line is the first that any of them has."""
    if len(same) == 1:
        return same[0]
    lead = same[0]
    if lead.finding.rule in _KEEPERS:
        lead = next((each for each in same if each.finding.rule in HOLDING), lead)
    lead = next((each for each in same if each.finding.rule in _CAUSES and not each.finding.inferred), lead)
    others = sorted((each for each in same if each is not lead), key=lambda each: -each.weight)
    finding = lead.finding
    sentence = phrase(
        "{finding} The same bytes: {evidence}",
        finding=finding.sentence,
        evidence=in_a_row([each.finding.sentence for each in others], " "),
    )
    line = next((each.finding.line for each in (lead, *others) if each.finding.line is not None), None)
    joined_finding = replace(
        finding,
        sentence=as_part(sentence),
        text=sentence.text,
        line=line,
        inferred=any(each.finding.inferred for each in same),
        is_note=all(each.finding.is_note for each in same),
        evidence_from=[each.finding.name for each in others],
    )
    return Ranked(max(each.weight for each in same), joined_finding, lead.objects, alone=finding)


def _is_same(case: GraphCase, outer: Ranked, inner: Ranked) -> bool:
    """Whether what the objects of two findings retain is nearly the same."""
    larger, smaller = outer.finding.figure.amount, inner.finding.figure.amount
    if smaller < SAME_SHARE * larger or outer.objects is None or inner.objects is None:
        return False
    if len(outer.objects) == 1:
        return _dominates(case, int(outer.objects[0]), inner.objects)
    # not the figures: objects that wait for finalizers are held by unreachable ones
    least = SAME_SHARE * case.retained(distinct(np.append(outer.objects, inner.objects)))
    return 0 < least <= case.retained(inner.objects) and least <= case.retained(outer.objects)


def _dominates(case: GraphCase, above: int, members: Numbers) -> bool:
    """Whether an object is, or dominates, each of some others."""
    dominator = case.snapshot.objects.dominator
    at = distinct(members).astype(np.int64)
    for _ in range(_MOST_STEPS):
        at = at[at != above]
        if not len(at):
            return True
        if bool((dominator[at] == NEVER).any()):
            return False
        at = distinct(dominator[at]).astype(np.int64)
    return False

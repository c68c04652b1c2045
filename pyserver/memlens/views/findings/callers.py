"""The callers of a line that has nearly everything because it belongs to an allocator or a helper.

Stacks are followed outwards from the line, each to its next line of the same kind of code, until no caller has more
than four fifths of the line's bytes. If a single caller has everything all the way, the line itself is the answer.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memlens.model.attribution import Attribution
from memlens.model.charging import NAMELESS, passed_over, ranks
from memlens.model.distinct import distinct
from memlens.model.frames import NATIVE, RECORDED, USER
from memlens.model.info import ProfileInfo
from memlens.model.timeline import NEVER
from memlens.store.kept import kept
from memlens.store.snapshot import Snapshot
from memlens.texts import Text, in_a_row, phrase, plural
from memlens.units import format_value
from memlens.views.findings.answers import LineLink
from memlens.views.findings.groups import PROBABLY_YOURS, TopGroups
from memlens.views.findings.writing import base_line, called, function_beside, linked, percent, short_function
from memlens.views.naming.attribution import charged_frames
from memlens.views.selection.items import BARE, stacks_of
from memlens.views.selection.sets import AllocationSet
from memlens.views.selection.stacks import AMOUNT
from memlens.views.selection.terms import MOST_CHARACTERS
from memlens.views.selection.walking import line_keys, up_to, up_to_line

if TYPE_CHECKING:
    from memlens.arrays import I64

WRAPPER_SHARE = 0.8
"""A line or caller with a larger share doesn't divide the bytes."""
_KNOWN_SHARE = 0.8
"""At least this share of a line's bytes must have known callers."""
_MOST_LEVELS = 50
_LEAST_SHARE = 0.03
"""Callers with a smaller share are only counted."""


class Caller(NamedTuple):
    """A calling line, or a function without a line, and its share of the called line's bytes."""

    frame: int
    amount: int


class Callers(NamedTuple):
    """The callers that divide a line's bytes, the largest first; ``lines`` is their number."""

    callers: list[Caller]
    lines: int


def named_callers(snapshot: Snapshot, found: Callers, whole: TopGroups) -> Text:
    """The lines that called a helper, with their shares."""
    parts: list[Text] = []
    rows = snapshot.frames.rows(each.frame for each in found.callers)
    for each in found.callers:
        if parts and each.amount < _LEAST_SHARE * whole.total:
            break
        file, line, name, _ = rows[each.frame]
        function = called(short_function(name))
        size = phrase(
            "{size} ({share})",
            size=format_value(each.amount, whole.unit),
            share=percent(each.amount, whole.total),
        )
        if not file or line <= 0:
            parts.append(in_a_row([function, size], " "))
            continue
        link = LineLink(file, line, name, each.frame)
        shown: list[Text] = [linked(base_line(link), line=link)]
        if isinstance(snapshot.info, ProfileInfo) and function_beside(file, line, name):
            shown.append(linked(function))
        if snapshot.frames.doubtful[each.frame]:
            shown.append(phrase("({remark})", remark=PROBABLY_YOURS))
        parts.append(in_a_row([*shown, size], " "))
    rest = found.lines - len(parts)
    if rest > 0:
        parts.append(phrase(plural(rest, "{n} more line", "{n} more lines"), n=rest))
    return in_a_row(parts, "; ")


def callers_of(snapshot: Snapshot, found: TopGroups, attribution: Attribution, most: int) -> Callers | None:
    """The callers of the first group, if that has more than 80% of all bytes and its callers divide them; else None."""
    top = found.groups[0] if found.groups else None
    if top is None or top.is_bare or top.inferred or top.amount <= WRAPPER_SHARE * found.total:
        return None
    # no question can be asked about a line whose name is so long
    if len(top.evidence.of.filter) > MOST_CHARACTERS:
        return None
    return _divided(snapshot, top.evidence.of, top.amount, attribution, most)


@kept
def _divided(
    snapshot: Snapshot, group: AllocationSet, total: int, attribution: Attribution, most: int
) -> Callers | None:
    frames, items = snapshot.frames, stacks_of(snapshot, group)
    tree = items.tree
    amounts: I64 = items.values[AMOUNT]
    labels = np.append(charged_frames(snapshot, attribution), np.full(len(BARE), NEVER, np.uint32))[
        items.stacks
    ]
    chosen = (labels != NEVER) & (amounts > 0)
    stacks, amounts, labels = items.stacks[chosen], amounts[chosen], labels[chosen]
    # no stack has the callers of inferred lines
    is_inferred = items.inferred is not None and bool((items.inferred[chosen] != NEVER).any())
    if not len(stacks) or is_inferred:
        return None
    known, places = frames.distinct()
    passed = passed_over(known, snapshot.info.model)[places]
    # for the program's own lines, only its own callers count; for library functions, those with a name
    by_kind = ranks(frames.kind, passed, attribution, snapshot.info.model)
    rank = int(by_kind[labels].max(initial=0))
    if rank >= NAMELESS or (snapshot.info.model == "timeline" and rank != USER):
        return None
    least_known = rank if rank in (USER, NATIVE) else NATIVE
    can_call = (by_kind <= least_known) & (frames.source == RECORDED)
    keys = line_keys(snapshot)
    # places that the two nodes of missing stacks have are beyond all frames
    own = np.append(keys, -1)[np.minimum(tree.frames, len(keys))]
    able = np.append(can_call, False)[np.minimum(tree.frames, len(keys))]
    wrapper = keys[labels]
    nodes = up_to_line(tree, tree.ends[stacks], own, wrapper)
    seen = [distinct(wrapper)]
    for _ in range(_MOST_LEVELS):
        allowed = able & ~np.isin(own, np.concatenate(seen))
        above = np.where(nodes == 0, 0, tree.parents[nodes]).astype(np.uint32)
        nodes = up_to(tree, above, allowed)
        named = nodes != 0
        if amounts[named].sum() < _KNOWN_SHARE * total:
            return None
        lines, first, places = np.unique(own[nodes[named]], return_index=True, return_inverse=True)
        sums = np.bincount(places, amounts[named].astype(np.float64)).astype(np.int64)
        if int(sums.max()) <= WRAPPER_SHARE * total:
            order = np.argsort(-sums, kind="stable")[:most]
            at = tree.frames[nodes[named][first[order]]]
            pairs = zip(at.tolist(), sums[order].tolist(), strict=True)
            return Callers([Caller(frame, amount) for frame, amount in pairs], len(lines))
        seen.append(lines[sums == sums.max()])
    return None
